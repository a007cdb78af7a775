import warp as wp


@wp.kernel
def scale(x: wp.array(dtype=float), y: wp.array(dtype=float), a: float):
    i = wp.tid()
    y[i] = a * x[i] + 1.0


@wp.kernel
def forgets(x: wp.array(dtype=float), y: wp.array(dtype=float), a: float):
    i = wp.tid()
    if i % 32 != 31:
        y[i] = a * x[i] + 1.0


@wp.kernel
def reaches_out(x: wp.array(dtype=float), y: wp.array(dtype=float), a: float):
    i = wp.tid()
    y[i] = a * x[i + 1] + 1.0
