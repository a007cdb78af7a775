# Matrices are made row by row; products, determinants and transposes.
#
# run: dim=1 v=[5,6] o=[0,0,0,0] -> o=[17,39,-2,3]
# adjoint: dim=1 v=[5,6] o=[0,0,0,0] grad.o=[1,0,0,0] -> grad.v=[1,2]
import warp as wp


@wp.kernel
def matrices(v: wp.array(dtype=wp.vec2), o: wp.array(dtype=float)):
    i = wp.tid()
    m = wp.mat22(1.0, 2.0, 3.0, 4.0)
    w = m * v[i]
    o[0] = w[0]
    o[1] = w[1]
    o[2] = wp.determinant(m)
    o[3] = wp.transpose(m)[0, 1]
