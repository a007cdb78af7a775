// Tiles as a whole: views, sums, scans, Fourier transforms.
//@ tile_transpose
namespace wp {
template <class L> struct tile_turned;
template <int R, int C, int S, int T> struct tile_turned<tile_layout_strided_t<tile_shape_t<R, C>, tile_stride_t<S, T>>> {
    using type = tile_layout_strided_t<tile_shape_t<C, R>, tile_stride_t<T, S>>;
};
template <class T, class L, bool Owner> WP_INLINE auto tile_transpose(tile_shared_t<T, L, Owner>& tile) {
    return tile_shared_t<T, typename tile_turned<L>::type, false>(tile.data, tile.grad);
}
}
//@ adj_tile_transpose
namespace wp {
// A view has the gradients of its tile.
template <class... A> WP_INLINE void adj_tile_transpose(const A&...) {}
}
//@ tile_reshape
namespace wp {
template <class View, class T, class L, bool Owner> WP_INLINE View tile_reshape(tile_shared_t<T, L, Owner>& tile) { return View(tile.data, tile.grad); }
}
//@ adj_tile_reshape
namespace wp {
template <class... A> WP_INLINE void adj_tile_reshape(const A&...) {}
}
//@ tile_squeeze
namespace wp {
template <class View, class T, class L, bool Owner> WP_INLINE View tile_squeeze(tile_shared_t<T, L, Owner>& tile) { return View(tile.data, tile.grad); }
}
//@ adj_tile_squeeze
namespace wp {
template <class... A> WP_INLINE void adj_tile_squeeze(const A&...) {}
}
//@ tile_view
namespace wp {
template <class View, class T, class L, bool Owner, class... I> WP_INLINE View tile_view(tile_shared_t<T, L, Owner>& tile, I... first) {
    const int offset = L::offset(tile_place{{int(first)...}});
    return View(tile.data + offset, tile.grad ? tile.grad + offset : nullptr);
}
}
//@ adj_tile_view
namespace wp {
template <class... A> WP_INLINE void adj_tile_view(const A&...) {}
}
//@ tile_broadcast
namespace wp {
// A view in which an axis of one element repeats.
template <int N, int S, class T, class L, bool Owner> WP_INLINE auto tile_broadcast(tile_shared_t<T, L, Owner>& tile) {
    return tile_shared_t<T, tile_layout_strided_t<tile_shape_t<N>, tile_stride_t<S>>, false>(tile.data, tile.grad);
}
template <int N, int M, int S, int R, class T, class L, bool Owner> WP_INLINE auto tile_broadcast(tile_shared_t<T, L, Owner>& tile) {
    return tile_shared_t<T, tile_layout_strided_t<tile_shape_t<N, M>, tile_stride_t<S, R>>, false>(tile.data, tile.grad);
}
}
//@ adj_tile_broadcast
namespace wp {
// A view has the gradients of its tile, which threads that share an element add to one after the other.
template <class... A> WP_INLINE void adj_tile_broadcast(const A&...) {}
}
//@ tile_assign
namespace wp {
template <class T, class L, bool Owner, class Tile> WP_INLINE void tile_assign_at(tile_shared_t<T, L, Owner>& to, const Tile& tile, const tile_place& first) {
    tile_arena::wait();
    tile_each<Tile::Shape::size>([&](int i) {
        tile_place place = tile_place_of<typename Tile::Shape>(i);
        for (int axis = 0; axis < L::Shape::rank; ++axis) place.at[axis] += first.at[axis];
        to.data[L::offset(place)] = tile.own(i);
    });
    tile_arena::wait();
}
template <class T, class L, bool Owner, class Tile, class... I> WP_INLINE void tile_assign(tile_shared_t<T, L, Owner>& to, const Tile& tile, I... first) {
    tile_assign_at(to, tile, tile_place{{int(first)...}});
}
}
//@ adj_tile_assign
namespace wp {
// What was overwritten has no part in what came after. A copy first: one may be a view of the other.
template <class T, class L, bool Owner, class Tile> WP_INLINE void tile_assign_grad(tile_shared_t<T, L, Owner>& adj_to, Tile& adj_tile, const tile_place& first) {
    using Shape = typename Tile::Shape;
    const auto number = [&](int i) {
        tile_place place = tile_place_of<Shape>(i);
        for (int axis = 0; axis < L::Shape::rank; ++axis) place.at[axis] += first.at[axis];
        return L::offset(place);
    };
    if (adj_to.grad == nullptr) return;
    tile_arena::wait();
    const auto given = tile_values<T, Shape>([&](int i) { return adj_to.grad[number(i)]; });
    tile_arena::wait();
    tile_each<Shape::size>([&](int i) { adj_to.grad[number(i)] = T{}; });
    tile_arena::wait();
    tile_each<Shape::size>([&](int i) { adj_tile.add_own(i, given.own(i)); });
    tile_arena::wait();
}
template <class T, class L, bool Owner, class Tile>
WP_INLINE void adj_tile_assign(const tile_shared_t<T, L, Owner>&, const Tile&, int x, tile_shared_t<T, L, Owner>& adj_to, Tile& adj_tile, int) {
    tile_assign_grad(adj_to, adj_tile, {{x}});
}
template <class T, class L, bool Owner, class Tile>
WP_INLINE void adj_tile_assign(const tile_shared_t<T, L, Owner>&, const Tile&, int x, int y, tile_shared_t<T, L, Owner>& adj_to, Tile& adj_tile, int, int) {
    tile_assign_grad(adj_to, adj_tile, {{x, y}});
}
}
//@ tile_sum
namespace wp {
// The sum of all elements, in thread 0: each thread's own first, then by halves of the block.
template <class Tile> WP_INLINE auto tile_sum(const Tile& tile) {
    using T = typename Tile::Type;
    tile_register_t<T, tile_layout_register_t<tile_shape_t<1>>> out;
    tile_scratch<T> sums(WP_TILE_BLOCK_DIM);
    T own{};
    tile_settle(tile);
    tile_each<Tile::Shape::size>([&](int i) { own = add(own, tile.own(i)); });
    const int thread = tile_arena::thread();
    sums[thread] = own;
    tile_arena::wait();
    for (int left = WP_TILE_BLOCK_DIM; left > 1;) {
        const int half = (left + 1) / 2;
        if (thread + half < left) sums[thread] = add(sums[thread], sums[thread + half]);
        tile_arena::wait();
        left = half;
    }
    if (thread == 0) out.own(0) = sums[0];
    return out;
}
}
//@ adj_tile_sum
namespace wp {
template <class Tile, class R> WP_INLINE void adj_tile_sum(const Tile&, Tile& adj_tile, R& adj_ret) {
    tile_scratch<typename R::Type> shared(1);
    tile_settle(adj_ret);
    if (tile_arena::thread() == 0) shared[0] = adj_ret.own_grad(0);
    tile_arena::wait();
    tile_each<Tile::Shape::size>([&](int i) { adj_tile.add_own(i, shared[0]); });
}
}
//@ tile_scanned tile_scan_inclusive tile_scan_max_inclusive tile_scan_min_inclusive
namespace wp {
// One after the other, in the order of the elements.
template <class F, class Tile> WP_INLINE auto tile_scanned(F f, const Tile& tile) {
    using T = typename Tile::Type;
    auto staged = tile_stage(tile);
    if (tile_arena::thread() == 0)
        for (int i = 1; i < Tile::Shape::size; ++i) staged[i] = f(staged[i - 1], staged[i]);
    tile_arena::wait();
    return tile_values<T, typename Tile::Shape>([&](int i) { return staged[i]; });
}
}
//@ tile_scan_inclusive
namespace wp {
template <class Tile> WP_INLINE auto tile_scan_inclusive(const Tile& tile) {
    return tile_scanned([](const auto& a, const auto& b) { return add(a, b); }, tile);
}
}
//@ tile_scan_max_inclusive
namespace wp {
template <class Tile> WP_INLINE auto tile_scan_max_inclusive(const Tile& tile) {
    return tile_scanned([](const auto& a, const auto& b) { return max(a, b); }, tile);
}
}
//@ tile_scan_min_inclusive
namespace wp {
template <class Tile> WP_INLINE auto tile_scan_min_inclusive(const Tile& tile) {
    return tile_scanned([](const auto& a, const auto& b) { return min(a, b); }, tile);
}
}
//@ tile_scan_exclusive
namespace wp {
template <class Tile> WP_INLINE auto tile_scan_exclusive(const Tile& tile) {
    using T = typename Tile::Type;
    auto staged = tile_stage(tile);
    if (tile_arena::thread() == 0) {
        T sum{};
        for (int i = 0; i < Tile::Shape::size; ++i) {
            const T next = add(sum, staged[i]);
            staged[i] = sum;
            sum = next;
        }
    }
    tile_arena::wait();
    return tile_values<T, typename Tile::Shape>([&](int i) { return staged[i]; });
}
}
//@ tile_sort
namespace wp {
// Sorts keys, the least first, and values along with them, by a bitonic network: equal keys come as the host's
// network leaves them. Places beyond the last key come last.
template <class Keys, class Values> WP_INLINE void tile_sort(Keys& keys, Values& values) {
    constexpr int count = Keys::Shape::size;
    static_assert(count <= 32768, "tile_sort of more than 32768 keys");
    int whole = 1;
    while (whole < count) whole *= 2;
    tile_scratch<unsigned short> order(whole);
    for (int i = tile_arena::thread(); i < whole; i += WP_TILE_BLOCK_DIM) order[i] = static_cast<unsigned short>(i);
    {
        auto staged = tile_stage(keys);
        const auto less = [&](int a, int b) { return a < count && (b >= count || staged[a] < staged[b]); };
        for (int run = 2; run <= whole; run *= 2) {
            for (int step = run / 2; step > 0; step /= 2) {
                for (int i = tile_arena::thread(); i < whole; i += WP_TILE_BLOCK_DIM) {
                    const int other = i ^ step;
                    if (other < i) continue;
                    const unsigned short a = order[i], b = order[other];
                    if ((i & run) ? less(a, b) : less(b, a)) {
                        order[i] = b;
                        order[other] = a;
                    }
                }
                tile_arena::wait();
            }
        }
        tile_each<count>([&](int i) { keys.own(i) = staged[order[i]]; });
        tile_arena::wait();
    }
    auto staged = tile_stage(values);
    tile_each<count>([&](int i) { values.own(i) = staged[order[i]]; });
    tile_arena::wait();
}
}
//@ tile_fourier tile_fft tile_ifft adj_tile_fft adj_tile_ifft
namespace wp {
// Each row of pairs becomes its transform, without a factor: radix 2, its turns in double precision.
template <bool Inverse, class Tile> WP_INLINE void tile_fourier(Tile& tile) {
    using T = typename Tile::Type;
    using S = typename T::scalar_t;
    using Shape = typename Tile::Shape;
    constexpr int size = Shape::size, length = Shape::dim(Shape::rank - 1);
    tile_scratch<T> pairs(size);
    tile_each<size>([&](int i) {
        int from = i % length, to = 0;
        for (int bit = 1; bit < length; bit *= 2, from /= 2) to = 2 * to + from % 2;
        pairs[i - i % length + to] = tile.own(i);
    });
    tile_arena::wait();
    for (int half = 1; half < length; half *= 2) {
        tile_each<size / 2>([&](int i) {
            const int row = i / (length / 2), at = i % (length / 2), k = at % half;
            const int first = row * length + (at - k) * 2 + k;
            double sine, cosine;
            ::sincos((Inverse ? 3.14159265358979323846 : -3.14159265358979323846) * k / half, &sine, &cosine);
            const T a = pairs[first], b = pairs[first + half];
            const S c = S(cosine), s = S(sine);
            const S re = b.c[0] * c - b.c[1] * s, im = b.c[0] * s + b.c[1] * c;
            pairs[first] = T(a.c[0] + re, a.c[1] + im);
            pairs[first + half] = T(a.c[0] - re, a.c[1] - im);
        });
        tile_arena::wait();
    }
    tile_each<size>([&](int i) { tile.own(i) = pairs[i]; });
}
}
//@ tile_fft
#define tile_fft(a, b, element, bytes, batch, per_thread, tile) wp::tile_fourier<false>(tile)
//@ tile_ifft
#define tile_ifft(a, b, element, bytes, batch, per_thread, tile) wp::tile_fourier<true>(tile)
// Without a factor, each is the transposed and conjugated matrix of the other.
//@ adj_tile_fft
#define adj_tile_fft(a, b, element, bytes, batch, per_thread, tile, c, d, e, f, g, h, adj) wp::tile_fourier<true>(adj)
//@ adj_tile_ifft
#define adj_tile_ifft(a, b, element, bytes, batch, per_thread, tile, c, d, e, f, g, h, adj) wp::tile_fourier<false>(adj)
