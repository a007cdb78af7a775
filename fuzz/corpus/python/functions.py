# Functions are emitted before their callers, with adjoints.
# emit: static CUDA_CALLABLE wp::float32 square_0(
# emit: adj_square_0(var_3, adj_1, adj_2);
import warp as wp


@wp.func
def square(x: float):
    return x * x


@wp.kernel
def squares(x: wp.array(dtype=float)):
    i = wp.tid()
    x[i] = square(x[i])
