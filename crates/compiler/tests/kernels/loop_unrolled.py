# A short loop over constants is copied; the counter is a constant.
# emit: const wp::int32 var_1 = 0;
# emit: const wp::int32 var_5 = 1;
import warp as wp


@wp.kernel
def unrolled(x: wp.array(dtype=float)):
    i = wp.tid()
    for k in range(2):
        x[i] += x[k]
