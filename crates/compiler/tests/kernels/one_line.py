# A function may stand on one line.
#
# run: dim=1 x=[3,4] -> x=[8,4]
import warp as wp

@wp.func
def double(x: float): return x + x


@wp.kernel
def doubles(x: wp.array(dtype=float)):
    x[0] = double(x[1])
