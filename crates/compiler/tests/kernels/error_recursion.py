# A function cannot call itself.
# error: K026 line 8
import warp as wp


@wp.func
def endless(x: float) -> float:
    return endless(x)


@wp.kernel
def start(x: wp.array(dtype=float)):
    x[0] = endless(1.0)
