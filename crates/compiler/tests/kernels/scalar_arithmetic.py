# Operators call builtins; a literal is a constant of its own.
# emit: var_2 = wp::mul(var_a, var_3);
# emit: wp::adj_mul(var_a, var_3, adj_a, adj_1, adj_2);
import warp as wp


@wp.kernel
def saxpy(x: wp.array(dtype=float), y: wp.array(dtype=float), a: float):
    i = wp.tid()
    y[i] = a * x[i] + y[i]
