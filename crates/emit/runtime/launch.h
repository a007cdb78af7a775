// The launch grid: its bounds as passed to a kernel, and a thread's coordinates in it.
//@ * ! tile_arena
namespace wp {
// Passed by value as the first kernel parameter. The last dimension varies fastest.
template <int N> struct launch_bounds_t {
    uint32 shape[N];
    size_t size;
    size_t coord_mult;  // threads with the same coordinates, next to each other
};
// The emitted frame names the storage of tiles whether there are tiles or not.
struct tile_shared_storage_t {
    static WP_INLINE void init() {
#ifdef WP_TILES
        tile_arena::reset();
#endif
    }
};
}
//@ builtin_tid1d
#ifdef __CUDACC__
#define builtin_tid1d() wp::tid(_idx, dim)
#else
#define builtin_tid1d() wp::linear_tid<wp_linear_tid>(task_index, dim)
#endif
//@ tid
namespace wp {
template <int N> WP_INLINE int tid(size_t index, const launch_bounds_t<N>& dim) { return static_cast<int>(index / dim.coord_mult); }
}
//@ linear_tid
namespace wp {
template <bool Linear, int N> WP_INLINE int linear_tid(size_t index, const launch_bounds_t<N>& dim) {
    return Linear ? static_cast<int>(index) : tid(index, dim);
}
}
//@ builtin_tid2d
#ifdef __CUDACC__
#define builtin_tid2d(x, y) wp::tid2d(x, y, _idx, dim)
#else
#define builtin_tid2d(x, y) wp::tid2d(x, y, task_index, dim)
#endif
namespace wp {
template <int N> WP_INLINE void tid2d(int& i, int& j, size_t index, const launch_bounds_t<N>& dim) {
    const size_t n = index / dim.coord_mult;
    i = static_cast<int>(n / dim.shape[1]);
    j = static_cast<int>(n % dim.shape[1]);
}
}
//@ builtin_tid3d
#ifdef __CUDACC__
#define builtin_tid3d(x, y, z) wp::tid3d(x, y, z, _idx, dim)
#else
#define builtin_tid3d(x, y, z) wp::tid3d(x, y, z, task_index, dim)
#endif
namespace wp {
template <int N> WP_INLINE void tid3d(int& i, int& j, int& k, size_t index, const launch_bounds_t<N>& dim) {
    const size_t n = index / dim.coord_mult;
    const size_t outer = n / dim.shape[2];
    i = static_cast<int>(outer / dim.shape[1]);
    j = static_cast<int>(outer % dim.shape[1]);
    k = static_cast<int>(n % dim.shape[2]);
}
}
//@ builtin_tid4d
#ifdef __CUDACC__
#define builtin_tid4d(x, y, z, w) wp::tid4d(x, y, z, w, _idx, dim)
#else
#define builtin_tid4d(x, y, z, w) wp::tid4d(x, y, z, w, task_index, dim)
#endif
namespace wp {
template <int N> WP_INLINE void tid4d(int& i, int& j, int& k, int& l, size_t index, const launch_bounds_t<N>& dim) {
    const size_t n = index / dim.coord_mult;
    const size_t inner = n / dim.shape[3];
    const size_t outer = inner / dim.shape[2];
    i = static_cast<int>(outer / dim.shape[1]);
    j = static_cast<int>(outer % dim.shape[1]);
    k = static_cast<int>(inner % dim.shape[2]);
    l = static_cast<int>(n % dim.shape[3]);
}
}
//@ builtin_block_dim
#ifdef __CUDACC__
#define builtin_block_dim() static_cast<int>(blockDim.x)
#else
#define builtin_block_dim() 1
#endif
