import warp as wp


@wp.func
def at(x: wp.array2d(dtype=float), i: int, j: int, rows: int, cols: int):
    return x[wp.clamp(i, 0, rows - 1), wp.clamp(j, 0, cols - 1)]


@wp.kernel
def heat_step_arctangent(x: wp.array2d(dtype=float), source: wp.array2d(dtype=float), out: wp.array2d(dtype=float)):
    row, col = wp.tid()
    rows = x.shape[0]
    cols = x.shape[1]
    n = at(x, row - 1, col, rows, cols)
    w = at(x, row, col - 1, rows, cols)
    c = at(x, row, col, rows, cols)
    e = at(x, row, col + 1, rows, cols)
    s = at(x, row + 1, col, rows, cols)
    flow = n + s + w + e - 4.0 * c
    gain = source[row, col]
    gain = wp.atan(gain)
    v = c + 0.1875 * flow + gain
    out[row, col] = v
