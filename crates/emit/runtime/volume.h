// NanoVDB grids of float32; the host makes others empty. A kernel has the address of a word that holds the volume's address; a volume is as
// the host's `Volume` writes it. Offsets in the grid are foreign: what lies outside is the background.
//@ volume_data
namespace wp {
struct volume_data {
    uint64 bytes, root;
    float background, matrix[9], inverse[9], origin[3];
    WP_INLINE const uint8* grid() const { return reinterpret_cast<const uint8*>(this + 1); }
    // The grid is at a multiple of 8, and so are NanoVDB's nodes.
    template <class T> WP_INLINE bool read(uint64 at, T& out) const {
        if (at > bytes || bytes - at < sizeof(T) || at % sizeof(T)) return false;
        out = *reinterpret_cast<const T*>(grid() + at);
        return true;
    }
    WP_INLINE float value(uint64 at) const {
        float found;
        return read(at, found) ? found : background;
    }
    WP_INLINE float voxel(int i, int j, int k) const {
        const uint64 key = uint64(uint32(k) >> 12) | uint64(uint32(j) >> 12) << 21 | uint64(uint32(i) >> 12) << 42;
        uint32 tiles;
        if (!read(root + 24, tiles)) return background;
        uint64 tile = root + 64, seen;
        for (;; --tiles, tile += 32) {
            if (tiles == 0 || !read(tile, seen)) return background;
            if (seen == key) break;
        }
        uint64 offset;
        if (!read(tile + 8, offset)) return background;
        if (offset == 0) return value(tile + 20);
        uint64 at = root + offset;
        // Two levels of inner nodes: logarithms of their size and of a child's, the child mask and the table.
        const uint32 logs[2] = {5, 4}, below[2] = {7, 3}, masks[2] = {32 + 4096, 32 + 512}, tables[2] = {8256, 1088};
        for (int level = 0; level < 2; ++level) {
            const uint32 log = logs[level], shift = below[level], mask = (1u << (log + shift)) - 1;
            const uint32 child = ((uint32(i) & mask) >> shift) << 2 * log | ((uint32(j) & mask) >> shift) << log | (uint32(k) & mask) >> shift;
            uint8 bits;
            if (!read(at + masks[level] + child / 8, bits)) return background;
            const uint64 entry = at + tables[level] + 8 * uint64(child);
            if (!(bits >> child % 8 & 1)) return value(entry);
            if (!read(entry, offset)) return background;
            at += offset;
        }
        return value(at + 96 + 4 * uint64((i & 7) << 6 | (j & 7) << 3 | (k & 7)));
    }
};
static_assert(sizeof(volume_data) == 104, "as the host lays it out");
WP_INLINE const volume_data& volume_at(uint64 id) { return **reinterpret_cast<const volume_data* const*>(id); }
}
//@ volume_sample_grad_f volume_sample_f adj_volume_sample_f
namespace wp {
template <class V> WP_INLINE float volume_sample_grad_f(uint64 id, const V& uvw, int mode, V& slope) {
    const volume_data& v = volume_at(id);
    slope = V(0.0f, 0.0f, 0.0f);
    if (mode == 0) return v.voxel(int(::roundf(uvw.c[0])), int(::roundf(uvw.c[1])), int(::roundf(uvw.c[2])));
    // Eight values, each times its share, in the host's order.
    int first[3];
    float shares[3][2];
    for (int axis = 0; axis < 3; ++axis) {
        const float low = ::floorf(uvw.c[axis]);
        first[axis] = int(low);
        shares[axis][1] = uvw.c[axis] - low;
        shares[axis][0] = 1.0f - shares[axis][1];
    }
    float sum = 0.0f;
    for (int n = 0; n < 8; ++n) {
        const int i = n >> 2, j = n >> 1 & 1, k = n & 1;
        const float found = v.voxel(first[0] + i, first[1] + j, first[2] + k), x = shares[0][i], y = shares[1][j], z = shares[2][k];
        sum += x * y * z * found;
        slope.c[0] += found * ((i ? y : -y) * z);
        slope.c[1] += found * ((j ? x : -x) * z);
        slope.c[2] += found * ((k ? x : -x) * y);
    }
    return sum;
}
}
//@ volume_sample_f
namespace wp {
template <class V> WP_INLINE float volume_sample_f(uint64 id, const V& uvw, int mode) {
    V slope;
    return volume_sample_grad_f(id, uvw, mode, slope);
}
}
//@ volume_lookup_f
namespace wp {
WP_INLINE float volume_lookup_f(uint64 id, int i, int j, int k) { return volume_at(id).voxel(i, j, k); }
}
//@ adj_volume_lookup_f
namespace wp {
template <class... A> WP_INLINE void adj_volume_lookup_f(const A&...) {}
}
//@ adj_volume_sample_f
namespace wp {
template <class V> WP_INLINE void adj_volume_sample_f(uint64 id, const V& uvw, int mode, uint64&, V& adj_uvw, int&, float adj_ret) {
    V slope;
    volume_sample_grad_f(id, uvw, mode, slope);
    for (int axis = 0; axis < 3; ++axis) adj_uvw.c[axis] += slope.c[axis] * adj_ret;
}
}
//@ volume_map
namespace wp {
template <class V> WP_INLINE V volume_map(const float* m, const V& v) {
    V r;
    for (int row = 0; row < 3; ++row) r.c[row] = m[3 * row] * v.c[0] + m[3 * row + 1] * v.c[1] + m[3 * row + 2] * v.c[2];
    return r;
}
}
//@ volume_world_to_index
namespace wp {
template <class V> WP_INLINE V volume_world_to_index(uint64 id, const V& xyz) {
    const volume_data& v = volume_at(id);
    return volume_map(v.inverse, V(xyz.c[0] - v.origin[0], xyz.c[1] - v.origin[1], xyz.c[2] - v.origin[2]));
}
}
//@ volume_world_to_index_dir
namespace wp {
template <class V> WP_INLINE V volume_world_to_index_dir(uint64 id, const V& xyz) { return volume_map(volume_at(id).inverse, xyz); }
}
//@ volume_index_to_world
namespace wp {
template <class V> WP_INLINE V volume_index_to_world(uint64 id, const V& uvw) {
    const volume_data& v = volume_at(id);
    const V turned = volume_map(v.matrix, uvw);
    return V(turned.c[0] + v.origin[0], turned.c[1] + v.origin[1], turned.c[2] + v.origin[2]);
}
}
//@ volume_index_to_world_dir
namespace wp {
template <class V> WP_INLINE V volume_index_to_world_dir(uint64 id, const V& uvw) { return volume_map(volume_at(id).matrix, uvw); }
}
//@ adj_volume_world_to_index adj_volume_world_to_index_dir adj_volume_index_to_world adj_volume_index_to_world_dir
namespace wp {
// As Warp has it: the gradient is mapped as a direction, not by the transposed matrix.
template <class V> WP_INLINE void volume_map_gradient(const float* m, const V& given, V& adj) {
    const V mapped = volume_map(m, given);
    for (int axis = 0; axis < 3; ++axis) adj.c[axis] += mapped.c[axis];
}
template <class V> WP_INLINE void adj_volume_world_to_index(uint64 id, const V&, uint64&, V& adj, const V& adj_ret) {
    volume_map_gradient(volume_at(id).inverse, adj_ret, adj);
}
template <class V> WP_INLINE void adj_volume_world_to_index_dir(uint64 id, const V&, uint64&, V& adj, const V& adj_ret) {
    volume_map_gradient(volume_at(id).inverse, adj_ret, adj);
}
template <class V> WP_INLINE void adj_volume_index_to_world(uint64 id, const V&, uint64&, V& adj, const V& adj_ret) {
    volume_map_gradient(volume_at(id).matrix, adj_ret, adj);
}
template <class V> WP_INLINE void adj_volume_index_to_world_dir(uint64 id, const V&, uint64&, V& adj, const V& adj_ret) {
    volume_map_gradient(volume_at(id).matrix, adj_ret, adj);
}
}
