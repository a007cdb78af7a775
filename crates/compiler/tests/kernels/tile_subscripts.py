# An index before a slice or a tile of indices makes a view of its own.
# emit: var_15 = wp::slice_t(var_16, var_17, var_18);
# emit: wp::tile_assign(var_42, var_31, var_44);
# emit: var_53 = wp::tile_slice_indexed<2>(var_51, var_8, var_54);
import warp as wp


@wp.kernel
def k(x: wp.array2d(dtype=float), y: wp.array(dtype=float)):
    t = wp.tile_load(x, shape=(4, 8))
    chosen = wp.tile_arange(0, 2, dtype=int)
    wp.tile_store(y, t[1][2:5])
    t[2][0:3] = t[3][4:7]
    wp.tile_store(y, t[2], offset=3)
    wp.tile_store(y, t[-1][chosen], offset=11)
    wp.tile_store(y, t[wp.tile_arange(0, 2, dtype=int)][1], offset=13)
