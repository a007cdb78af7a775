# One index per dimension.
# error: K011 line 9
import warp as wp


@wp.kernel
def indices(x: wp.array(dtype=float)):
    i = wp.tid()
    x[i, i] = 0.0
