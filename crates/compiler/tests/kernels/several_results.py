# A function returns several values, which are unpacked.
#
# run: dim=2 x=[7,-9] o=[0,0,0,0] -> o=[7,1,9,-1]
# adjoint: dim=2 x=[7,-9] o=[0,0,0,0] grad.o=[1,0,1,0] -> grad.x=[1,-1]
import warp as wp


@wp.func
def split(x: float):
    if x < 0.0:
        return -x, -1.0
    return x, 1.0


@wp.kernel
def parts(x: wp.array(dtype=float), o: wp.array(dtype=float)):
    i = wp.tid()
    size, sign = split(x[i])
    o[2 * i] = size
    o[2 * i + 1] = sign
