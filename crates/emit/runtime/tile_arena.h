// Shared memory of a block for tiles: a stack, of which every thread keeps the same height.
//@ tile_layout_strided_t tile_layout_register_t tile_arena
#define WP_TILES
#ifndef WP_TILE_BLOCK_DIM
#ifdef __CUDACC__
#define WP_TILE_BLOCK_DIM 256
#else
#define WP_TILE_BLOCK_DIM 1
#endif
#endif
namespace wp {
struct tile_arena {
    enum { unit = 16 };
    static WP_INLINE unsigned rounded(unsigned bytes) { return (bytes + unit - 1) / unit * unit; }
#ifdef __CUDACC__
    static WP_INLINE int thread() { return threadIdx.x; }
    static WP_INLINE void wait() { __syncthreads(); }
    static WP_INLINE char* memory() {
        extern __shared__ __align__(16) char wp_tile_memory[];
        return wp_tile_memory;
    }
    static WP_INLINE unsigned& used() {
        __shared__ unsigned heights[WP_TILE_BLOCK_DIM];
        return heights[threadIdx.x];
    }
    static WP_INLINE unsigned size() {
        unsigned bytes;
        asm("mov.u32 %0, %%dynamic_smem_size;" : "=r"(bytes));
        return bytes;
    }
    static WP_INLINE void full() { __trap(); }
#else
    enum { host_bytes = 1 << 20 };
    static WP_INLINE int thread() { return 0; }
    static WP_INLINE void wait() {}
    static WP_INLINE char* memory() {
        alignas(16) static thread_local char bytes[host_bytes];
        return bytes;
    }
    static WP_INLINE unsigned& used() {
        static thread_local unsigned height;
        return height;
    }
    static WP_INLINE unsigned size() { return host_bytes; }
    static WP_INLINE void full() { __builtin_trap(); }
#endif
    static WP_INLINE void reset() { used() = 0; }
    static WP_INLINE char* take(unsigned bytes) {
        const unsigned at = used();
        used() = at + rounded(bytes);
        if (at + rounded(bytes) > size()) full();
        return memory() + at;
    }
    static WP_INLINE void give(unsigned bytes) { used() -= rounded(bytes); }
};
}
