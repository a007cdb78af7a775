// Tiles as matrices: products, Cholesky factors, triangular systems.
//@ tile_column_count
namespace wp {
// A vector is one column.
template <class Shape> WP_INLINE constexpr int tile_column_count() { return Shape::rank == 1 ? 1 : Shape::dim(1); }
}
//@ tile_matmul_acc tile_matmul
namespace wp {
// c becomes alpha a b + beta c; terms are added one after the other, in the precision of c.
template <class F, class A, class B, class C, class S>
WP_INLINE void tile_matmul_acc(F, F, F, const A& a, const B& b, C& c, const S& alpha, const S& beta) {
    using T = typename C::Type;
    auto left = tile_stage(a);
    auto right = tile_stage(b);
    constexpr int terms = A::Shape::dim(1), columns = B::Shape::dim(1);
    tile_each<C::Shape::size>([&](int i) {
        T sum = T(0);
        for (int k = 0; k < terms; ++k) sum = mul_add(T(left.at(i / columns, k)), T(right.at(k, i % columns)), sum);
        sum = T(alpha) * sum;
        if (beta != S(0)) sum = sum + T(beta) * c.own(i);
        c.own(i) = sum;
    });
    tile_arena::wait();
}
}
//@ tile_matmul
namespace wp {
template <class F, class A, class B, class C, class S>
WP_INLINE C& tile_matmul(F f, F g, F h, const A& a, const B& b, C& c, const S& alpha, const S& beta) {
    tile_matmul_acc(f, g, h, a, b, c, alpha, beta);
    return c;
}
}
//@ tile_product_grad adj_tile_matmul_acc adj_tile_matmul
namespace wp {
template <class A, class B, class C, class S> WP_INLINE void tile_product_grad(const A& a, const B& b, const S& alpha, A& adj_a, B& adj_b, C& adj_c) {
    using T = typename C::Type;
    auto left = tile_stage(a);
    auto right = tile_stage(b);
    constexpr int rows = A::Shape::dim(0), terms = A::Shape::dim(1), columns = B::Shape::dim(1);
    tile_scratch<T> given(C::Shape::size);
    tile_settle(adj_c);
    tile_each<C::Shape::size>([&](int i) { given[i] = adj_c.own_grad(i); });
    tile_arena::wait();
    tile_each<A::Shape::size>([&](int i) {
        T sum = T(0);
        for (int j = 0; j < columns; ++j) sum = mul_add(given[i / terms * columns + j], T(right.at(i % terms, j)), sum);
        adj_a.add_own(i, typename A::Type(T(alpha) * sum));
    });
    // Both may be views of one tile.
    tile_arena::wait();
    tile_each<B::Shape::size>([&](int i) {
        T sum = T(0);
        for (int j = 0; j < rows; ++j) sum = mul_add(T(left.at(j, i / columns)), given[j * columns + i % columns], sum);
        adj_b.add_own(i, typename B::Type(T(alpha) * sum));
    });
}
}
//@ adj_tile_matmul_acc
namespace wp {
template <class F, class A, class B, class C, class S>
WP_INLINE void adj_tile_matmul_acc(F, F, F, const A& a, const B& b, const C&, const S& alpha, const S& beta, F, F, F, A& adj_a, B& adj_b, C& adj_c, S&, S&) {
    tile_product_grad(a, b, alpha, adj_a, adj_b, adj_c);
    tile_each<C::Shape::size>([&](int i) { adj_c.own_grad(i) = typename C::Type(beta) * adj_c.own_grad(i); });
    tile_arena::wait();
}
}
//@ adj_tile_matmul
namespace wp {
template <class F, class A, class B, class C, class S>
WP_INLINE void adj_tile_matmul(F, F, F, const A& a, const B& b, const C&, const S& alpha, const S&, F, F, F, A& adj_a, B& adj_b, C& adj_c, S&, S&, C&) {
    tile_product_grad(a, b, alpha, adj_a, adj_b, adj_c);
}
}
//@ tile_diag_add
namespace wp {
template <class A, class D, class Out> WP_INLINE Out& tile_diag_add(const A& a, const D& d, Out& out) {
    constexpr int n = A::Shape::dim(0);
    out.assign(a);
    auto diagonal = tile_stage(d);
    tile_each<n>([&](int i) { out.at(i, i) = add(out.at(i, i), diagonal[i]); });
    tile_arena::wait();
    return out;
}
}
//@ tile_cholesky
namespace wp {
// The factor of a symmetric matrix, of which one triangle is read; the other triangle is zero.
template <bool Upper, class F, class A, class L> WP_INLINE L& tile_cholesky(F, F, F, const A& a, L& l) {
    using T = typename L::Type;
    constexpr int n = A::Shape::dim(0);
    auto in = tile_stage(a);
    const auto given = [&](int i, int j) { return Upper ? in.at(j, i) : in.at(i, j); };
    const auto factor = [&](int i, int j) -> T& { return Upper ? l.at(j, i) : l.at(i, j); };
    tile_each<n * n>([&](int i) {
        if (i / n < i % n) factor(i / n, i % n) = T(0);
    });
    const int thread = tile_arena::thread();
    for (int j = 0; j < n; ++j) {
        if (thread == 0) {
            T pivot = given(j, j);
            for (int k = 0; k < j; ++k) pivot = pivot - factor(j, k) * factor(j, k);
            factor(j, j) = sqrt(pivot);
        }
        tile_arena::wait();
        for (int i = j + 1 + thread; i < n; i += WP_TILE_BLOCK_DIM) {
            T sum = given(i, j);
            for (int k = 0; k < j; ++k) sum = sum - factor(i, k) * factor(j, k);
            factor(i, j) = sum / factor(j, j);
        }
        tile_arena::wait();
    }
    return l;
}
}
//@ tile_cholesky_inplace
namespace wp {
template <bool Upper, class F, class A> WP_INLINE void tile_cholesky_inplace(F f, A& a) { tile_cholesky<Upper>(f, f, f, a, a); }
}
//@ tile_substitute
namespace wp {
// Solves with a triangle, in place: one thread to a column. `matrix` and `x` give an element.
template <bool Backwards, int N, class M, class X> WP_INLINE void tile_substitute(int columns, M matrix, X x) {
    for (int c = tile_arena::thread(); c < columns; c += WP_TILE_BLOCK_DIM) {
        for (int n = 0; n < N; ++n) {
            const int i = Backwards ? N - 1 - n : n;
            auto sum = x(i, c);
            for (int m = 0; m < n; ++m) {
                const int j = Backwards ? i + 1 + m : m;
                sum = sum - matrix(i, j) * x(j, c);
            }
            x(i, c) = sum / matrix(i, i);
        }
    }
    tile_arena::wait();
}
// The element of a vector or of a matrix.
template <class T, class L, bool Owner> WP_INLINE T& tile_cell(const tile_shared_t<T, L, Owner>& tile, int i, int c) {
    return tile.data[L::offset(L::Shape::rank == 1 ? tile_place{{i}} : tile_place{{i, c}})];
}
}
//@ tile_lower_solve_inplace
namespace wp {
template <class F, class L, class X> WP_INLINE void tile_lower_solve_inplace(F, const L& l, X& x) {
    tile_arena::wait();
    tile_substitute<false, L::Shape::dim(0)>(tile_column_count<typename X::Shape>(), [&](int i, int j) { return l.at(i, j); }, [&](int i, int c) -> auto& { return tile_cell(x, i, c); });
}
}
//@ tile_upper_solve_inplace
namespace wp {
template <class F, class L, class X> WP_INLINE void tile_upper_solve_inplace(F, const L& l, X& x) {
    tile_arena::wait();
    tile_substitute<true, L::Shape::dim(0)>(tile_column_count<typename X::Shape>(), [&](int i, int j) { return l.at(i, j); }, [&](int i, int c) -> auto& { return tile_cell(x, i, c); });
}
}
//@ tile_lower_solve
namespace wp {
template <class F, class L, class Y, class X> WP_INLINE X& tile_lower_solve(F, F, const L& l, const Y& y, X& x) {
    x.assign(y);
    tile_substitute<false, L::Shape::dim(0)>(tile_column_count<typename X::Shape>(), [&](int i, int j) { return l.at(i, j); }, [&](int i, int c) -> auto& { return tile_cell(x, i, c); });
    return x;
}
}
//@ tile_upper_solve
namespace wp {
template <class F, class L, class Y, class X> WP_INLINE X& tile_upper_solve(F, const L& l, const Y& y, X& x) {
    x.assign(y);
    tile_substitute<true, L::Shape::dim(0)>(tile_column_count<typename X::Shape>(), [&](int i, int j) { return l.at(i, j); }, [&](int i, int c) -> auto& { return tile_cell(x, i, c); });
    return x;
}
}
//@ tile_cholesky_solve
namespace wp {
template <bool Upper, class F, class L, class Y, class X> WP_INLINE X& tile_cholesky_solve(F, const L& l, const Y& y, X& x) {
    constexpr int n = L::Shape::dim(0);
    const int columns = tile_column_count<typename X::Shape>();
    const auto lower = [&](int i, int j) { return Upper ? l.at(j, i) : l.at(i, j); };
    const auto upper = [&](int i, int j) { return Upper ? l.at(i, j) : l.at(j, i); };
    const auto cell = [&](int i, int c) -> auto& { return tile_cell(x, i, c); };
    x.assign(y);
    tile_substitute<false, n>(columns, lower, cell);
    tile_substitute<true, n>(columns, upper, cell);
    return x;
}
}
