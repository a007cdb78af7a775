# A gradient of one's own is the function's adjoint, and a replay stands in for it.
# emit: // user-defined adjoint code
# emit: wp::float32 & var_adj_ret)
# emit: var_3 = wp::add(adj_x, var_2);
# emit: adj_x = var_3;
# emit: var_4 = wp::atomic_add(adj_total, var_i, var_adj_ret);
# emit: adj_x = var_5;
# emit: var_2 = replay_square_0(var_3, var_total, var_0);
# emit: adj_square_0(var_3, var_total, var_0, adj_1, adj_total, adj_0, adj_2);
import warp as wp


@wp.func
def square(x: float, total: wp.array(dtype=float), i: int):
    return x * x


@wp.func_grad(square)
def adj_square(x: float, total: wp.array(dtype=float), i: int, adj_ret: float):
    wp.adjoint[x] += 2.0 * x * adj_ret
    wp.adjoint[total][i] += adj_ret
    wp.adjoint[
        x
    ] -= adj_ret


@wp.func_replay(square)
def replay_square(x: float, total: wp.array(dtype=float), i: int):
    return x * x


@wp.kernel
def own_gradient(x: wp.array(dtype=float), total: wp.array(dtype=float)):
    i = wp.tid()
    x[i] = square(x[i], total, i)
