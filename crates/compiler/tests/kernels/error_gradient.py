# A gradient takes what its function takes, then one for each result.
# error: K021 line 11
import warp as wp


@wp.func
def square(x: float):
    return x * x

@wp.func_grad(square)
def adj_square(x: float, adj_ret: wp.vec3):
    wp.adjoint[x] += adj_ret[0]


@wp.kernel
def own_gradient(x: wp.array(dtype=float)):
    i = wp.tid()
    x[i] = square(x[i])
