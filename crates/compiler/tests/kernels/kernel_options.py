# A kernel's decorator chooses its frame.
# emit: extern "C" __launch_bounds__(128) __global__ void lean_HASH_cuda_kernel_forward(
# emit: if (_idx >= dim.size) return;
import warp as wp


@wp.kernel(enable_backward=False, grid_stride=False, launch_bounds=128)
def lean(x: wp.array(dtype=float)):
    i = wp.tid()
    x[i] = 0.0
