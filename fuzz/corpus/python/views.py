# Fewer indices than dimensions make a view.
# emit: var_2 = wp::view(var_a, var_0);
import warp as wp


@wp.kernel
def rows(a: wp.array2d(dtype=float)):
    i, j = wp.tid()
    row = a[i]
    row[j] = 1.0
