# Integers and floats are never converted implicitly.
# error: K008 line 9
import warp as wp


@wp.kernel
def mixed(x: wp.array(dtype=float)):
    i = wp.tid()
    x[i] = x[i] + i
