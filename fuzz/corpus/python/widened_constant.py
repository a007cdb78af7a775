# A named constant that is made a `float64` gets its value there; Warp's text reads it too early before.
#
# finding: K102 dim=1 x=[0] d=[0]
# emit: var_0 = 2.5;
import warp as wp

GAIN = wp.constant(2.5)


@wp.func
def double(x: float):
    return x + x


@wp.kernel
def widened(x: wp.array(dtype=float), d: wp.array(dtype=wp.float64)):
    x[0] = double(GAIN)
    d[0] = wp.float64(GAIN)
