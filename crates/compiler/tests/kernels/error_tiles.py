# A tile of structs is outside the subset.
# error: K021 line 14
import warp as wp


@wp.struct
class Pair:
    a: float
    b: float


@wp.kernel
def tiles(x: wp.array(dtype=Pair)):
    t = wp.tile_load(x, shape=4)
