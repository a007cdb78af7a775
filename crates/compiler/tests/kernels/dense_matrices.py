# Matrices in arrays: a product, and a system solved by its Cholesky factor.
#
# run: dim=1 a=[4,2,2,3] l=[0,0,0,0] b=[8,7] x=[0,0] c=[0,0,0,0] -> x=[1.25,1.5] c=[20,14,14,13]
import warp as wp


@wp.kernel
def dense(
    a: wp.array(dtype=float),
    l: wp.array(dtype=float),
    b: wp.array(dtype=float),
    x: wp.array(dtype=float),
    c: wp.array(dtype=float),
):
    wp.dense_gemm(2, 2, 2, 0, 0, a, a, c)
    wp.dense_chol(2, a, 0.0, l)
    wp.dense_subs(2, l, b, x)
