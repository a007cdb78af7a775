# A search in a hash grid of 64-bit coordinates as a parameter.
# emit: wp::hash_grid_query_d var_query)
import warp as wp


@wp.func
def first(query: wp.HashGridQuery[wp.float64]):
    index = int(0)
    wp.hash_grid_query_next(query, index)
    return index


@wp.kernel
def k(grid: wp.uint64, out: wp.array[int]):
    out[0] = first(wp.hash_grid_query(grid, wp.vec3d(), wp.float64(1.0)))
