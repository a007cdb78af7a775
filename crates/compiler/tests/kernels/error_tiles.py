# A slice of a row of a tile is outside the subset until the row has a name.
# error: K021 line 9
import warp as wp


@wp.kernel
def tiles(x: wp.array2d(dtype=float), y: wp.array(dtype=float)):
    t = wp.tile_load(x, shape=(4, 8))
    wp.tile_store(y, t[1][2:5])
