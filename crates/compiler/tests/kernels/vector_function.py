# Vectors, a function with two results, a struct, and a component of an array's element.
#
# emit: wp::array_store(var_o, var_0, var_7);
# run: dim=2 v=[3,4,0, 0,0,2] o=[0,0] -> o=[5,2] v=[7,4,0, 7,0,2]
# adjoint: dim=1 v=[3,4,0] o=[0] grad.o=[1] -> grad.v=[0.6,0.8,0]
import warp as wp


@wp.struct
class Measured:
    length: float
    square: float


@wp.func
def measure(v: wp.vec3):
    square = wp.dot(v, v)
    return wp.length(v), square


@wp.kernel
def vectors(v: wp.array(dtype=wp.vec3), o: wp.array(dtype=float)):
    i = wp.tid()
    m = Measured()
    length, square = measure(v[i])
    m.length = length
    m.square = square
    o[i] = m.length
    v[i].x = 7.0
