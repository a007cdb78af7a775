# Lists have no place in a kernel.
# error: K005 line 8
import warp as wp


@wp.kernel
def lists(x: wp.array(dtype=float)):
    a = [1.0, 2.0]
