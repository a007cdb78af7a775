# Warp evaluates `wp.static` where the kernel is defined, and everything else later.
# error: K023 line 11
import warp as wp

SCALE = 2.0


@wp.kernel
def scaled(x: wp.array(dtype=float)):
    i = wp.tid()
    x[i] = wp.static(SCALE) * x[i]


SCALE = 3.0
