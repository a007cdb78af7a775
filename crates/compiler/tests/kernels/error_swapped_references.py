# Elements of arrays that a tuple names cannot be swapped by it: to Warp their references are of different types.
# error: K009 line 9
import warp as wp


@wp.kernel
def swapped(x: wp.array(dtype=float)):
    a, b = x[0], x[1]
    a, b = b, a
    x[2] = a
