// Points by the cells of a grid that repeats without end in every direction. A kernel has the address of a
// word that holds the grid's address; the grid is 4-byte words, as the host's `HashGrid` writes them.
//@ hash_grid_data
namespace wp {
struct hash_grid_data {
    int size[3];
    float inverse_width;
    int starts[1];  // one more than there are cells; the points follow
    WP_INLINE int cells() const { return size[0] * size[1] * size[2]; }
    WP_INLINE const int* points() const { return starts + cells() + 1; }
    static WP_INLINE int wrap(int i, int n) {
        const int rest = i % n;
        return rest < 0 ? rest + n : rest;
    }
    WP_INLINE int cell(int x, int y, int z) const {
        return (wrap(z, size[2]) * size[1] + wrap(y, size[1])) * size[0] + wrap(x, size[0]);
    }
};
WP_INLINE const hash_grid_data* hash_grid_at(uint64 id) { return *reinterpret_cast<const hash_grid_data* const*>(id); }
}
//@ hash_grid_point_id
namespace wp {
WP_INLINE int hash_grid_point_id(uint64 id, const int& index) { return hash_grid_at(id)->points()[index]; }
}
//@ adj_hash_grid_point_id
namespace wp {
template <class... A> WP_INLINE void adj_hash_grid_point_id(const A&...) {}
}
//@ hash_grid_query_f hash_grid_query
namespace wp {
// A search: the box of cells, the cell at hand, and the range of points that is left of it.
struct hash_grid_query_f {
    const hash_grid_data* grid;
    int first[3], last[3], at[3];
    int next, end;
    WP_INLINE void enter() {
        const int cell = grid->cell(at[0], at[1], at[2]);
        next = grid->starts[cell];
        end = grid->starts[cell + 1];
    }
    // Goes on to a cell that has points left; cells along x first.
    WP_INLINE bool seek() {
        while (next >= end) {
            if (++at[0] > last[0]) { at[0] = first[0]; ++at[1]; }
            if (at[1] > last[1]) { at[1] = first[1]; ++at[2]; }
            if (at[2] > last[2]) {
                at[2] = last[2];
                at[1] = last[1];
                at[0] = last[0];
                return false;
            }
            enter();
        }
        return true;
    }
};
template <class V> WP_INLINE hash_grid_query_f hash_grid_query(uint64 id, const V& center, float radius) {
    hash_grid_query_f q;
    q.grid = hash_grid_at(id);
    for (int axis = 0; axis < 3; ++axis) {
        // Half of the range, so that a step past the last cell is a number.
        const float most = 1073741824.0f, scale = q.grid->inverse_width;
        const float low = ::floorf((center.c[axis] - radius) * scale), high = ::floorf((center.c[axis] + radius) * scale);
        q.first[axis] = static_cast<int>(::fminf(::fmaxf(low, -most), most));
        q.last[axis] = static_cast<int>(::fminf(::fmaxf(high, -most), most));
        // No cell is visited twice, however large the ball is.
        if (static_cast<int64>(q.last[axis]) - q.first[axis] >= q.grid->size[axis]) q.last[axis] = q.first[axis] + q.grid->size[axis] - 1;
        q.at[axis] = q.first[axis];
    }
    q.enter();
    return q;
}
WP_INLINE bool iter_cmp(hash_grid_query_f& q) { return q.seek(); }
WP_INLINE int iter_next(hash_grid_query_f& q) { return q.grid->points()[q.next++]; }
}
//@ hash_grid_query_next
namespace wp {
WP_INLINE bool hash_grid_query_next(hash_grid_query_f& q, int& index) {
    if (!q.seek()) return false;
    index = iter_next(q);
    return true;
}
}
//@ adj_hash_grid_query_next
namespace wp {
template <class... A> WP_INLINE void adj_hash_grid_query_next(const A&...) {}
}
//@ iter_reverse | hash_grid_query_f
namespace wp {
// Gradients are sums over the points: the order does not matter.
WP_INLINE hash_grid_query_f iter_reverse(const hash_grid_query_f& q) {
    hash_grid_query_f again = q;
    for (int axis = 0; axis < 3; ++axis) again.at[axis] = again.first[axis];
    again.enter();
    return again;
}
}
//@ adj_hash_grid_query
namespace wp {
template <class... A> WP_INLINE void adj_hash_grid_query(const A&...) {}
}
