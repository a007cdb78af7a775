# Functions have defaults, and arguments are given by position or by name.
#
# run: dim=1 o=[0,0,0] -> o=[13,23,25]
import warp as wp


@wp.func
def line(x: float, slope: float = 2.0, offset: float = 3.0):
    return slope * x + offset


@wp.kernel
def defaults(o: wp.array(dtype=float)):
    o[0] = line(5.0)
    o[1] = line(5.0, 4.0)
    o[2] = line(5.0, slope=4.0, offset=5.0)
