// Tiles to single values, along an axis, and from and to the values of threads.
//@ tile_folded tile_reduce tile_min tile_max tile_dot
namespace wp {
// All elements as one, in thread 0: each thread's own first, then by halves of the threads that have any.
template <class F, class Tile> WP_INLINE auto tile_folded(F f, const Tile& tile) {
    using T = typename Tile::Type;
    constexpr int size = Tile::Shape::size, threads = size < WP_TILE_BLOCK_DIM ? size : WP_TILE_BLOCK_DIM;
    tile_register_t<T, tile_layout_register_t<tile_shape_t<1>>> out;
    tile_scratch<T> parts(threads);
    tile_settle(tile);
    const int thread = tile_arena::thread();
    if (thread < threads) {
        T own = tile.own(thread);
        for (int i = thread + WP_TILE_BLOCK_DIM; i < size; i += WP_TILE_BLOCK_DIM) own = f(own, tile.own(i));
        parts[thread] = own;
    }
    tile_arena::wait();
    for (int left = threads; left > 1;) {
        const int half = (left + 1) / 2;
        if (thread + half < left) parts[thread] = f(parts[thread], parts[thread + half]);
        tile_arena::wait();
        left = half;
    }
    if (thread == 0) out.own(0) = parts[0];
    return out;
}
}
//@ tile_reduce
namespace wp {
// A macro, because the function may be the name of overloads.
template <class F, class Tile> WP_INLINE auto tile_reduce_by(F f, const Tile& tile) { return tile_folded(f, tile); }
#define tile_reduce(f, tile) tile_reduce_by([](const auto& a, const auto& b) { return f(a, b); }, tile)
}
//@ tile_min
namespace wp {
template <class Tile> WP_INLINE auto tile_min(const Tile& tile) {
    return tile_folded([](const auto& a, const auto& b) { return min(a, b); }, tile);
}
}
//@ tile_max
namespace wp {
template <class Tile> WP_INLINE auto tile_max(const Tile& tile) {
    return tile_folded([](const auto& a, const auto& b) { return max(a, b); }, tile);
}
}
//@ tile_dot
namespace wp {
template <class A, class B> WP_INLINE auto tile_dot(const A& a, const B& b) {
    return tile_folded([](const auto& x, const auto& y) { return add(x, y); }, tile_mul(a, b));
}
}
//@ adj_tile_dot
namespace wp {
template <class A, class B, class R> WP_INLINE void adj_tile_dot(const A& a, const B& b, A& adj_a, B& adj_b, R& adj_ret) {
    using T = typename R::Type;
    tile_scratch<T> shared(1);
    tile_settle(adj_ret);
    if (tile_arena::thread() == 0) shared[0] = adj_ret.own_grad(0);
    tile_arena::wait();
    const T g = shared[0];
    tile_settle(adj_a);
    tile_each<A::Shape::size>([&](int i) { adj_a.add_own(i, mul(g, b.own(i))); });
    // Both may be one tile.
    tile_arena::wait();
    tile_each<B::Shape::size>([&](int i) { adj_b.add_own(i, mul(g, a.own(i))); });
    tile_arena::wait();
}
}
//@ tile_argument_of tile_argmin tile_argmax
namespace wp {
// The first place where no other element is better.
template <class F, class Tile> WP_INLINE auto tile_argument_of(F better, const Tile& tile) {
    tile_register_t<int, tile_layout_register_t<tile_shape_t<1>>> out;
    auto staged = tile_stage(tile);
    if (tile_arena::thread() == 0) {
        int best = 0;
        for (int i = 1; i < Tile::Shape::size; ++i)
            if (better(staged[i], staged[best])) best = i;
        out.own(0) = best;
    }
    return out;
}
}
//@ tile_argmin
namespace wp {
template <class Tile> WP_INLINE auto tile_argmin(const Tile& tile) {
    return tile_argument_of([](const auto& a, const auto& b) { return a < b; }, tile);
}
}
//@ tile_argmax
namespace wp {
template <class Tile> WP_INLINE auto tile_argmax(const Tile& tile) {
    return tile_argument_of([](const auto& a, const auto& b) { return b < a; }, tile);
}
}
//@ tile_sum_axis tile_reduce_axis
namespace wp {
template <int Axis, class Shape> struct tile_without;
template <int A, int B> struct tile_without<0, tile_shape_t<A, B>> { using type = tile_shape_t<B>; };
template <int A, int B> struct tile_without<1, tile_shape_t<A, B>> { using type = tile_shape_t<A>; };
template <int A, int B, int C> struct tile_without<0, tile_shape_t<A, B, C>> { using type = tile_shape_t<B, C>; };
template <int A, int B, int C> struct tile_without<1, tile_shape_t<A, B, C>> { using type = tile_shape_t<A, C>; };
template <int A, int B, int C> struct tile_without<2, tile_shape_t<A, B, C>> { using type = tile_shape_t<A, B>; };
// The number of the element of the whole that lies at `along` of the axis, for one of the rest.
template <int Axis, class Shape, class Rest> WP_INLINE int tile_number_along(int i, int along) {
    const tile_place place = tile_place_of<Rest>(i);
    tile_place whole = {};
    for (int axis = 0; axis < Shape::rank; ++axis) whole.at[axis] = axis == Axis ? along : place.at[axis - (axis > Axis)];
    return tile_number_of<Shape>(whole);
}
template <int Axis, class F, class Tile> WP_INLINE auto tile_folded_along(F f, const Tile& tile) {
    using T = typename Tile::Type;
    using Shape = typename Tile::Shape;
    using Rest = typename tile_without<Axis, Shape>::type;
    auto staged = tile_stage(tile);
    return tile_values<T, Rest>([&](int i) {
        T all = staged[tile_number_along<Axis, Shape, Rest>(i, 0)];
        for (int n = 1; n < Shape::dim(Axis); ++n) all = f(all, staged[tile_number_along<Axis, Shape, Rest>(i, n)]);
        return all;
    });
}
}
//@ tile_sum_axis
namespace wp {
template <int Axis, class Tile> WP_INLINE auto tile_sum_axis(const Tile& tile) {
    return tile_folded_along<Axis>([](const auto& a, const auto& b) { return add(a, b); }, tile);
}
}
//@ tile_reduce_axis
namespace wp {
// A tile of one dimension becomes one value, as without an axis.
template <int Axis, class F, class Tile> WP_INLINE auto tile_reduce_axis_by(F f, const Tile& tile) {
    if constexpr (Tile::Shape::rank == 1) return tile_folded(f, tile);
    else return tile_folded_along<Axis>(f, tile);
}
// A macro, because the function may be the name of overloads. What an empty tile would be is not needed.
#define tile_reduce_axis(f, tile, axis, identity, has_identity) tile_reduce_axis_by<axis>([](const auto& a, const auto& b) { return f(a, b); }, tile)
}
//@ adj_tile_sum_axis
namespace wp {
template <int Axis, class Tile, class R> WP_INLINE void adj_tile_sum_axis(const Tile&, Tile& adj_tile, R& adj_ret) {
    using Shape = typename Tile::Shape;
    tile_scratch<typename R::Type> given(R::Shape::size);
    tile_settle(adj_ret);
    tile_settle(adj_tile);
    tile_each<R::Shape::size>([&](int i) { given[i] = adj_ret.own_grad(i); });
    tile_arena::wait();
    tile_each<Shape::size>([&](int i) {
        const tile_place place = tile_place_of<Shape>(i);
        tile_place rest = {};
        for (int axis = 0; axis < R::Shape::rank; ++axis) rest.at[axis] = place.at[axis + (axis >= Axis)];
        adj_tile.add_own(i, given[tile_number_of<typename R::Shape>(rest)]);
    });
}
}
//@ tile
namespace wp {
// One element, or one column, for each thread of the block.
template <class T> WP_INLINE auto tile(const T& x) {
    return tile_values<T, tile_shape_t<WP_TILE_BLOCK_DIM>>([&](int) { return x; });
}
template <class T, int N> WP_INLINE auto tile(const vec_t<N, T>& x) {
    return tile_values<T, tile_shape_t<N, WP_TILE_BLOCK_DIM>>([&](int i) { return x.c[i / WP_TILE_BLOCK_DIM]; });
}
}
//@ adj_tile
namespace wp {
template <class T, class R> WP_INLINE void adj_tile(const T&, T& adj_x, R& adj_ret) { adj_x += adj_ret.own_grad(tile_arena::thread()); }
template <class T, int N, class R> WP_INLINE void adj_tile(const vec_t<N, T>&, vec_t<N, T>& adj_x, R& adj_ret) {
    for (int n = 0; n < N; ++n) adj_x.c[n] += adj_ret.own_grad(n * WP_TILE_BLOCK_DIM + tile_arena::thread());
}
}
//@ untile
namespace wp {
template <class Tile> WP_INLINE auto untile(const Tile& tile) {
    using T = typename Tile::Type;
    tile_settle(tile);
    if constexpr (Tile::Shape::rank == 1) {
        return T(tile.own(tile_arena::thread()));
    } else {
        vec_t<Tile::Shape::dim(0), T> out;
        for (int n = 0; n < Tile::Shape::dim(0); ++n) out.c[n] = tile.own(n * WP_TILE_BLOCK_DIM + tile_arena::thread());
        return out;
    }
}
}
//@ adj_untile
namespace wp {
template <class Tile, class R> WP_INLINE void adj_untile(const Tile&, Tile& adj_tile, const R& adj_ret) {
    tile_settle(adj_tile);
    if constexpr (Tile::Shape::rank == 1) {
        adj_tile.own_grad(tile_arena::thread()) += adj_ret;
    } else {
        for (int n = 0; n < Tile::Shape::dim(0); ++n) adj_tile.own_grad(n * WP_TILE_BLOCK_DIM + tile_arena::thread()) += adj_ret.c[n];
    }
}
}
//@ warp_shuffle_down warp_shuffle_xor
namespace wp {
// A value of another thread of the warp, word by word. Structs that tiles are made of hand their fields on by these.
template <class T, class F> WP_INLINE T shuffled_words(const T& value, F shuffle) {
    enum { words = (sizeof(T) + 3) / 4 };
    unsigned given[words] = {}, found[words];
    const char* from = reinterpret_cast<const char*>(&value);
    for (int n = 0; n < int(sizeof(T)); ++n) reinterpret_cast<char*>(given)[n] = from[n];
    for (int n = 0; n < words; ++n) found[n] = shuffle(given[n]);
    T out;
    for (int n = 0; n < int(sizeof(T)); ++n) reinterpret_cast<char*>(&out)[n] = reinterpret_cast<const char*>(found)[n];
    return out;
}
}
//@ warp_shuffle_down
#ifdef __CUDACC__
namespace wp {
template <class T> WP_INLINE T warp_shuffle_down(const T& value, int offset, int mask) {
    return shuffled_words(value, [&](unsigned word) { return __shfl_down_sync(mask, word, offset); });
}
}
#endif
//@ warp_shuffle_xor
#ifdef __CUDACC__
namespace wp {
template <class T> WP_INLINE T warp_shuffle_xor(const T& value, int lane) {
    return shuffled_words(value, [&](unsigned word) { return __shfl_xor_sync(0xffffffffu, word, lane); });
}
}
#endif
