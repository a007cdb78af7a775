// Matrices, stored row by row.
//@ mat_t
namespace wp {
template <int R, int C, class T> struct mat_t {
    using scalar_t = T;
    using row_t = vec_t<C, T>;
    enum { components = R * C, rows = R, columns = C };
    T c[R * C];
    mat_t() = default;
    explicit WP_INLINE mat_t(const T& fill) {
        for (int i = 0; i < R * C; ++i) c[i] = fill;
    }
    WP_INLINE mat_t(const T& a, const T& b, const T& d, const T& e) : c{a, b, d, e} {}
    WP_INLINE mat_t(const T& m00, const T& m01, const T& m02, const T& m10, const T& m11, const T& m12, const T& m20, const T& m21, const T& m22)
        : c{m00, m01, m02, m10, m11, m12, m20, m21, m22} {}
    WP_INLINE mat_t(const T& m00, const T& m01, const T& m02, const T& m03, const T& m10, const T& m11, const T& m12, const T& m13,
                    const T& m20, const T& m21, const T& m22, const T& m23, const T& m30, const T& m31, const T& m32, const T& m33)
        : c{m00, m01, m02, m03, m10, m11, m12, m13, m20, m21, m22, m23, m30, m31, m32, m33} {}
    WP_INLINE mat_t(const initializer_array<R * C, T>& values) {
        for (int i = 0; i < R * C; ++i) c[i] = values[i];
    }
    template <class U> explicit WP_INLINE mat_t(const mat_t<R, C, U>& other) {
        for (int i = 0; i < R * C; ++i) c[i] = static_cast<T>(other.c[i]);
    }
    WP_INLINE T& operator[](int i) { return c[i]; }
    WP_INLINE const T& operator[](int i) const { return c[i]; }
    WP_INLINE T& at(int i, int j) { return c[i * C + j]; }
    WP_INLINE const T& at(int i, int j) const { return c[i * C + j]; }
    WP_INLINE T& element_ref(int i, int j) { return c[from_end(i, R) * C + from_end(j, C)]; }
    WP_INLINE vec_t<C, T>& row_ref(int i) { return reinterpret_cast<vec_t<C, T>&>(c[from_end(i, R) * C]); }
};
}
//@ adj_mat_t
namespace wp {
template <int R, int C, class T> WP_INLINE void adj_mat_t(const T&, T& adj_fill, const mat_t<R, C, T>& adj_ret) {
    for (int i = 0; i < R * C; ++i) adj_fill += adj_ret.c[i];
}
template <class T>
WP_INLINE void adj_mat_t(const T&, const T&, const T&, const T&, T& a0, T& a1, T& a2, T& a3, const mat_t<2, 2, T>& adj_ret) {
    T* const adj[] = {&a0, &a1, &a2, &a3};
    for (int i = 0; i < 4; ++i) *adj[i] += adj_ret.c[i];
}
template <class T>
WP_INLINE void adj_mat_t(const T&, const T&, const T&, const T&, const T&, const T&, const T&, const T&, const T&,
                         T& a0, T& a1, T& a2, T& a3, T& a4, T& a5, T& a6, T& a7, T& a8, const mat_t<3, 3, T>& adj_ret) {
    T* const adj[] = {&a0, &a1, &a2, &a3, &a4, &a5, &a6, &a7, &a8};
    for (int i = 0; i < 9; ++i) *adj[i] += adj_ret.c[i];
}
template <class T>
WP_INLINE void adj_mat_t(const T&, const T&, const T&, const T&, const T&, const T&, const T&, const T&,
                         const T&, const T&, const T&, const T&, const T&, const T&, const T&, const T&,
                         T& a0, T& a1, T& a2, T& a3, T& a4, T& a5, T& a6, T& a7, T& a8, T& a9, T& a10, T& a11, T& a12, T& a13, T& a14, T& a15,
                         const mat_t<4, 4, T>& adj_ret) {
    T* const adj[] = {&a0, &a1, &a2, &a3, &a4, &a5, &a6, &a7, &a8, &a9, &a10, &a11, &a12, &a13, &a14, &a15};
    for (int i = 0; i < 16; ++i) *adj[i] += adj_ret.c[i];
}
template <int R, int C, class T>
WP_INLINE void adj_mat_t(const initializer_array<R * C, T>&, const initializer_array<R * C, T*>& adj_values, const mat_t<R, C, T>& adj_ret) {
    for (int i = 0; i < R * C; ++i) *adj_values[i] += adj_ret.c[i];
}
template <int R, int C, class T, class U>
WP_INLINE void adj_mat_t(const mat_t<R, C, U>&, mat_t<R, C, U>& adj_other, const mat_t<R, C, T>& adj_ret) {
    for (int i = 0; i < R * C; ++i) adj_other.c[i] += static_cast<U>(adj_ret.c[i]);
}
}
//@ matrix_from_rows
namespace wp {
template <int R, int C, class T> WP_INLINE mat_t<R, C, T> matrix_from_rows(const initializer_array<R, vec_t<C, T>>& rows) {
    mat_t<R, C, T> m;
    for (int i = 0; i < R; ++i)
        for (int j = 0; j < C; ++j) m.at(i, j) = rows[i].c[j];
    return m;
}
template <class T> WP_INLINE mat_t<2, 2, T> matrix_from_rows(const vec_t<2, T>& a, const vec_t<2, T>& b) { return matrix_from_rows<2, 2, T>({a, b}); }
template <class T> WP_INLINE mat_t<3, 3, T> matrix_from_rows(const vec_t<3, T>& a, const vec_t<3, T>& b, const vec_t<3, T>& c) {
    return matrix_from_rows<3, 3, T>({a, b, c});
}
template <class T> WP_INLINE mat_t<4, 4, T> matrix_from_rows(const vec_t<4, T>& a, const vec_t<4, T>& b, const vec_t<4, T>& c, const vec_t<4, T>& d) {
    return matrix_from_rows<4, 4, T>({a, b, c, d});
}
}
//@ adj_matrix_from_rows
namespace wp {
template <int R, int C, class T>
WP_INLINE void adj_matrix_from_rows(const initializer_array<R, vec_t<C, T>>&, const initializer_array<R, vec_t<C, T>*>& adj_rows, const mat_t<R, C, T>& adj_ret) {
    for (int i = 0; i < R; ++i)
        for (int j = 0; j < C; ++j) adj_rows[i]->c[j] += adj_ret.at(i, j);
}
template <class T>
WP_INLINE void adj_matrix_from_rows(const vec_t<2, T>& a, const vec_t<2, T>& b, vec_t<2, T>& adj_a, vec_t<2, T>& adj_b, const mat_t<2, 2, T>& adj_ret) {
    adj_matrix_from_rows<2, 2, T>({a, b}, {&adj_a, &adj_b}, adj_ret);
}
template <class T>
WP_INLINE void adj_matrix_from_rows(const vec_t<3, T>& a, const vec_t<3, T>& b, const vec_t<3, T>& c, vec_t<3, T>& adj_a, vec_t<3, T>& adj_b,
                                    vec_t<3, T>& adj_c, const mat_t<3, 3, T>& adj_ret) {
    adj_matrix_from_rows<3, 3, T>({a, b, c}, {&adj_a, &adj_b, &adj_c}, adj_ret);
}
template <class T>
WP_INLINE void adj_matrix_from_rows(const vec_t<4, T>& a, const vec_t<4, T>& b, const vec_t<4, T>& c, const vec_t<4, T>& d, vec_t<4, T>& adj_a,
                                    vec_t<4, T>& adj_b, vec_t<4, T>& adj_c, vec_t<4, T>& adj_d, const mat_t<4, 4, T>& adj_ret) {
    adj_matrix_from_rows<4, 4, T>({a, b, c, d}, {&adj_a, &adj_b, &adj_c, &adj_d}, adj_ret);
}
}
//@ matrix_from_cols
namespace wp {
template <int R, int C, class T> WP_INLINE mat_t<R, C, T> matrix_from_cols(const initializer_array<C, vec_t<R, T>>& cols) {
    mat_t<R, C, T> m;
    for (int i = 0; i < R; ++i)
        for (int j = 0; j < C; ++j) m.at(i, j) = cols[j].c[i];
    return m;
}
template <class T> WP_INLINE mat_t<2, 2, T> matrix_from_cols(const vec_t<2, T>& a, const vec_t<2, T>& b) { return matrix_from_cols<2, 2, T>({a, b}); }
template <class T> WP_INLINE mat_t<3, 3, T> matrix_from_cols(const vec_t<3, T>& a, const vec_t<3, T>& b, const vec_t<3, T>& c) {
    return matrix_from_cols<3, 3, T>({a, b, c});
}
template <class T> WP_INLINE mat_t<4, 4, T> matrix_from_cols(const vec_t<4, T>& a, const vec_t<4, T>& b, const vec_t<4, T>& c, const vec_t<4, T>& d) {
    return matrix_from_cols<4, 4, T>({a, b, c, d});
}
}
//@ adj_matrix_from_cols
namespace wp {
template <int R, int C, class T>
WP_INLINE void adj_matrix_from_cols(const initializer_array<C, vec_t<R, T>>&, const initializer_array<C, vec_t<R, T>*>& adj_cols, const mat_t<R, C, T>& adj_ret) {
    for (int i = 0; i < R; ++i)
        for (int j = 0; j < C; ++j) adj_cols[j]->c[i] += adj_ret.at(i, j);
}
template <class T>
WP_INLINE void adj_matrix_from_cols(const vec_t<2, T>& a, const vec_t<2, T>& b, vec_t<2, T>& adj_a, vec_t<2, T>& adj_b, const mat_t<2, 2, T>& adj_ret) {
    adj_matrix_from_cols<2, 2, T>({a, b}, {&adj_a, &adj_b}, adj_ret);
}
template <class T>
WP_INLINE void adj_matrix_from_cols(const vec_t<3, T>& a, const vec_t<3, T>& b, const vec_t<3, T>& c, vec_t<3, T>& adj_a, vec_t<3, T>& adj_b,
                                    vec_t<3, T>& adj_c, const mat_t<3, 3, T>& adj_ret) {
    adj_matrix_from_cols<3, 3, T>({a, b, c}, {&adj_a, &adj_b, &adj_c}, adj_ret);
}
template <class T>
WP_INLINE void adj_matrix_from_cols(const vec_t<4, T>& a, const vec_t<4, T>& b, const vec_t<4, T>& c, const vec_t<4, T>& d, vec_t<4, T>& adj_a,
                                    vec_t<4, T>& adj_b, vec_t<4, T>& adj_c, vec_t<4, T>& adj_d, const mat_t<4, 4, T>& adj_ret) {
    adj_matrix_from_cols<4, 4, T>({a, b, c, d}, {&adj_a, &adj_b, &adj_c, &adj_d}, adj_ret);
}
}
//@ mul_add
namespace wp {
// Rounded once in 32 and 64 bits: products of matrices have the interpreter's bits, however products and sums are compiled.
template <class T> WP_INLINE T mul_add(const T& a, const T& b, const T& c) { return c + a * b; }
WP_INLINE float mul_add(float a, float b, float c) { return ::fmaf(a, b, c); }
WP_INLINE double mul_add(double a, double b, double c) { return ::fma(a, b, c); }
}
//@ mul | mat_t
namespace wp {
template <int R, int K, int C, class T> WP_INLINE mat_t<R, C, T> mul(const mat_t<R, K, T>& a, const mat_t<K, C, T>& b) {
    mat_t<R, C, T> m;
    for (int i = 0; i < R; ++i)
        for (int j = 0; j < C; ++j) {
            T sum(0);
            for (int k = 0; k < K; ++k) sum = mul_add(a.at(i, k), b.at(k, j), sum);
            m.at(i, j) = sum;
        }
    return m;
}
template <int R, int C, class T> WP_INLINE vec_t<R, T> mul(const mat_t<R, C, T>& a, const vec_t<C, T>& x) {
    vec_t<R, T> r;
    for (int i = 0; i < R; ++i) {
        T sum = a.at(i, 0) * x.c[0];
        for (int j = 1; j < C; ++j) sum += a.at(i, j) * x.c[j];
        r.c[i] = sum;
    }
    return r;
}
template <int R, int C, class T> WP_INLINE vec_t<C, T> mul(const vec_t<R, T>& x, const mat_t<R, C, T>& a) {
    vec_t<C, T> r;
    for (int j = 0; j < C; ++j) {
        T sum = x.c[0] * a.at(0, j);
        for (int i = 1; i < R; ++i) sum += x.c[i] * a.at(i, j);
        r.c[j] = sum;
    }
    return r;
}
}
//@ adj_mul | mat_t
namespace wp {
template <int R, int K, int C, class T>
WP_INLINE void adj_mul(const mat_t<R, K, T>& a, const mat_t<K, C, T>& b, mat_t<R, K, T>& adj_a, mat_t<K, C, T>& adj_b, const mat_t<R, C, T>& adj_ret) {
    for (int i = 0; i < R; ++i)
        for (int k = 0; k < K; ++k) {
            T sum(0);
            for (int j = 0; j < C; ++j) sum = mul_add(adj_ret.at(i, j), b.at(k, j), sum);
            adj_a.at(i, k) += sum;
        }
    for (int k = 0; k < K; ++k)
        for (int j = 0; j < C; ++j) {
            T sum(0);
            for (int i = 0; i < R; ++i) sum = mul_add(a.at(i, k), adj_ret.at(i, j), sum);
            adj_b.at(k, j) += sum;
        }
}
template <int R, int C, class T>
WP_INLINE void adj_mul(const mat_t<R, C, T>& a, const vec_t<C, T>& x, mat_t<R, C, T>& adj_a, vec_t<C, T>& adj_x, const vec_t<R, T>& adj_ret) {
    for (int j = 0; j < C; ++j) {
        T sum = a.at(0, j) * adj_ret.c[0];
        for (int i = 1; i < R; ++i) sum += a.at(i, j) * adj_ret.c[i];
        for (int i = 0; i < R; ++i) adj_a.at(i, j) += adj_ret.c[i] * x.c[j];
        adj_x.c[j] += sum;
    }
}
template <int R, int C, class T>
WP_INLINE void adj_mul(const vec_t<R, T>& x, const mat_t<R, C, T>& a, vec_t<R, T>& adj_x, mat_t<R, C, T>& adj_a, const vec_t<C, T>& adj_ret) {
    for (int i = 0; i < R; ++i) {
        T sum = a.at(i, 0) * adj_ret.c[0];
        for (int j = 1; j < C; ++j) sum += a.at(i, j) * adj_ret.c[j];
        for (int j = 0; j < C; ++j) adj_a.at(i, j) += x.c[i] * adj_ret.c[j];
        adj_x.c[i] += sum;
    }
}
}
//@ ddot
namespace wp {
template <class M> WP_INLINE typename M::scalar_t ddot(const M& a, const M& b) {
    typename M::scalar_t sum(0);
    for (int i = 0; i < M::components; ++i) sum = mul_add(a.c[i], b.c[i], sum);
    return sum;
}
}
//@ adj_ddot
namespace wp {
template <class M> WP_INLINE void adj_ddot(const M& a, const M& b, M& adj_a, M& adj_b, const typename M::scalar_t& adj_ret) {
    adj_a += b * adj_ret;
    adj_b += a * adj_ret;
}
}
//@ transpose
namespace wp {
template <int R, int C, class T> WP_INLINE mat_t<C, R, T> transpose(const mat_t<R, C, T>& m) {
    mat_t<C, R, T> t;
    for (int i = 0; i < R; ++i)
        for (int j = 0; j < C; ++j) t.at(j, i) = m.at(i, j);
    return t;
}
}
//@ adj_transpose
namespace wp {
template <int R, int C, class T> WP_INLINE void adj_transpose(const mat_t<R, C, T>&, mat_t<R, C, T>& adj_m, const mat_t<C, R, T>& adj_ret) {
    for (int i = 0; i < R; ++i)
        for (int j = 0; j < C; ++j) adj_m.at(i, j) += adj_ret.at(j, i);
}
}
//@ identity
namespace wp {
template <int N, class T> WP_INLINE mat_t<N, N, T> identity() {
    mat_t<N, N, T> m(T(0));
    for (int i = 0; i < N; ++i) m.at(i, i) = T(1);
    return m;
}
}
//@ trace
namespace wp {
template <int N, class T> WP_INLINE T trace(const mat_t<N, N, T>& m) {
    T sum = m.at(0, 0);
    for (int i = 1; i < N; ++i) sum += m.at(i, i);
    return sum;
}
}
//@ adj_trace
namespace wp {
template <int N, class T> WP_INLINE void adj_trace(const mat_t<N, N, T>&, mat_t<N, N, T>& adj_m, const T& adj_ret) {
    for (int i = 0; i < N; ++i) adj_m.at(i, i) += adj_ret;
}
}
//@ diag
namespace wp {
template <int N, class T> WP_INLINE mat_t<N, N, T> diag(const vec_t<N, T>& v) {
    mat_t<N, N, T> m(T(0));
    for (int i = 0; i < N; ++i) m.at(i, i) = v.c[i];
    return m;
}
}
//@ adj_diag
namespace wp {
template <int N, class T> WP_INLINE void adj_diag(const vec_t<N, T>&, vec_t<N, T>& adj_v, const mat_t<N, N, T>& adj_ret) {
    for (int i = 0; i < N; ++i) adj_v.c[i] += adj_ret.at(i, i);
}
}
//@ get_diag
namespace wp {
template <int N, class T> WP_INLINE vec_t<N, T> get_diag(const mat_t<N, N, T>& m) {
    vec_t<N, T> v;
    for (int i = 0; i < N; ++i) v.c[i] = m.at(i, i);
    return v;
}
}
//@ adj_get_diag
namespace wp {
template <int N, class T> WP_INLINE void adj_get_diag(const mat_t<N, N, T>&, mat_t<N, N, T>& adj_m, const vec_t<N, T>& adj_ret) {
    for (int i = 0; i < N; ++i) adj_m.at(i, i) += adj_ret.c[i];
}
}
//@ outer
namespace wp {
template <int R, int C, class T> WP_INLINE mat_t<R, C, T> outer(const vec_t<R, T>& a, const vec_t<C, T>& b) {
    mat_t<R, C, T> m;
    for (int i = 0; i < R; ++i)
        for (int j = 0; j < C; ++j) m.at(i, j) = a.c[i] * b.c[j];
    return m;
}
}
//@ adj_outer
namespace wp {
template <int R, int C, class T>
WP_INLINE void adj_outer(const vec_t<R, T>& a, const vec_t<C, T>& b, vec_t<R, T>& adj_a, vec_t<C, T>& adj_b, const mat_t<R, C, T>& adj_ret) {
    for (int i = 0; i < R; ++i)
        for (int j = 0; j < C; ++j) {
            adj_a.c[i] += adj_ret.at(i, j) * b.c[j];
            adj_b.c[j] += adj_ret.at(i, j) * a.c[i];
        }
}
}
//@ skew
namespace wp {
template <class T> WP_INLINE mat_t<3, 3, T> skew(const vec_t<3, T>& a) {
    return {T(0), T(-a.c[2]), a.c[1], a.c[2], T(0), T(-a.c[0]), T(-a.c[1]), a.c[0], T(0)};
}
}
//@ adj_skew
namespace wp {
template <class T> WP_INLINE void adj_skew(const vec_t<3, T>&, vec_t<3, T>& adj_a, const mat_t<3, 3, T>& g) {
    adj_a.c[0] += g.at(2, 1) - g.at(1, 2);
    adj_a.c[1] += g.at(0, 2) - g.at(2, 0);
    adj_a.c[2] += g.at(1, 0) - g.at(0, 1);
}
}
//@ cofactors
namespace wp {
// The matrix of cofactors: the gradient of the determinant, and its transpose over it the inverse.
template <class T> WP_INLINE mat_t<2, 2, T> cofactors(const mat_t<2, 2, T>& m) { return {m.c[3], -m.c[2], -m.c[1], m.c[0]}; }
template <class T> WP_INLINE mat_t<3, 3, T> cofactors(const mat_t<3, 3, T>& m) {
    mat_t<3, 3, T> f;
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j) {
            const int a = (i + 1) % 3, b = (i + 2) % 3, c = (j + 1) % 3, d = (j + 2) % 3;
            f.at(i, j) = m.at(a, c) * m.at(b, d) - m.at(a, d) * m.at(b, c);
        }
    return f;
}
// Of 4 × 4 matrices they are added in doubles, but for 16 bits; those of the first two columns are rounded then.
template <class T> struct cofactor_of { using type = T; };
template <> struct cofactor_of<float> { using type = double; };
template <class T> WP_INLINE mat_t<4, 4, typename cofactor_of<T>::type> cofactors(const mat_t<4, 4, T>& m) {
    using W = typename cofactor_of<T>::type;
    mat_t<4, 4, W> f;
    for (int j = 0; j < 4; ++j) {
        // Determinants of two rows in the columns of the other half.
        const int c = j < 2 ? 2 : 0;
        W y[4][4];
        for (int p = 0; p < 4; ++p)
            for (int q = p + 1; q < 4; ++q) y[p][q] = W(m.at(p, c) * m.at(q, c + 1) - m.at(q, c) * m.at(p, c + 1));
        W x[4];
        for (int i = 0; i < 4; ++i) x[i] = W(m.at(i, j ^ 1));
        if (j % 2 == 0) {
            f.at(0, j) = x[1] * y[2][3] - x[2] * y[1][3] + x[3] * y[1][2];
            f.at(1, j) = x[2] * y[0][3] - x[3] * y[0][2] - x[0] * y[2][3];
            f.at(2, j) = x[0] * y[1][3] - x[1] * y[0][3] + x[3] * y[0][1];
            f.at(3, j) = x[1] * y[0][2] - x[2] * y[0][1] - x[0] * y[1][2];
        } else {
            f.at(0, j) = x[2] * y[1][3] - x[3] * y[1][2] - x[1] * y[2][3];
            f.at(1, j) = x[0] * y[2][3] - x[2] * y[0][3] + x[3] * y[0][2];
            f.at(2, j) = x[1] * y[0][3] - x[3] * y[0][1] - x[0] * y[1][3];
            f.at(3, j) = x[0] * y[1][2] - x[1] * y[0][2] + x[2] * y[0][1];
        }
        if (j < 2)
            for (int i = 0; i < 4; ++i) f.at(i, j) = W(T(f.at(i, j)));
    }
    return f;
}
}
//@ determinant
namespace wp {
template <int N, class T> WP_INLINE T determinant(const mat_t<N, N, T>& m) {
    const mat_t<N, N, T> f = cofactors(m);
    T sum = m.c[0] * f.c[0];
    for (int j = 1; j < N; ++j) sum += m.c[j] * f.c[j];
    return sum;
}
template <class T> WP_INLINE T determinant(const mat_t<4, 4, T>& m) {
    const auto f = cofactors(m);
    T sum = m.at(3, 0) * T(f.at(3, 0));
    for (int i = 2; i >= 0; --i) sum += m.at(i, 0) * T(f.at(i, 0));
    return sum;
}
}
//@ adj_determinant
namespace wp {
template <int N, class T> WP_INLINE void adj_determinant(const mat_t<N, N, T>& m, mat_t<N, N, T>& adj_m, const T& adj_ret) {
    adj_m += cofactors(m) * adj_ret;
}
template <class T> WP_INLINE void adj_determinant(const mat_t<4, 4, T>& m, mat_t<4, 4, T>& adj_m, const T& adj_ret) {
    const auto f = cofactors(m);
    for (int i = 0; i < 16; ++i) adj_m.c[i] += i % 4 < 2 ? T(T(f.c[i]) * adj_ret) : T(f.c[i] * adj_ret);
}
}
//@ inverse
namespace wp {
// A singular matrix has the zero matrix for its inverse.
template <int N, class T> WP_INLINE mat_t<N, N, T> inverse(const mat_t<N, N, T>& m) {
    const T d = determinant(m);
    if (N == 2 ? !(d > T(0)) && !(d < T(0)) : d == T(0)) return mat_t<N, N, T>{};
    return transpose(cofactors(m)) * (T(1) / d);
}
template <class T> WP_INLINE mat_t<4, 4, T> inverse(const mat_t<4, 4, T>& m) {
    const T d = determinant(m);
    if (!(d > T(0)) && !(d < T(0))) return mat_t<4, 4, T>{};
    const auto f = cofactors(m);
    const double over = 1.0 / double(d);
    mat_t<4, 4, T> r;
    for (int i = 0; i < 4; ++i)
        for (int j = 0; j < 4; ++j) r.at(i, j) = T(double(f.at(j, i)) * over);
    return r;
}
}
//@ adj_inverse
namespace wp {
// d(M^-1) = -M^-1 dM M^-1.
template <int N, class T>
WP_INLINE void adj_inverse(const mat_t<N, N, T>&, const mat_t<N, N, T>& ret, mat_t<N, N, T>& adj_m, const mat_t<N, N, T>& adj_ret) {
    const mat_t<N, N, T> t = transpose(ret);
    adj_m -= mul(mul(t, adj_ret), t);
}
}
//@ approx_inverse
namespace wp {
template <int N, class T> WP_INLINE mat_t<N, N, T> approx_inverse(const mat_t<N, N, T>& m) { return inverse(m); }
}
//@ adj_approx_inverse
namespace wp {
template <int N, class T>
WP_INLINE void adj_approx_inverse(const mat_t<N, N, T>& m, const mat_t<N, N, T>& ret, mat_t<N, N, T>& adj_m, const mat_t<N, N, T>& adj_ret) {
    adj_inverse(m, ret, adj_m, adj_ret);
}
}
