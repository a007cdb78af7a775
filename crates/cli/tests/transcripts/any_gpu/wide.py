import warp as wp


@wp.kernel
def wide(x: wp.array(dtype=wp.float64)):
    i = wp.tid()
    x[i] = x[i] * x[i]
