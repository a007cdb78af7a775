# A constant cannot be carried round a dynamic loop.
# error: K010 line 10
import warp as wp


@wp.kernel
def constant(x: wp.array(dtype=float), n: int):
    s = 0.0
    for k in range(n):
        s = s + x[k]
    x[0] = s
