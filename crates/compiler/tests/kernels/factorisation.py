# The product of singular values is the determinant's magnitude, and its gradient the cofactors.
#
# run: dim=2 m=[3,1,1,2, 1,2,3,1] o=[0,0] -> o=[5,5]
# adjoint: dim=1 m=[3,1,1,2] o=[0] grad.o=[1] -> grad.m=[2,-1,-1,3]
import warp as wp


@wp.kernel
def magnitude(m: wp.array(dtype=wp.mat22), o: wp.array(dtype=float)):
    i = wp.tid()
    u = wp.mat22()
    s = wp.vec2()
    v = wp.mat22()
    wp.svd2(m[i], u, s, v)
    o[i] = s[0] * s[1]
