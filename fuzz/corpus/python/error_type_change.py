# A name keeps its type.
# error: K009 line 9
import warp as wp


@wp.kernel
def change(x: wp.array(dtype=float)):
    a = 1.0
    a = 2
    x[0] = a
