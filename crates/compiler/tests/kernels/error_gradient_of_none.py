# What has no adjoint has no gradient.
# error: K021 line 8
import warp as wp


@wp.kernel
def steps(x: wp.array(dtype=float)):
    x[0] = wp.grad(wp.floor)(x[1])
