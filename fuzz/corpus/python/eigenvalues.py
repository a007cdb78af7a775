# Eigenvalues of a symmetric matrix, in the order in which Jacobi's method leaves them.
#
# run: dim=1 o=[0,0,0] -> o=[3,1,5]
import warp as wp


@wp.kernel
def eigenvalues(o: wp.array(dtype=float)):
    m = wp.mat33(2.0, 1.0, 0.0, 1.0, 2.0, 0.0, 0.0, 0.0, 5.0)
    q = wp.mat33()
    d = wp.vec3()
    wp.eig3(m, q, d)
    for k in range(3):
        o[k] = d[k]
