# The gradient of a function is a call of its adjoint, which is written though the kernel has none.
# emit: var_4 = wp::float32(1);
# emit: adj_potential_0(var_2, var_3, var_4);
# emit: wp::adj_length(var_d, var_0, adj_d, adj_0);
import warp as wp


@wp.func
def potential(d: wp.vec3):
    return wp.length(d)


@wp.kernel(enable_backward=False)
def forces(x: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    x[i] = wp.grad(potential)(x[i])
