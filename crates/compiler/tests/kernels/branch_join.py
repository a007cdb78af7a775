# Names bound in a branch are joined after it.
# emit: var_7 = wp::where(var_5, var_6, var_2);
import warp as wp


@wp.kernel
def join(x: wp.array(dtype=float)):
    i = wp.tid()
    v = x[i]
    if v < 0.0:
        v = -v
    x[i] = v
