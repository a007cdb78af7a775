# What is done with a tile says where it lies; a view is declared without memory of its own, and a tile
# of the threads' values is as long as the block.
# emit: var_3 = wp::tile_load<wp::float32, true, false, 8, 4>(var_x, var_4, var_5);
# emit: wp::tile_shared_t<wp::float32,wp::tile_layout_strided_t<wp::tile_shape_t<8,4>, wp::tile_stride_t<4,1>>, true> var_3 = wp::tile_alloc_empty<wp::float32,wp::tile_shape_t<8,4>,wp::tile_stride_t<4,1>,false>();
# emit: wp::tile_shared_t<wp::float32,wp::tile_layout_strided_t<wp::tile_shape_t<4,8>, wp::tile_stride_t<1,4>>, false> var_6 = nullptr;
# emit: var_7 = wp::tile_unary_map(wp::sin, var_6);
# emit: wp::adj_tile_unary_map(wp::sin, var_6, wp::adj_sin, adj_6, adj_7);
import warp as wp

ROWS = 8
COLUMNS = 4


@wp.kernel
def tiles(x: wp.array2d[float], y: wp.array2d[float], total: wp.array[int]):
    t = wp.tile_load(x, shape=(ROWS, COLUMNS))
    waves = wp.tile_map(wp.sin, wp.tile_transpose(t))
    wp.tile_store(y, waves)
    i = wp.tid()
    wp.tile_store(total, wp.tile_sum(wp.tile(i)))
