# A name must be defined.
# error: K006 line 9
import warp as wp


@wp.kernel
def undefined(x: wp.array(dtype=float)):
    i = wp.tid()
    x[i] = missing
