# `+=` on an array element is atomic and is not replayed.
# emit: var_1 = wp::atomic_add(var_x, var_0, var_s);
# emit: // var_1 = wp::atomic_add(var_x, var_0, var_s);
import warp as wp


@wp.kernel
def accumulate(x: wp.array(dtype=float), s: float):
    i = wp.tid()
    x[i] += s
