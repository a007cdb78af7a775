# Warp writes the elements of such an array by their Python names, wherever they go.
# error: K004 line 7
import warp as wp


@wp.kernel
def fabric(x: wp.fabricarray(dtype=float), y: wp.array(dtype=float)):
    y[0] = x[0]
