// Reading and changing parts of small values: a component, an element, a row, a slice.
//
// A part that is overwritten keeps its adjoint: what was read from it before receives the gradient of
// the new value too. That is the contract of the emitted text, which by default supports no
// differentiation through a component that is read and then overwritten.
//@ slice_t
namespace wp {
// Bounds as in Python; a start that was left out is the largest int, an end the smallest.
struct slice_t {
    int start, stop, step;
    slice_t() = default;
    WP_INLINE slice_t(int first, int end, int stride) : start(first), stop(end), step(stride) {}
};
WP_INLINE int slice_bound(int bound, int n, int step) {
    const int lowest = step < 0 ? -1 : 0, highest = step < 0 ? n - 1 : n;
    if (bound < 0) bound = bound < -n ? lowest : bound + n;
    return bound < lowest ? lowest : bound > highest ? highest : bound;
}
WP_INLINE int slice_length(const slice_t& s, int n, int& first) {
    first = s.start == 2147483647 ? (s.step < 0 ? n - 1 : 0) : slice_bound(s.start, n, s.step);
    const int end = s.stop == -2147483647 - 1 ? (s.step < 0 ? -1 : n) : slice_bound(s.stop, n, s.step);
    const int span = s.step < 0 ? first - end : end - first;
    const int stride = s.step < 0 ? -s.step : s.step;
    return span > 0 ? (span + stride - 1) / stride : 0;
}
}
//@ axis_t
namespace wp {
// One index into a matrix: where it starts, and how far a slice moves.
struct axis_t {
    int first, step;
};
WP_INLINE axis_t axis_of(int i, int n) { return {from_end(i, n), 0}; }
}
//@ axis_t | slice_t
namespace wp {
WP_INLINE axis_t axis_of(const slice_t& s, int n) {
    axis_t axis = {0, s.step};
    slice_length(s, n, axis.first);
    return axis;
}
}
//@ extract | scalar_t
namespace wp {
template <class V> WP_INLINE typename V::scalar_t extract(const V& a, int i) { return a[from_end(i, V::components)]; }
}
//@ adj_extract | scalar_t
namespace wp {
template <class V> WP_INLINE void adj_extract(const V&, int i, V& adj_a, int, const typename V::scalar_t& adj_ret) { adj_a.component_ref(i) += adj_ret; }
}
//@ extract | mat_t
namespace wp {
template <int R, int C, class T> WP_INLINE T extract(const mat_t<R, C, T>& m, int i, int j) { return m.at(from_end(i, R), from_end(j, C)); }
template <int R, int C, class T> WP_INLINE vec_t<C, T> extract(const mat_t<R, C, T>& m, int i) {
    vec_t<C, T> row;
    for (int j = 0; j < C; ++j) row.c[j] = m.at(from_end(i, R), j);
    return row;
}
}
//@ adj_extract | mat_t
namespace wp {
template <int R, int C, class T>
WP_INLINE void adj_extract(const mat_t<R, C, T>&, int i, int j, mat_t<R, C, T>& adj_m, int, int, const T& adj_ret) {
    adj_m.element_ref(i, j) += adj_ret;
}
template <int R, int C, class T> WP_INLINE void adj_extract(const mat_t<R, C, T>&, int i, mat_t<R, C, T>& adj_m, int, const vec_t<C, T>& adj_ret) {
    adj_m.row_ref(i) += adj_ret;
}
}
//@ extract | slice_t scalar_t
namespace wp {
template <int L, class V> WP_INLINE vec_t<L, typename V::scalar_t> extract(const V& a, const slice_t& s) {
    const axis_t x = axis_of(s, V::components);
    vec_t<L, typename V::scalar_t> r;
    for (int i = 0; i < L; ++i) r.c[i] = a[x.first + i * x.step];
    return r;
}
}
//@ adj_extract | slice_t scalar_t
namespace wp {
template <class V, int L>
WP_INLINE void adj_extract(const V&, const slice_t& s, V& adj_a, const slice_t&, const vec_t<L, typename V::scalar_t>& adj_ret) {
    const axis_t x = axis_of(s, V::components);
    for (int i = 0; i < L; ++i) adj_a[x.first + i * x.step] += adj_ret.c[i];
}
}
//@ extract | slice_t mat_t
namespace wp {
// A column or part of a row.
template <int L, int R, int C, class T, class I, class J> WP_INLINE vec_t<L, T> extract(const mat_t<R, C, T>& m, const I& i, const J& j) {
    const axis_t x = axis_of(i, R), y = axis_of(j, C);
    vec_t<L, T> r;
    for (int k = 0; k < L; ++k) r.c[k] = m.at(x.first + k * x.step, y.first + k * y.step);
    return r;
}
template <int P, int Q, int R, int C, class T> WP_INLINE mat_t<P, Q, T> extract(const mat_t<R, C, T>& m, const slice_t& i, const slice_t& j) {
    const axis_t x = axis_of(i, R), y = axis_of(j, C);
    mat_t<P, Q, T> r;
    for (int k = 0; k < P; ++k)
        for (int l = 0; l < Q; ++l) r.at(k, l) = m.at(x.first + k * x.step, y.first + l * y.step);
    return r;
}
template <int P, int Q, int R, int C, class T> WP_INLINE mat_t<P, Q, T> extract(const mat_t<R, C, T>& m, const slice_t& i) {
    return extract<P, Q>(m, i, slice_t(0, C, 1));
}
}
//@ adj_extract | slice_t mat_t
namespace wp {
template <int L, int R, int C, class T, class I, class J>
WP_INLINE void adj_extract(const mat_t<R, C, T>&, const I& i, const J& j, mat_t<R, C, T>& adj_m, const I&, const J&, const vec_t<L, T>& adj_ret) {
    const axis_t x = axis_of(i, R), y = axis_of(j, C);
    for (int k = 0; k < L; ++k) adj_m.at(x.first + k * x.step, y.first + k * y.step) += adj_ret.c[k];
}
template <int P, int Q, int R, int C, class T>
WP_INLINE void adj_extract(const mat_t<R, C, T>&, const slice_t& i, const slice_t& j, mat_t<R, C, T>& adj_m, const slice_t&, const slice_t&,
                           const mat_t<P, Q, T>& adj_ret) {
    const axis_t x = axis_of(i, R), y = axis_of(j, C);
    for (int k = 0; k < P; ++k)
        for (int l = 0; l < Q; ++l) adj_m.at(x.first + k * x.step, y.first + l * y.step) += adj_ret.at(k, l);
}
template <int P, int Q, int R, int C, class T>
WP_INLINE void adj_extract(const mat_t<R, C, T>& m, const slice_t& i, mat_t<R, C, T>& adj_m, const slice_t& adj_i, const mat_t<P, Q, T>& adj_ret) {
    const slice_t all(0, C, 1);
    adj_extract(m, i, all, adj_m, adj_i, all, adj_ret);
}
}
//@ indexref | scalar_t
namespace wp {
template <class V> WP_INLINE typename V::scalar_t* indexref(V* a, int i) { return &a->component_ref(i); }
}
//@ indexref | mat_t
namespace wp {
template <int R, int C, class T> WP_INLINE T* indexref(mat_t<R, C, T>* m, int i, int j) { return &m->element_ref(i, j); }
template <int R, int C, class T> WP_INLINE vec_t<C, T>* indexref(mat_t<R, C, T>* m, int i) { return &m->row_ref(i); }
}
//@ WP_INPLACE
// `a[i] OP x` for components, elements and rows.
#define WP_INPLACE(NAME, OP)                                                                                                 \
    namespace wp {                                                                                                           \
    template <class V> WP_INLINE void NAME(V& a, int i, const typename V::scalar_t& x) { a.component_ref(i) OP x; }          \
    template <class M> WP_INLINE void NAME(M& m, int i, int j, const typename M::scalar_t& x) { m.element_ref(i, j) OP x; }  \
    template <class M> WP_INLINE void NAME(M& m, int i, const typename M::row_t& x) { m.row_ref(i) OP x; }                   \
    }
//@ WP_ADJ_INPLACE
#define WP_ADJ_INPLACE(NAME, OP)                                                                                                       \
    namespace wp {                                                                                                                     \
    template <class V> WP_INLINE void NAME(const V&, int i, const typename V::scalar_t&, V& adj_a, int, typename V::scalar_t& adj_x) { \
        adj_x OP adj_a.component_ref(i);                                                                                               \
    }                                                                                                                                  \
    template <class M>                                                                                                                 \
    WP_INLINE void NAME(const M&, int i, int j, const typename M::scalar_t&, M& adj_m, int, int, typename M::scalar_t& adj_x) {        \
        adj_x OP adj_m.element_ref(i, j);                                                                                              \
    }                                                                                                                                  \
    template <class M> WP_INLINE void NAME(const M&, int i, const typename M::row_t&, M& adj_m, int, typename M::row_t& adj_x) {       \
        adj_x OP adj_m.row_ref(i);                                                                                                     \
    }                                                                                                                                  \
    }
//@ WP_INPLACE_SLICE
#define WP_INPLACE_SLICE(NAME, OP)                                                                                                      \
    namespace wp {                                                                                                                      \
    template <int L, class V> WP_INLINE void NAME(V& a, const slice_t& s, const vec_t<L, typename V::scalar_t>& v) {                    \
        const axis_t x = axis_of(s, V::components);                                                                                     \
        for (int i = 0; i < L; ++i) a[x.first + i * x.step] OP v.c[i];                                                                  \
    }                                                                                                                                   \
    template <int L, class M, class I, class J>                                                                                         \
    WP_INLINE void NAME(M& m, const I& i, const J& j, const vec_t<L, typename M::scalar_t>& v) {                                        \
        const axis_t x = axis_of(i, M::rows), y = axis_of(j, M::columns);                                                               \
        for (int k = 0; k < L; ++k) m.at(x.first + k * x.step, y.first + k * y.step) OP v.c[k];                                         \
    }                                                                                                                                   \
    template <int P, int Q, class M, class T> WP_INLINE void NAME(M& m, const slice_t& i, const slice_t& j, const mat_t<P, Q, T>& v) {  \
        const axis_t x = axis_of(i, M::rows), y = axis_of(j, M::columns);                                                               \
        for (int k = 0; k < P; ++k)                                                                                                     \
            for (int l = 0; l < Q; ++l) m.at(x.first + k * x.step, y.first + l * y.step) OP v.at(k, l);                                 \
    }                                                                                                                                   \
    template <int P, int Q, class M, class T> WP_INLINE void NAME(M& m, const slice_t& i, const mat_t<P, Q, T>& v) {                    \
        NAME<P, Q>(m, i, slice_t(0, Q, 1), v);                                                                                          \
    }                                                                                                                                   \
    }
//@ WP_ADJ_INPLACE_SLICE
#define WP_ADJ_INPLACE_SLICE(NAME, OP)                                                                                                       \
    namespace wp {                                                                                                                           \
    template <class V, int L, class T>                                                                                                       \
    WP_INLINE void NAME(const V&, const slice_t& s, const vec_t<L, T>&, V& adj_a, const slice_t&, vec_t<L, T>& adj_x) {                      \
        const axis_t x = axis_of(s, V::components);                                                                                          \
        for (int i = 0; i < L; ++i) adj_x.c[i] OP adj_a[x.first + i * x.step];                                                               \
    }                                                                                                                                        \
    template <class M, class I, class J, int L, class T>                                                                                     \
    WP_INLINE void NAME(const M&, const I& i, const J& j, const vec_t<L, T>&, M& adj_m, const I&, const J&, vec_t<L, T>& adj_x) {            \
        const axis_t x = axis_of(i, M::rows), y = axis_of(j, M::columns);                                                                    \
        for (int k = 0; k < L; ++k) adj_x.c[k] OP adj_m.at(x.first + k * x.step, y.first + k * y.step);                                      \
    }                                                                                                                                        \
    template <class M, int P, int Q, class T>                                                                                                \
    WP_INLINE void NAME(const M&, const slice_t& i, const slice_t& j, const mat_t<P, Q, T>&, M& adj_m, const slice_t&, const slice_t&,       \
                        mat_t<P, Q, T>& adj_x) {                                                                                             \
        const axis_t x = axis_of(i, M::rows), y = axis_of(j, M::columns);                                                                    \
        for (int k = 0; k < P; ++k)                                                                                                          \
            for (int l = 0; l < Q; ++l) adj_x.at(k, l) OP adj_m.at(x.first + k * x.step, y.first + l * y.step);                              \
    }                                                                                                                                        \
    template <class M, int P, int Q, class T>                                                                                                \
    WP_INLINE void NAME(const M& m, const slice_t& i, const mat_t<P, Q, T>& v, M& adj_m, const slice_t& adj_i, mat_t<P, Q, T>& adj_x) {      \
        const slice_t all(0, Q, 1);                                                                                                          \
        NAME(m, i, all, v, adj_m, adj_i, all, adj_x);                                                                                        \
    }                                                                                                                                        \
    }
//@ assign_inplace
WP_INPLACE(assign_inplace, =)
//@ assign_inplace | slice_t
WP_INPLACE_SLICE(assign_inplace, =)
//@ adj_assign_inplace
WP_ADJ_INPLACE(adj_assign_inplace, +=)
//@ adj_assign_inplace | slice_t
WP_ADJ_INPLACE_SLICE(adj_assign_inplace, +=)
//@ add_inplace
WP_INPLACE(add_inplace, +=)
//@ add_inplace | slice_t
WP_INPLACE_SLICE(add_inplace, +=)
//@ adj_add_inplace
WP_ADJ_INPLACE(adj_add_inplace, +=)
//@ adj_add_inplace | slice_t
WP_ADJ_INPLACE_SLICE(adj_add_inplace, +=)
//@ sub_inplace
WP_INPLACE(sub_inplace, -=)
//@ sub_inplace | slice_t
WP_INPLACE_SLICE(sub_inplace, -=)
//@ adj_sub_inplace
WP_ADJ_INPLACE(adj_sub_inplace, -=)
//@ adj_sub_inplace | slice_t
WP_ADJ_INPLACE_SLICE(adj_sub_inplace, -=)
//@ bit_and_inplace
WP_INPLACE(bit_and_inplace, &=)
//@ bit_and_inplace | slice_t
WP_INPLACE_SLICE(bit_and_inplace, &=)
//@ bit_or_inplace
WP_INPLACE(bit_or_inplace, |=)
//@ bit_or_inplace | slice_t
WP_INPLACE_SLICE(bit_or_inplace, |=)
//@ bit_xor_inplace
WP_INPLACE(bit_xor_inplace, ^=)
//@ bit_xor_inplace | slice_t
WP_INPLACE_SLICE(bit_xor_inplace, ^=)
