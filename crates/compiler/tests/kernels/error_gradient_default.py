# Warp writes no value where a default stands for an argument of a gradient.
# error: K021 line 13
import warp as wp


@wp.func
def scaled(x: float, by: float = 2.0):
    return x * by


@wp.kernel
def defaults(x: wp.array(dtype=float)):
    a, b = wp.grad(scaled)(x[1])
    x[0] = a + b
