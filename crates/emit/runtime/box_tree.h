// A tree of boxes, and searches through it. There is no stack: each box knows the one to go on with behind it. Boxes
// are visited in the host's order.
//@ tree_box
namespace wp {
struct tree_box {
    float low[3], high[3];
    uint32 first, count;  // items of a leaf; two boxes from `first` on where there are none
};
}
//@ tree_group
namespace wp {
struct tree_group {
    int group, root;
};
// The box that has a group's items and no others; -1 where there is no such group.
WP_INLINE int tree_group_root(const tree_group* groups, uint32 count, int group) {
    uint32 low = 0, high = count;
    while (low < high) {
        const uint32 middle = (low + high) / 2;
        if (groups[middle].group < group) low = middle + 1;
        else high = middle;
    }
    return low < count && groups[low].group == group ? groups[low].root : -1;
}
}
//@ tree_query
namespace wp {
struct tree_query {
    enum { by_box, by_ray, by_capsule, by_ball };
    float a[3], b[3], radius;  // two points, or a point and the inverse of a direction
    int kind;
    uint32 at, end, item, stop;  // the box at hand, the one behind the last, and what is left of a leaf
    int found;
    template <class V> WP_INLINE void begin(int shape, const V& one, const V& other, float wide, uint32 boxes, const uint32* skip, int root) {
        for (int axis = 0; axis < 3; ++axis) {
            a[axis] = one.c[axis];
            b[axis] = shape == by_ray || shape == by_capsule ? 1.0f / other.c[axis] : other.c[axis];
        }
        radius = ::fmaxf(wide, 0.0f);
        kind = shape;
        at = root >= 0 ? uint32(root) : boxes ? 0u : ~0u;
        end = root >= 0 ? skip[root] : ~0u;
        item = stop = 0;
        found = -1;
    }
    template <int shape> WP_INLINE bool touches(const float* low, const float* high, float most) const {
        if (shape == by_box) {
            return !(a[0] > high[0] || a[1] > high[1] || a[2] > high[2] || b[0] < low[0] || b[1] < low[1] || b[2] < low[2]);
        }
        if (shape == by_ball) {
            const float x = ::fmaxf(::fmaxf(low[0] - a[0], a[0] - high[0]), 0.0f);
            const float y = ::fmaxf(::fmaxf(low[1] - a[1], a[1] - high[1]), 0.0f);
            const float z = ::fmaxf(::fmaxf(low[2] - a[2], a[2] - high[2]), 0.0f);
            return x * x + y * y + z * z <= radius * radius;
        }
        float near = -INFINITY, far = INFINITY;
        for (int axis = 0; axis < 3; ++axis) {
            const float wide = shape == by_capsule ? radius : 0.0f;
            const float first = low[axis] - wide, last = high[axis] + wide;
            // Along a side of the box a capsule counts where it begins between both.
            if (shape == by_capsule && ::fabsf(b[axis]) == INFINITY) {
                if (a[axis] < first || a[axis] > last) return false;
                continue;
            }
            const float s = (first - a[axis]) * b[axis], t = (last - a[axis]) * b[axis];
            near = ::fmaxf(near, ::fminf(s, t));
            far = ::fminf(far, ::fmaxf(s, t));
        }
        return far >= 0.0f && far >= near && (shape == by_capsule ? near <= most : near < most);
    }
    // Goes on to the next item that `hit` says yes to.
    template <int shape, class F> WP_INLINE bool next(const tree_box* boxes, const uint32* skip, float most, int& index, F hit) {
        for (;;) {
            while (item < stop) {
                int number;
                if (!hit(item++, number)) continue;
                index = found = number;
                return true;
            }
            if (at == end) return false;
            const tree_box& box = boxes[at];
            const bool touched = touches<shape>(box.low, box.high, most);
            if (touched && box.count) {
                item = box.first;
                stop = box.first + box.count;
            }
            at = touched && !box.count ? box.first : skip[at];
        }
    }
};
}
