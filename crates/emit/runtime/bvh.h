// Boxes that a program gives, under a tree. A kernel has the address of a word that holds the tree's address; the
// tree is 4-byte words, as the host's `Bvh` writes them.
//@ bvh_data
namespace wp {
struct bvh_item {
    float low[3], high[3];
    int number;
};
struct bvh_data {
    uint32 boxes, items, groups;
    WP_INLINE const tree_box* box() const { return reinterpret_cast<const tree_box*>(this + 1); }
    WP_INLINE const uint32* skip() const { return reinterpret_cast<const uint32*>(box() + boxes); }
    WP_INLINE const bvh_item* item() const { return reinterpret_cast<const bvh_item*>(skip() + boxes); }
    WP_INLINE const tree_group* group() const { return reinterpret_cast<const tree_group*>(item() + items); }
};
WP_INLINE const bvh_data* bvh_at(uint64 id) { return *reinterpret_cast<const bvh_data* const*>(id); }
}
//@ bvh_get_group_root
namespace wp {
WP_INLINE int bvh_get_group_root(uint64 id, int group) {
    const bvh_data* tree = bvh_at(id);
    return tree_group_root(tree->group(), tree->groups, group);
}
}
//@ bvh_query_t
namespace wp {
struct bvh_query_t : tree_query {
    const bvh_data* tree;
    // A search has no gradient.
    WP_INLINE bvh_query_t& operator+=(const bvh_query_t&) { return *this; }
};
template <class V> WP_INLINE bvh_query_t bvh_query_by(uint64 id, int shape, const V& one, const V& other, float radius, int root) {
    bvh_query_t q;
    q.tree = bvh_at(id);
    q.begin(shape, one, other, radius, q.tree->boxes, q.tree->skip(), root);
    return q;
}
template <int shape> WP_INLINE bool bvh_query_step(bvh_query_t& q, int& index, float most) {
    return q.next<shape>(q.tree->box(), q.tree->skip(), most, index, [&](uint32 n, int& number) {
        const bvh_item& item = q.tree->item()[n];
        number = item.number;
        return q.touches<shape>(item.low, item.high, most);
    });
}
}
//@ bvh_query_aabb
namespace wp {
template <class V> WP_INLINE bvh_query_t bvh_query_aabb(uint64 id, const V& low, const V& high, int root = -1) {
    return bvh_query_by(id, tree_query::by_box, low, high, 0.0f, root);
}
}
//@ bvh_query_ray
namespace wp {
template <class V> WP_INLINE bvh_query_t bvh_query_ray(uint64 id, const V& start, const V& direction, int root = -1) {
    return bvh_query_by(id, tree_query::by_ray, start, direction, 0.0f, root);
}
}
//@ bvh_query_capsule
namespace wp {
template <class V> WP_INLINE bvh_query_t bvh_query_capsule(uint64 id, const V& start, const V& direction, float radius, int root = -1) {
    return bvh_query_by(id, tree_query::by_capsule, start, direction, radius, root);
}
}
//@ bvh_query_sphere
namespace wp {
template <class V> WP_INLINE bvh_query_t bvh_query_sphere(uint64 id, const V& center, float radius, int root = -1) {
    return bvh_query_by(id, tree_query::by_ball, center, center, radius, root);
}
}
//@ bvh_query_next bvh_query_next_dynamic
namespace wp {
WP_INLINE bool bvh_query_next(bvh_query_t& q, int& index, float most = INFINITY) { return bvh_query_step<tree_query::by_box>(q, index, most); }
}
//@ bvh_query_ray_next bvh_query_next_dynamic
namespace wp {
WP_INLINE bool bvh_query_ray_next(bvh_query_t& q, int& index, float most = INFINITY) { return bvh_query_step<tree_query::by_ray>(q, index, most); }
}
//@ bvh_query_capsule_next bvh_query_next_dynamic
namespace wp {
WP_INLINE bool bvh_query_capsule_next(bvh_query_t& q, int& index, float most = INFINITY) { return bvh_query_step<tree_query::by_capsule>(q, index, most); }
}
//@ bvh_query_sphere_next bvh_query_next_dynamic
namespace wp {
WP_INLINE bool bvh_query_sphere_next(bvh_query_t& q, int& index, float most = INFINITY) { return bvh_query_step<tree_query::by_ball>(q, index, most); }
}
//@ bvh_query_next_dynamic
namespace wp {
WP_INLINE bool bvh_query_next_dynamic(bvh_query_t& q, int& index, float most = INFINITY) {
    switch (q.kind) {
    case tree_query::by_ray: return bvh_query_ray_next(q, index, most);
    case tree_query::by_capsule: return bvh_query_capsule_next(q, index, most);
    case tree_query::by_ball: return bvh_query_sphere_next(q, index, most);
    default: return bvh_query_next(q, index, most);
    }
}
}
