# Tiles are outside the subset.
# error: K021 line 8
import warp as wp


@wp.kernel
def tiles(x: wp.array(dtype=float)):
    t = wp.tile_load(x, shape=4)
