# A `wp.ref` has no adjoint that the compiler could write.
# error: K021 line 13
import warp as wp


@wp.func
def grow(x: wp.ref[wp.float32], by: float):
    x += by


@wp.kernel
def references(x: wp.array(dtype=float)):
    grow(x[0], 1.0)
