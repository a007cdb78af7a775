# Warp spells the pointers of Python's own types in another way.
# error: K004 line 7
import warp as wp


@wp.func
def grow(x: wp.ref[float], by: float):
    x += by


@wp.kernel(enable_backward=False)
def references(x: wp.array(dtype=float)):
    grow(x[0], 1.0)
