# A 64-bit constructor of a literal keeps every digit and makes no call.
# emit: var_1 = 0.1;
# emit: wp::float64 var_1;
import warp as wp


@wp.kernel
def wide(o: wp.array(dtype=wp.float64)):
    i = wp.tid()
    o[i] = wp.float64(0.1)
