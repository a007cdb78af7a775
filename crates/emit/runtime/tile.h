// Tiles: arrays of fixed shape that a block holds together, in registers or in shared memory. Element i, counted
// along the last dimension first, is the work of thread i modulo the block's size.
//@ tile_shape_t tile_stride_t
namespace wp {
template <int... N> struct tile_shape_t {
    enum { rank = sizeof...(N), size = (1 * ... * N) };
    static WP_INLINE constexpr int dim(int axis) {
        const int dims[] = {N..., 1};
        return dims[axis];
    }
};
template <int... N> struct tile_stride_t {
    static WP_INLINE constexpr int dim(int axis) {
        const int dims[] = {N..., 1};
        return dims[axis];
    }
};
// Where an element is, along each dimension.
struct tile_place {
    int at[4];
};
template <class Shape> WP_INLINE tile_place tile_place_of(int i) {
    tile_place place = {};
    for (int axis = Shape::rank - 1; axis >= 0; --axis) {
        place.at[axis] = i % Shape::dim(axis);
        i /= Shape::dim(axis);
    }
    return place;
}
template <class Shape> WP_INLINE int tile_number_of(const tile_place& place) {
    int i = 0;
    for (int axis = 0; axis < Shape::rank; ++axis) i = i * Shape::dim(axis) + place.at[axis];
    return i;
}
}
//@ tile_layout_strided_t
namespace wp {
template <class S, class Stride> struct tile_layout_strided_t {
    using Shape = S;
    // Whether an axis repeats, so that threads share elements.
    static WP_INLINE constexpr bool repeats() {
        for (int axis = 0; axis < Shape::rank; ++axis)
            if (Stride::dim(axis) == 0 && Shape::dim(axis) > 1) return true;
        return false;
    }
    static WP_INLINE int offset(const tile_place& place) {
        int at = 0;
        for (int axis = 0; axis < Shape::rank; ++axis) at += place.at[axis] * Stride::dim(axis);
        return at;
    }
    static WP_INLINE int offset(int i) { return offset(tile_place_of<Shape>(i)); }
};
}
//@ tile_layout_register_t
namespace wp {
template <class S> struct tile_layout_register_t {
    using Shape = S;
};
}
//@ tile_register_t tile_shared_t tile_layout_register_t tile_layout_strided_t tile_settle
namespace wp {
// Calls `f` with every element that is this thread's.
template <int Size, class F> WP_INLINE void tile_each(F f) {
    for (int i = tile_arena::thread(); i < Size; i += WP_TILE_BLOCK_DIM) f(i);
}
template <class T, class L> struct tile_register_t {
    using Type = T;
    using Shape = typename L::Shape;
    enum { count = (Shape::size + WP_TILE_BLOCK_DIM - 1) / WP_TILE_BLOCK_DIM };
    T data[count];
    tile_register_t() : data{} {}
    // An element of this thread, and its gradient where this is the adjoint of a tile.
    WP_INLINE T& own(int i) { return data[i / WP_TILE_BLOCK_DIM]; }
    WP_INLINE const T& own(int i) const { return data[i / WP_TILE_BLOCK_DIM]; }
    WP_INLINE T& own_grad(int i) { return data[i / WP_TILE_BLOCK_DIM]; }
    WP_INLINE void add_own(int i, const T& share) { own_grad(i) += share; }
    WP_INLINE void grad_zero() {
        for (int n = 0; n < count; ++n) data[n] = T{};
    }
    WP_INLINE tile_register_t(const tile_register_t&) = default;
    WP_INLINE tile_register_t& operator=(const tile_register_t&) = default;
    template <class S> WP_INLINE tile_register_t(const S& source) : data{} { *this = source; }
    template <class S> WP_INLINE tile_register_t& operator=(const S& source) {
        tile_settle(source);
        tile_each<Shape::size>([&](int i) { own(i) = source.own(i); });
        return *this;
    }
};
// Waits for what threads wrote to single elements, where a tile lies in shared memory.
template <class A> WP_INLINE void tile_settle(const A&) {}
// Memory for one step, given back at its end.
template <class T> struct tile_scratch {
    T* data;
    unsigned bytes;
    WP_INLINE tile_scratch(int count) : bytes(sizeof(T) * count) {
        data = reinterpret_cast<T*>(tile_arena::take(bytes));
    }
    // Nobody may still read it when the next step writes.
    WP_INLINE ~tile_scratch() {
        tile_arena::wait();
        tile_arena::give(bytes);
    }
    WP_INLINE T& operator[](int i) { return data[i]; }
};
// A tile that every thread can read, and its gradients to add to.
template <class T, class Shape> struct tile_staged {
    tile_scratch<T> values;
    template <class Tile> WP_INLINE tile_staged(const Tile& tile) : values(Shape::size) {
        tile_settle(tile);
        tile_each<Shape::size>([&](int i) { values[i] = tile.own(i); });
        tile_arena::wait();
    }
    WP_INLINE T& at(int i, int j) { return values[i * Shape::dim(1) + j]; }
    WP_INLINE T& operator[](int i) { return values[i]; }
};
template <class Tile> WP_INLINE tile_staged<typename Tile::Type, typename Tile::Shape> tile_stage(const Tile& tile) { return {tile}; }
}
//@ tile_shared_t
namespace wp {
template <class T, class L, bool Owner> struct tile_shared_t {
    using Type = T;
    using Layout = L;
    using Shape = typename L::Shape;
    T* data = nullptr;
    T* grad = nullptr;
    bool has_memory = false;
    tile_shared_t() = default;
    WP_INLINE tile_shared_t(decltype(nullptr)) {}
    WP_INLINE tile_shared_t(T* data, T* grad, bool has_memory = false) : data(data), grad(grad), has_memory(has_memory) {}
    // Another name of the same memory.
    WP_INLINE tile_shared_t(const tile_shared_t& other) : data(other.data), grad(other.grad) {}
    static WP_INLINE unsigned bytes(bool gradients) { return tile_arena::rounded(Shape::size * sizeof(T)) * (gradients ? 2 : 1); }
    WP_INLINE ~tile_shared_t() {
        if (has_memory) {
            tile_arena::wait();
            tile_arena::give(bytes(grad != nullptr));
        }
    }
    WP_INLINE T& own(int i) { return data[L::offset(i)]; }
    WP_INLINE const T& own(int i) const { return data[L::offset(i)]; }
    WP_INLINE T& own_grad(int i) { return grad[L::offset(i)]; }
    WP_INLINE void add_own(int i, const T& share) {
        if constexpr (L::repeats()) add_grad(&own_grad(i), share);
        else own_grad(i) += share;
    }
    WP_INLINE T& at(int i, int j) const { return data[L::offset(tile_place{{i, j}})]; }
    WP_INLINE void grad_zero() {
        if (grad == nullptr) return;
        tile_arena::wait();
        tile_each<Shape::size>([&](int i) { own_grad(i) = T{}; });
        tile_arena::wait();
    }
    template <class S> WP_INLINE void assign(const S& source) {
        tile_arena::wait();
        tile_each<Shape::size>([&](int i) { own(i) = source.own(i); });
        tile_arena::wait();
    }
    WP_INLINE tile_shared_t& operator=(const tile_shared_t& other) {
        if constexpr (Owner) {
            if (data != other.data) assign(other);
        } else {
            data = other.data;
            grad = other.grad;
        }
        return *this;
    }
    template <class S> WP_INLINE tile_shared_t& operator=(const S& source) {
        assign(source);
        return *this;
    }
};
}
//@ tile_settle | tile_shared_t
namespace wp {
template <class T, class L, bool Owner> WP_INLINE void tile_settle(const tile_shared_t<T, L, Owner>&) { tile_arena::wait(); }
}
//@ assign | tile_shared_t
namespace wp {
template <class T, class L, bool Owner> WP_INLINE void assign(tile_shared_t<T, L, Owner>& tile, int x, const T& value) {
    tile.data[L::offset(tile_place{{x}})] = value;
}
template <class T, class L, bool Owner> WP_INLINE void assign(tile_shared_t<T, L, Owner>& tile, int x, int y, const T& value) {
    tile.data[L::offset(tile_place{{x, y}})] = value;
}
template <class T, class L, bool Owner, class R> WP_INLINE void assign(tile_shared_t<T, L, Owner>& tile, const tile_register_t<T, R>& source) {
    tile = source;
}
}
//@ tile_alloc_empty
namespace wp {
template <class T, class Shape, class Stride, bool Gradients>
WP_INLINE tile_shared_t<T, tile_layout_strided_t<Shape, Stride>, true> tile_alloc_empty() {
    using Tile = tile_shared_t<T, tile_layout_strided_t<Shape, Stride>, true>;
    char* memory = tile_arena::take(Tile::bytes(Gradients));
    T* grad = Gradients ? reinterpret_cast<T*>(memory + Tile::bytes(false)) : nullptr;
    if (Gradients) {
        // Of every element that there is memory for, whatever the strides.
        tile_each<Shape::size>([&](int i) { grad[i] = T{}; });
        tile_arena::wait();
    }
    return Tile(reinterpret_cast<T*>(memory), grad, true);
}
}
//@ tile_values
namespace wp {
// A tile in registers that a function of the element's number fills.
template <class T, class Shape, class F> WP_INLINE tile_register_t<T, tile_layout_register_t<Shape>> tile_values(F f) {
    tile_register_t<T, tile_layout_register_t<Shape>> out;
    tile_each<Shape::size>([&](int i) { out.own(i) = f(i); });
    return out;
}
}
//@ adj_assign | tile_shared_t
namespace wp {
// Every thread assigned the same value: each takes the gradient, before it is gone.
template <class T, class L, bool Owner> WP_INLINE void tile_assigned_grad(tile_shared_t<T, L, Owner>& adj, const tile_place& place, T& adj_value) {
    if (adj.grad == nullptr) return;
    T& g = adj.grad[L::offset(place)];
    tile_arena::wait();
    adj_value += g;
    tile_arena::wait();
    if (tile_arena::thread() == 0) g = T{};
    tile_arena::wait();
}
template <class T, class L, bool Owner>
WP_INLINE void adj_assign(const tile_shared_t<T, L, Owner>&, int x, const T&, tile_shared_t<T, L, Owner>& adj, int, T& adj_value) {
    tile_assigned_grad(adj, {{x}}, adj_value);
}
template <class T, class L, bool Owner>
WP_INLINE void adj_assign(const tile_shared_t<T, L, Owner>&, int x, int y, const T&, tile_shared_t<T, L, Owner>& adj, int, int, T& adj_value) {
    tile_assigned_grad(adj, {{x, y}}, adj_value);
}
}
//@ adj_assign | tile_register_t
namespace wp {
// What is overwritten has no part in what comes after.
template <class A, class B> WP_INLINE void tile_moved_grad(A& adj_to, B& adj_from) {
    using T = typename A::Type;
    const auto given = tile_values<T, typename A::Shape>([&](int i) { return adj_to.own_grad(i); });
    adj_to.grad_zero();
    tile_each<A::Shape::size>([&](int i) { adj_from.add_own(i, given.own(i)); });
    tile_arena::wait();
}
template <class T, class L> WP_INLINE void adj_assign(const tile_register_t<T, L>&, const tile_register_t<T, L>&, tile_register_t<T, L>& adj_to, tile_register_t<T, L>& adj_from) {
    tile_moved_grad(adj_to, adj_from);
}
}
//@ adj_assign | tile_register_t tile_shared_t
namespace wp {
template <class T, class L, bool Owner, class R>
WP_INLINE void adj_assign(const tile_shared_t<T, L, Owner>&, const tile_register_t<T, R>&, tile_shared_t<T, L, Owner>& adj_to, tile_register_t<T, R>& adj_from) {
    if (adj_to.grad != nullptr) tile_moved_grad(adj_to, adj_from);
}
template <class T, class L, bool Owner, class R>
WP_INLINE void adj_assign(const tile_register_t<T, R>&, const tile_shared_t<T, L, Owner>&, tile_register_t<T, R>& adj_to, tile_shared_t<T, L, Owner>& adj_from) {
    if (adj_from.grad != nullptr) tile_moved_grad(adj_to, adj_from);
}
template <class T, class L, class M, bool Owner, bool Other>
WP_INLINE void adj_assign(const tile_shared_t<T, L, Owner>&, const tile_shared_t<T, M, Other>&, tile_shared_t<T, L, Owner>& adj_to, tile_shared_t<T, M, Other>& adj_from) {
    // The same memory under two names has the same gradients.
    if (adj_to.grad != nullptr && adj_to.grad != adj_from.grad) tile_moved_grad(adj_to, adj_from);
}
}
//@ tile_zeros
namespace wp {
template <class T, int... N> WP_INLINE auto tile_zeros() {
    return tile_values<T, tile_shape_t<N...>>([](int) { return T{}; });
}
}
//@ tile_ones
namespace wp {
template <class T, int... N> WP_INLINE auto tile_ones() {
    return tile_values<T, tile_shape_t<N...>>([](int) { return T(1); });
}
}
//@ tile_full
namespace wp {
template <class T, int... N, class V> WP_INLINE auto tile_full(const V& value) {
    return tile_values<T, tile_shape_t<N...>>([&](int) { return T(value); });
}
}
//@ tile_arange
namespace wp {
template <class T, int N> WP_INLINE auto tile_arange(const T& start, const T&, const T& step) {
    return tile_values<T, tile_shape_t<N>>([&](int i) { return T(start + T(i) * step); });
}
}
//@ adj_tile_zeros adj_tile_ones adj_tile_full adj_tile_arange
namespace wp {
template <class... A> WP_INLINE void adj_tile_zeros(A&&...) {}
template <class... A> WP_INLINE void adj_tile_ones(A&&...) {}
template <class... A> WP_INLINE void adj_tile_full(A&&...) {}
template <class... A> WP_INLINE void adj_tile_arange(A&&...) {}
}
//@ tile_window tile_array_grad
namespace wp {
// Where a tile lies in an array: the array's element for each of the tile's, if there is one.
template <class Shape> struct tile_window {
    tile_place first;
    template <class A> WP_INLINE bool find(const A& a, int i, int64& offset) const {
        const tile_place place = tile_place_of<Shape>(i);
        offset = 0;
        for (int axis = 0; axis < Shape::rank; ++axis) {
            const int at = first.at[axis] + place.at[axis];
            if (at < 0 || at >= a.shape.dims[axis]) return false;
            offset += int64(at) * a.strides[axis];
        }
        return true;
    }
};
template <class T> WP_INLINE T* tile_array_grad(const array_t<T>& a, const array_t<T>& adj_a, int64 offset) {
    if (adj_a.data) return offset_by(adj_a.data, offset);
    return a.grad ? offset_by(a.grad, offset) : nullptr;
}
}
//@ tile_load
namespace wp {
template <class T, bool Checked, bool Aligned, int... N, class... I> WP_INLINE auto tile_load(const array_t<T>& a, I... first) {
    using Shape = tile_shape_t<N...>;
    const tile_window<Shape> window = {{{int(first)...}}};
    return tile_values<T, Shape>([&](int i) {
        int64 offset;
        return window.find(a, i, offset) ? *offset_by(a.data, offset) : T{};
    });
}
}
//@ adj_tile_load
namespace wp {
template <class T, class Tile> WP_INLINE void tile_load_grad(const array_t<T>& a, const array_t<T>& adj_a, tile_place first, Tile& adj_tile) {
    const tile_window<typename Tile::Shape> window = {first};
    tile_settle(adj_tile);
    tile_each<Tile::Shape::size>([&](int i) {
        int64 offset;
        if (!window.find(a, i, offset)) return;
        if (T* g = tile_array_grad(a, adj_a, offset)) add_grad(g, adj_tile.own_grad(i));
    });
}
template <class T, class Tile> WP_INLINE void adj_tile_load(const array_t<T>& a, int x, const array_t<T>& adj_a, int, Tile& adj_tile) {
    tile_load_grad(a, adj_a, {{x}}, adj_tile);
}
template <class T, class Tile> WP_INLINE void adj_tile_load(const array_t<T>& a, int x, int y, const array_t<T>& adj_a, int, int, Tile& adj_tile) {
    tile_load_grad(a, adj_a, {{x, y}}, adj_tile);
}
template <class T, class Tile>
WP_INLINE void adj_tile_load(const array_t<T>& a, int x, int y, int z, const array_t<T>& adj_a, int, int, int, Tile& adj_tile) {
    tile_load_grad(a, adj_a, {{x, y, z}}, adj_tile);
}
}
//@ tile_store_at tile_store
namespace wp {
template <class T, class Tile> WP_INLINE void tile_store_at(const array_t<T>& a, tile_place first, const Tile& tile) {
    const tile_window<typename Tile::Shape> window = {first};
    tile_settle(tile);
    tile_each<Tile::Shape::size>([&](int i) {
        int64 offset;
        if (window.find(a, i, offset)) *offset_by(a.data, offset) = tile.own(i);
    });
    // What the block stores next, or loads, comes after this.
    tile_arena::wait();
}
}
//@ tile_store
namespace wp {
template <class T, bool Checked, bool Aligned, class Tile> WP_INLINE void tile_store(const array_t<T>& a, int x, const Tile& tile) {
    tile_store_at(a, {{x}}, tile);
}
template <class T, bool Checked, bool Aligned, class Tile> WP_INLINE void tile_store(const array_t<T>& a, int x, int y, const Tile& tile) {
    tile_store_at(a, {{x, y}}, tile);
}
template <class T, bool Checked, bool Aligned, class Tile>
WP_INLINE void tile_store(const array_t<T>& a, int x, int y, int z, const Tile& tile) {
    tile_store_at(a, {{x, y, z}}, tile);
}
}
//@ adj_tile_store
namespace wp {
template <class T, class Tile> WP_INLINE void tile_store_grad(const array_t<T>& a, const array_t<T>& adj_a, tile_place first, Tile& adj_tile) {
    const tile_window<typename Tile::Shape> window = {first};
    tile_settle(adj_tile);
    tile_each<Tile::Shape::size>([&](int i) {
        int64 offset;
        if (!window.find(a, i, offset)) return;
        take_stored_grad(adj_a, tile_array_grad(a, adj_a, offset), adj_tile.own_grad(i));
    });
    tile_arena::wait();
}
template <class T, class Tile>
WP_INLINE void adj_tile_store(const array_t<T>& a, int x, const Tile&, const array_t<T>& adj_a, int, Tile& adj_tile) {
    tile_store_grad(a, adj_a, {{x}}, adj_tile);
}
template <class T, class Tile>
WP_INLINE void adj_tile_store(const array_t<T>& a, int x, int y, const Tile&, const array_t<T>& adj_a, int, int, Tile& adj_tile) {
    tile_store_grad(a, adj_a, {{x, y}}, adj_tile);
}
template <class T, class Tile>
WP_INLINE void adj_tile_store(const array_t<T>& a, int x, int y, int z, const Tile&, const array_t<T>& adj_a, int, int, int, Tile& adj_tile) {
    tile_store_grad(a, adj_a, {{x, y, z}}, adj_tile);
}
}
//@ tile_atomic_add
namespace wp {
template <class T, class Tile> WP_INLINE auto tile_atomic_add_at(const array_t<T>& a, tile_place first, const Tile& tile) {
    using Shape = typename Tile::Shape;
    const tile_window<Shape> window = {first};
    tile_settle(tile);
    auto before = tile_values<T, Shape>([&](int i) {
        int64 offset;
        return window.find(a, i, offset) ? atomic_add(offset_by(a.data, offset), tile.own(i)) : T{};
    });
    tile_arena::wait();
    return before;
}
template <class T, bool Checked, class Tile> WP_INLINE auto tile_atomic_add(const array_t<T>& a, int x, const Tile& tile) {
    return tile_atomic_add_at(a, {{x}}, tile);
}
template <class T, bool Checked, class Tile> WP_INLINE auto tile_atomic_add(const array_t<T>& a, int x, int y, const Tile& tile) {
    return tile_atomic_add_at(a, {{x, y}}, tile);
}
}
//@ adj_tile_atomic_add
namespace wp {
// What is added has the array's gradient, and leaves it there.
template <class T, class Tile> WP_INLINE void tile_added_grad(const array_t<T>& a, const array_t<T>& adj_a, tile_place first, Tile& adj_tile) {
    const tile_window<typename Tile::Shape> window = {first};
    tile_settle(adj_tile);
    tile_each<Tile::Shape::size>([&](int i) {
        int64 offset;
        if (!window.find(a, i, offset)) return;
        if (T* g = tile_array_grad(a, adj_a, offset)) adj_tile.add_own(i, *g);
    });
    tile_arena::wait();
}
template <class T, class Tile, class R>
WP_INLINE void adj_tile_atomic_add(const array_t<T>& a, int x, const Tile&, const array_t<T>& adj_a, int, Tile& adj_tile, const R&) {
    tile_added_grad(a, adj_a, {{x}}, adj_tile);
}
template <class T, class Tile, class R>
WP_INLINE void adj_tile_atomic_add(const array_t<T>& a, int x, int y, const Tile&, const array_t<T>& adj_a, int, int, Tile& adj_tile, const R&) {
    tile_added_grad(a, adj_a, {{x, y}}, adj_tile);
}
}
//@ tile_indexed_window tile_load_indexed tile_store_indexed tile_atomic_add_indexed
namespace wp {
// Where a tile lies in an array along whose axis another tile says the places; a place outside is left out.
template <class Shape, class Staged> struct tile_indexed_window {
    tile_place first;
    int axis;
    Staged& index;
    template <class A> WP_INLINE bool find(const A& a, int i, int64& offset) const {
        const tile_place place = tile_place_of<Shape>(i);
        offset = 0;
        for (int n = 0; n < Shape::rank; ++n) {
            const int at = first.at[n] + (n == axis ? int(index[place.at[n]]) : place.at[n]);
            if (at < 0 || at >= a.shape.dims[n]) return false;
            offset += int64(at) * a.strides[n];
        }
        return true;
    }
};
// Calls `f` with each of the thread's elements and the offset of the array's.
template <class Shape, class T, class Index, class F>
WP_INLINE void tile_each_indexed(const array_t<T>& a, const Index& indices, int axis, tile_place first, F f) {
    auto index = tile_stage(indices);
    const tile_indexed_window<Shape, decltype(index)> window = {first, axis, index};
    tile_each<Shape::size>([&](int i) {
        int64 offset;
        if (window.find(a, i, offset)) f(i, offset);
    });
}
}
//@ tile_load_indexed
namespace wp {
template <int... N, class T, class Index, class... I> WP_INLINE auto tile_load_indexed(const array_t<T>& a, const Index& indices, int axis, I... first) {
    using Shape = tile_shape_t<N...>;
    tile_register_t<T, tile_layout_register_t<Shape>> out;
    tile_each_indexed<Shape>(a, indices, axis, {{int(first)...}}, [&](int i, int64 offset) { out.own(i) = *offset_by(a.data, offset); });
    return out;
}
}
//@ tile_store_indexed
namespace wp {
template <class T, class Index, class Tile> WP_INLINE void tile_store_indexed_at(const array_t<T>& a, const Index& indices, int axis, tile_place first, const Tile& tile) {
    tile_settle(tile);
    tile_each_indexed<typename Tile::Shape>(a, indices, axis, first, [&](int i, int64 offset) { *offset_by(a.data, offset) = tile.own(i); });
    tile_arena::wait();
}
template <class T, class Index, class Tile> WP_INLINE void tile_store_indexed(const array_t<T>& a, const Index& indices, int axis, int x, const Tile& tile) {
    tile_store_indexed_at(a, indices, axis, {{x}}, tile);
}
template <class T, class Index, class Tile> WP_INLINE void tile_store_indexed(const array_t<T>& a, const Index& indices, int axis, int x, int y, const Tile& tile) {
    tile_store_indexed_at(a, indices, axis, {{x, y}}, tile);
}
template <class T, class Index, class Tile>
WP_INLINE void tile_store_indexed(const array_t<T>& a, const Index& indices, int axis, int x, int y, int z, const Tile& tile) {
    tile_store_indexed_at(a, indices, axis, {{x, y, z}}, tile);
}
}
//@ tile_atomic_add_indexed
namespace wp {
template <class T, class Index, class Tile> WP_INLINE auto tile_atomic_add_indexed_at(const array_t<T>& a, const Index& indices, int axis, tile_place first, const Tile& tile) {
    tile_register_t<T, tile_layout_register_t<typename Tile::Shape>> before;
    tile_settle(tile);
    tile_each_indexed<typename Tile::Shape>(a, indices, axis, first, [&](int i, int64 offset) { before.own(i) = atomic_add(offset_by(a.data, offset), tile.own(i)); });
    tile_arena::wait();
    return before;
}
template <class T, class Index, class Tile> WP_INLINE auto tile_atomic_add_indexed(const array_t<T>& a, const Index& indices, int axis, int x, const Tile& tile) {
    return tile_atomic_add_indexed_at(a, indices, axis, {{x}}, tile);
}
template <class T, class Index, class Tile> WP_INLINE auto tile_atomic_add_indexed(const array_t<T>& a, const Index& indices, int axis, int x, int y, const Tile& tile) {
    return tile_atomic_add_indexed_at(a, indices, axis, {{x, y}}, tile);
}
template <class T, class Index, class Tile>
WP_INLINE auto tile_atomic_add_indexed(const array_t<T>& a, const Index& indices, int axis, int x, int y, int z, const Tile& tile) {
    return tile_atomic_add_indexed_at(a, indices, axis, {{x, y, z}}, tile);
}
}
//@ adj_tile_load_indexed
namespace wp {
template <class T, class Index, class Tile>
WP_INLINE void tile_load_indexed_grad(const array_t<T>& a, const Index& indices, int axis, tile_place first, const array_t<T>& adj_a, Tile& adj_tile) {
    tile_settle(adj_tile);
    tile_each_indexed<typename Tile::Shape>(a, indices, axis, first, [&](int i, int64 offset) {
        if (T* g = tile_array_grad(a, adj_a, offset)) add_grad(g, adj_tile.own_grad(i));
    });
}
template <class T, class Index, class AdjIndex, class Tile>
WP_INLINE void adj_tile_load_indexed(const array_t<T>& a, const Index& indices, int axis, int x, const array_t<T>& adj_a, const AdjIndex&, int, int, Tile& adj_tile) {
    tile_load_indexed_grad(a, indices, axis, {{x}}, adj_a, adj_tile);
}
template <class T, class Index, class AdjIndex, class Tile>
WP_INLINE void adj_tile_load_indexed(const array_t<T>& a, const Index& indices, int axis, int x, int y, const array_t<T>& adj_a, const AdjIndex&, int, int, int, Tile& adj_tile) {
    tile_load_indexed_grad(a, indices, axis, {{x, y}}, adj_a, adj_tile);
}
}
//@ adj_tile_store_indexed
namespace wp {
template <class T, class Index, class Tile>
WP_INLINE void tile_store_indexed_grad(const array_t<T>& a, const Index& indices, int axis, tile_place first, const array_t<T>& adj_a, Tile& adj_tile) {
    tile_settle(adj_tile);
    tile_each_indexed<typename Tile::Shape>(a, indices, axis, first, [&](int i, int64 offset) {
        take_stored_grad(adj_a, tile_array_grad(a, adj_a, offset), adj_tile.own_grad(i));
    });
    tile_arena::wait();
}
template <class T, class Index, class AdjIndex, class Tile>
WP_INLINE void adj_tile_store_indexed(const array_t<T>& a, const Index& indices, int axis, int x, const Tile&, const array_t<T>& adj_a, const AdjIndex&, int, int, Tile& adj_tile) {
    tile_store_indexed_grad(a, indices, axis, {{x}}, adj_a, adj_tile);
}
template <class T, class Index, class AdjIndex, class Tile>
WP_INLINE void adj_tile_store_indexed(const array_t<T>& a, const Index& indices, int axis, int x, int y, const Tile&, const array_t<T>& adj_a, const AdjIndex&, int, int, int, Tile& adj_tile) {
    tile_store_indexed_grad(a, indices, axis, {{x, y}}, adj_a, adj_tile);
}
}
//@ adj_tile_atomic_add_indexed
namespace wp {
template <class T, class Index, class Tile>
WP_INLINE void tile_added_indexed_grad(const array_t<T>& a, const Index& indices, int axis, tile_place first, const array_t<T>& adj_a, Tile& adj_tile) {
    tile_settle(adj_tile);
    tile_each_indexed<typename Tile::Shape>(a, indices, axis, first, [&](int i, int64 offset) {
        if (T* g = tile_array_grad(a, adj_a, offset)) adj_tile.add_own(i, *g);
    });
    tile_arena::wait();
}
template <class T, class Index, class AdjIndex, class Tile, class R>
WP_INLINE void adj_tile_atomic_add_indexed(const array_t<T>& a, const Index& indices, int axis, int x, const Tile&, const array_t<T>& adj_a, const AdjIndex&, int, int, Tile& adj_tile, const R&) {
    tile_added_indexed_grad(a, indices, axis, {{x}}, adj_a, adj_tile);
}
template <class T, class Index, class AdjIndex, class Tile, class R>
WP_INLINE void adj_tile_atomic_add_indexed(const array_t<T>& a, const Index& indices, int axis, int x, int y, const Tile&, const array_t<T>& adj_a, const AdjIndex&, int, int, int, Tile& adj_tile, const R&) {
    tile_added_indexed_grad(a, indices, axis, {{x, y}}, adj_a, adj_tile);
}
}
//@ tile_extract
namespace wp {
template <class T, class L, bool Owner, class... I> WP_INLINE T tile_extract(const tile_shared_t<T, L, Owner>& tile, I... i) {
    return tile.data[L::offset(tile_place{{int(i)...}})];
}
template <class T, class L, class... I> WP_INLINE T tile_extract(const tile_register_t<T, L>& tile, I... i) {
    using Shape = typename L::Shape;
    tile_scratch<T> shared(1);
    const int number = tile_number_of<Shape>(tile_place{{int(i)...}});
    if (number % WP_TILE_BLOCK_DIM == tile_arena::thread()) shared[0] = tile.own(number);
    tile_arena::wait();
    return shared[0];
}
}
//@ adj_tile_extract
namespace wp {
template <class T, class L, bool Owner>
WP_INLINE void adj_tile_extract(const tile_shared_t<T, L, Owner>&, int x, tile_shared_t<T, L, Owner>& adj, int, const T& adj_ret) {
    add_grad(&adj.grad[L::offset(tile_place{{x}})], adj_ret);
}
template <class T, class L, bool Owner>
WP_INLINE void adj_tile_extract(const tile_shared_t<T, L, Owner>&, int x, int y, tile_shared_t<T, L, Owner>& adj, int, int, const T& adj_ret) {
    add_grad(&adj.grad[L::offset(tile_place{{x, y}})], adj_ret);
}
}
//@ tile_from_thread
namespace wp {
template <class T, int... N> WP_INLINE auto tile_from_thread(const T& value, int thread) {
    tile_scratch<T> shared(1);
    if (tile_arena::thread() == thread) shared[0] = value;
    tile_arena::wait();
    const T known = shared[0];
    return tile_values<T, tile_shape_t<N...>>([&](int) { return known; });
}
}
