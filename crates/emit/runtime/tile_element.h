// Tiles element by element: functions and operators.
//@ tile_argument
namespace wp {
// What an argument gives for one element: a tile its own, anything else itself.
template <class T, class L> WP_INLINE const T& tile_argument(const tile_register_t<T, L>& a, int i) { return a.own(i); }
template <class A> WP_INLINE const A& tile_argument(const A& a, ...) { return a; }
}
//@ tile_argument | tile_shared_t
namespace wp {
template <class T, class L, bool Owner> WP_INLINE const T& tile_argument(const tile_shared_t<T, L, Owner>& a, int i) { return a.own(i); }
}
//@ tile_argument_grad
namespace wp {
template <class T, class L> WP_INLINE void tile_argument_grad(tile_register_t<T, L>& adj, int i, const T& share) { adj.add_own(i, share); }
template <class A> WP_INLINE void tile_argument_grad(A& adj, int, const A& share) { adj += share; }
}
//@ tile_argument_grad | tile_shared_t
namespace wp {
template <class T, class L, bool Owner> WP_INLINE void tile_argument_grad(tile_shared_t<T, L, Owner>& adj, int i, const T& share) { adj.add_own(i, share); }
}
//@ tile_shape_among
namespace wp {
// The shape of the first tile among arguments.
template <class A, class... Rest> struct tile_shape_among {
    using type = typename tile_shape_among<Rest...>::type;
};
template <class T, class L, class... Rest> struct tile_shape_among<tile_register_t<T, L>, Rest...> {
    using type = typename L::Shape;
};
}
//@ tile_shape_among | tile_shared_t
namespace wp {
template <class T, class L, bool Owner, class... Rest> struct tile_shape_among<tile_shared_t<T, L, Owner>, Rest...> {
    using type = typename L::Shape;
};
}
//@ tile_map tile_binary_map tile_unary_map
namespace wp {
template <class F, class... A> WP_INLINE auto tile_map(F f, const A&... arguments) {
    using Shape = typename tile_shape_among<A...>::type;
    using T = decltype(f(tile_argument(arguments, 0)...));
    (tile_settle(arguments), ...);
    return tile_values<T, Shape>([&](int i) { return f(tile_argument(arguments, i)...); });
}
// Macros, because the function may be the name of overloads.
#define tile_binary_map(f, a, b) tile_map([](const auto& x, const auto& y) { return f(x, y); }, a, b)
#define tile_unary_map(f, a) tile_map([](const auto& x) { return f(x); }, a)
}
//@ tile_shares
namespace wp {
// Arguments may be views of one tile, in which other threads have the same elements: each gets its share in a turn
// of its own. The forward function is not called.
template <class A, class R, class F> WP_INLINE void tile_shares(A& adj, R& adj_ret, F share) {
    tile_each<R::Shape::size>([&](int i) { tile_argument_grad(adj, i, share(i, adj_ret.own_grad(i))); });
    tile_arena::wait();
}
}
//@ adj_tile_map adj_tile_binary_map adj_tile_unary_map
namespace wp {
template <class T> struct tile_plain { using type = T; };
template <class T> struct tile_plain<const T&> { using type = T; };
template <class A> using tile_share = typename tile_plain<decltype(tile_argument(*static_cast<const A*>(nullptr), 0))>::type;
template <class F, class A, class G, class R> WP_INLINE void adj_tile_map(F, const A& a, G g, A& adj_a, R& adj_ret) {
    tile_settle(adj_ret);
    tile_shares(adj_a, adj_ret, [&](int i, auto ret) {
        tile_share<A> x{}, va = tile_argument(a, i);
        g(va, x, ret);
        return x;
    });
}
template <class F, class A, class B, class G, class R>
WP_INLINE void adj_tile_map(F, const A& a, const B& b, G g, A& adj_a, B& adj_b, R& adj_ret) {
    const auto shares = [&](int i, auto ret, tile_share<A>& x, tile_share<B>& y) {
        tile_share<A> va = tile_argument(a, i);
        tile_share<B> vb = tile_argument(b, i);
        x = {};
        y = {};
        g(va, vb, x, y, ret);
    };
    tile_share<A> x;
    tile_share<B> y;
    tile_settle(adj_ret);
    tile_shares(adj_a, adj_ret, [&](int i, auto ret) { shares(i, ret, x, y); return x; });
    tile_shares(adj_b, adj_ret, [&](int i, auto ret) { shares(i, ret, x, y); return y; });
}
template <class F, class A, class B, class C, class G, class R>
WP_INLINE void adj_tile_map(F, const A& a, const B& b, const C& c, G g, A& adj_a, B& adj_b, C& adj_c, R& adj_ret) {
    const auto shares = [&](int i, auto ret, tile_share<A>& x, tile_share<B>& y, tile_share<C>& z) {
        tile_share<A> va = tile_argument(a, i);
        tile_share<B> vb = tile_argument(b, i);
        tile_share<C> vc = tile_argument(c, i);
        x = {};
        y = {};
        z = {};
        g(va, vb, vc, x, y, z, ret);
    };
    tile_share<A> x;
    tile_share<B> y;
    tile_share<C> z;
    tile_settle(adj_ret);
    tile_shares(adj_a, adj_ret, [&](int i, auto ret) { shares(i, ret, x, y, z); return x; });
    tile_shares(adj_b, adj_ret, [&](int i, auto ret) { shares(i, ret, x, y, z); return y; });
    tile_shares(adj_c, adj_ret, [&](int i, auto ret) { shares(i, ret, x, y, z); return z; });
}
#define adj_tile_binary_map(f, a, b, adj_f, adj_a, adj_b, adj_ret)                                                      \
    adj_tile_map(0, a, b, [](auto& x, auto& y, auto& adj_x, auto& adj_y, auto& g) { adj_f(x, y, adj_x, adj_y, g); }, adj_a, adj_b, adj_ret)
#define adj_tile_unary_map(f, a, adj_f, adj_a, adj_ret) \
    adj_tile_map(0, a, [](auto& x, auto& adj_x, auto& g) { adj_f(x, adj_x, g); }, adj_a, adj_ret)
}
//@ tile_add
namespace wp {
template <class A, class B> WP_INLINE auto tile_add(const A& a, const B& b) {
    return tile_map([](const auto& x, const auto& y) { return add(x, y); }, a, b);
}
}
//@ adj_tile_add
namespace wp {
template <class A, class B, class R> WP_INLINE void adj_tile_add(const A&, const B&, A& adj_a, B& adj_b, R& adj_ret) {
    tile_settle(adj_ret);
    tile_shares(adj_a, adj_ret, [](int, const auto& g) { return g; });
    tile_shares(adj_b, adj_ret, [](int, const auto& g) { return g; });
}
}
//@ tile_sub
namespace wp {
template <class A, class B> WP_INLINE auto tile_sub(const A& a, const B& b) {
    return tile_map([](const auto& x, const auto& y) { return sub(x, y); }, a, b);
}
}
//@ adj_tile_sub
namespace wp {
template <class A, class B, class R> WP_INLINE void adj_tile_sub(const A&, const B&, A& adj_a, B& adj_b, R& adj_ret) {
    using T = typename R::Type;
    tile_settle(adj_ret);
    tile_shares(adj_a, adj_ret, [](int, const auto& g) { return g; });
    tile_shares(adj_b, adj_ret, [](int, const auto& g) { return T(-g); });
}
}
//@ tile_mul
namespace wp {
template <class A, class B> WP_INLINE auto tile_mul(const A& a, const B& b) {
    return tile_map([](const auto& x, const auto& y) { return mul(x, y); }, a, b);
}
}
//@ adj_tile_mul
namespace wp {
template <class A, class B, class R> WP_INLINE void adj_tile_mul(const A& a, const B& b, A& adj_a, B& adj_b, R& adj_ret) {
    adj_tile_map([](const auto&, const auto&) {}, a, b, [](const auto& x, const auto& y, auto& adj_x, auto& adj_y, const auto& g) { adj_mul(x, y, adj_x, adj_y, g); }, adj_a, adj_b, adj_ret);
}
}
//@ tile_add_inplace
namespace wp {
template <class A, class B> WP_INLINE void tile_add_inplace(A& a, const B& b) {
    tile_settle(a);
    tile_settle(b);
    tile_each<A::Shape::size>([&](int i) { a.own(i) = add(a.own(i), tile_argument(b, i)); });
    tile_arena::wait();
}
}
//@ adj_tile_add_inplace
namespace wp {
template <class A, class B> WP_INLINE void adj_tile_add_inplace(const A&, const B&, A& adj_a, B& adj_b) {
    using T = typename A::Type;
    tile_settle(adj_a);
    // A copy first: one may be a view of the other.
    const auto given = tile_values<T, typename A::Shape>([&](int i) { return adj_a.own_grad(i); });
    tile_settle(adj_a);
    tile_each<A::Shape::size>([&](int i) { tile_argument_grad(adj_b, i, given.own(i)); });
    tile_arena::wait();
}
}
//@ tile_add_inplace tile_sub_inplace | tile_shared_t
namespace wp {
// One element, to which every thread adds its value.
template <class T, class L, bool Owner> WP_INLINE void tile_add_at(tile_shared_t<T, L, Owner>& tile, const tile_place& place, const T& value) {
    tile_arena::wait();
    atomic_add(&tile.data[L::offset(place)], value);
    tile_arena::wait();
}
}
//@ tile_add_inplace | tile_shared_t
namespace wp {
template <class T, class L, bool Owner> WP_INLINE void tile_add_inplace(tile_shared_t<T, L, Owner>& tile, int x, const T& value) { tile_add_at(tile, {{x}}, value); }
template <class T, class L, bool Owner> WP_INLINE void tile_add_inplace(tile_shared_t<T, L, Owner>& tile, int x, int y, const T& value) {
    tile_add_at(tile, {{x, y}}, value);
}
}
//@ adj_tile_add_inplace | tile_shared_t
namespace wp {
template <class T, class L, bool Owner>
WP_INLINE void adj_tile_add_inplace(const tile_shared_t<T, L, Owner>&, int x, const T&, tile_shared_t<T, L, Owner>& adj, int, T& adj_value) {
    if (adj.grad != nullptr) adj_value += adj.grad[L::offset(tile_place{{x}})];
}
template <class T, class L, bool Owner>
WP_INLINE void adj_tile_add_inplace(const tile_shared_t<T, L, Owner>&, int x, int y, const T&, tile_shared_t<T, L, Owner>& adj, int, int, T& adj_value) {
    if (adj.grad != nullptr) adj_value += adj.grad[L::offset(tile_place{{x, y}})];
}
}
//@ tile_sub_inplace | tile_shared_t
namespace wp {
template <class T, class L, bool Owner> WP_INLINE void tile_sub_inplace(tile_shared_t<T, L, Owner>& tile, int x, const T& value) { tile_add_at(tile, {{x}}, T(-value)); }
template <class T, class L, bool Owner> WP_INLINE void tile_sub_inplace(tile_shared_t<T, L, Owner>& tile, int x, int y, const T& value) {
    tile_add_at(tile, {{x, y}}, T(-value));
}
}
//@ adj_tile_sub_inplace | tile_shared_t
namespace wp {
template <class T, class L, bool Owner>
WP_INLINE void adj_tile_sub_inplace(const tile_shared_t<T, L, Owner>&, int x, const T&, tile_shared_t<T, L, Owner>& adj, int, T& adj_value) {
    if (adj.grad != nullptr) adj_value += T(-adj.grad[L::offset(tile_place{{x}})]);
}
template <class T, class L, bool Owner>
WP_INLINE void adj_tile_sub_inplace(const tile_shared_t<T, L, Owner>&, int x, int y, const T&, tile_shared_t<T, L, Owner>& adj, int, int, T& adj_value) {
    if (adj.grad != nullptr) adj_value += T(-adj.grad[L::offset(tile_place{{x, y}})]);
}
}
//@ adj_tile_sub_inplace
namespace wp {
template <class A, class B> WP_INLINE void adj_tile_sub_inplace(const A&, const B&, A& adj_a, B& adj_b) {
    using T = typename A::Type;
    tile_settle(adj_a);
    // A copy first: one may be a view of the other.
    const auto given = tile_values<T, typename A::Shape>([&](int i) { return T(-adj_a.own_grad(i)); });
    tile_settle(adj_a);
    tile_each<A::Shape::size>([&](int i) { tile_argument_grad(adj_b, i, given.own(i)); });
    tile_arena::wait();
}
}
//@ tile_sub_inplace
namespace wp {
template <class A, class B> WP_INLINE void tile_sub_inplace(A& a, const B& b) {
    tile_settle(a);
    tile_settle(b);
    tile_each<A::Shape::size>([&](int i) { a.own(i) = sub(a.own(i), tile_argument(b, i)); });
    tile_arena::wait();
}
}
//@ tile_mul_elementwise
namespace wp {
template <class A, class B> WP_INLINE auto tile_mul_elementwise(const A& a, const B& b) { return tile_mul(a, b); }
}
//@ adj_tile_mul_elementwise
namespace wp {
template <class A, class B, class R> WP_INLINE void adj_tile_mul_elementwise(const A& a, const B& b, A& adj_a, B& adj_b, R& adj_ret) {
    adj_tile_mul(a, b, adj_a, adj_b, adj_ret);
}
}
//@ tile_div tile_div_elementwise
namespace wp {
template <class A, class B> WP_INLINE auto tile_div(const A& a, const B& b) {
    return tile_map([](const auto& x, const auto& y) { return div(x, y); }, a, b);
}
template <class A, class B> WP_INLINE auto tile_div_elementwise(const A& a, const B& b) { return tile_div(a, b); }
}
//@ adj_tile_div adj_tile_div_elementwise
namespace wp {
template <class T> WP_INLINE void tile_quotient_grad(const T& x, const T& y, T& adj_x, T& adj_y, const T& g) { adj_div(x, y, div(x, y), adj_x, adj_y, g); }
template <class X, class Y, class G> WP_INLINE void tile_quotient_grad(const X& x, const Y& y, X& adj_x, Y& adj_y, const G& g) { adj_div(x, y, adj_x, adj_y, g); }
template <class A, class B, class R> WP_INLINE void adj_tile_div(const A& a, const B& b, A& adj_a, B& adj_b, R& adj_ret) {
    adj_tile_map([](const auto&, const auto&) {}, a, b, [](const auto& x, const auto& y, auto& adj_x, auto& adj_y, const auto& g) { tile_quotient_grad(x, y, adj_x, adj_y, g); }, adj_a, adj_b, adj_ret);
}
template <class A, class B, class R> WP_INLINE void adj_tile_div_elementwise(const A& a, const B& b, A& adj_a, B& adj_b, R& adj_ret) {
    adj_tile_div(a, b, adj_a, adj_b, adj_ret);
}
}
//@ tile_neg
namespace wp {
template <class A> WP_INLINE auto tile_neg(const A& a) {
    return tile_map([](const auto& x) { return neg(x); }, a);
}
}
//@ adj_tile_neg
namespace wp {
template <class A, class R> WP_INLINE void adj_tile_neg(const A&, A& adj_a, R& adj_ret) {
    using T = typename R::Type;
    tile_settle(adj_ret);
    tile_shares(adj_a, adj_ret, [](int, const auto& g) { return T(-g); });
}
}
//@ tile_astype
namespace wp {
template <class Out, class Tile> WP_INLINE auto tile_astype(const Tile& tile) {
    using T = typename Out::Type;
    return tile_map([](const auto& x) { return T(x); }, tile);
}
}
//@ adj_tile_astype
namespace wp {
template <class Tile, class R> WP_INLINE void adj_tile_astype(const Tile&, Tile& adj_tile, R& adj_ret) {
    using T = typename Tile::Type;
    tile_settle(adj_ret);
    tile_shares(adj_tile, adj_ret, [](int, const auto& g) { return T(g); });
}
}
//@ tile_axpy
namespace wp {
template <class S, class X, class Y> WP_INLINE void tile_axpy(const S& a, const X& x, Y& y) {
    tile_settle(x);
    tile_settle(y);
    tile_each<Y::Shape::size>([&](int i) { y.own(i) = add(y.own(i), mul(a, x.own(i))); });
    tile_arena::wait();
}
}
//@ adj_tile_axpy
namespace wp {
template <class S, class X, class Y> WP_INLINE void adj_tile_axpy(const S& a, const X& x, const Y&, S& adj_a, X& adj_x, Y& adj_y) {
    using T = typename X::Type;
    tile_settle(adj_y);
    // Each thread has its part of the factor's gradient.
    const auto given = tile_values<T, typename Y::Shape>([&](int i) { return adj_y.own_grad(i); });
    tile_each<Y::Shape::size>([&](int i) { adj_a += S(given.own(i) * x.own(i)); });
    tile_settle(adj_x);
    tile_each<Y::Shape::size>([&](int i) { adj_x.add_own(i, mul(a, given.own(i))); });
    tile_arena::wait();
}
}
