# An option that is `None` is as the module has it.
# emit: wp::adj_array_store(var_x, var_1, var_0, adj_x, adj_1, adj_0);
import warp as wp

QUICK = False


@wp.kernel(enable_backward=False if QUICK else None)
def option(x: wp.array(dtype=float)):
    x[0] = 1.0
