# `yield`, `with`, `try` and the like have no place in a kernel.
# error: K005 line 8
import warp as wp


@wp.kernel
def attempt(x: wp.array(dtype=float)):
    try:
        x[0] = 1.0
    except ValueError:
        pass
