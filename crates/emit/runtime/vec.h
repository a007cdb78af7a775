// Vectors of any length and scalar type.
//@ vec_t
namespace wp {
template <int N, class T> struct vec_t {
    using scalar_t = T;
    enum { components = N };
    T c[N < 1 ? 1 : N];
    vec_t() = default;
    explicit WP_INLINE vec_t(const T& fill) {
        for (int i = 0; i < N; ++i) c[i] = fill;
    }
    WP_INLINE vec_t(const T& x, const T& y) : c{x, y} {}
    WP_INLINE vec_t(const T& x, const T& y, const T& z) : c{x, y, z} {}
    WP_INLINE vec_t(const T& x, const T& y, const T& z, const T& w) : c{x, y, z, w} {}
    WP_INLINE vec_t(const initializer_array<N, T>& values) {
        for (int i = 0; i < N; ++i) c[i] = values[i];
    }
    // A twist or wrench from its two halves.
    WP_INLINE vec_t(const vec_t<3, T>& top, const vec_t<3, T>& bottom) {
        for (int i = 0; i < 3; ++i) { c[i] = top.c[i]; c[i + 3] = bottom.c[i]; }
    }
    template <class U> explicit WP_INLINE vec_t(const vec_t<N, U>& other) {
        for (int i = 0; i < N; ++i) c[i] = static_cast<T>(other.c[i]);
    }
    WP_INLINE T& operator[](int i) { return c[i]; }
    WP_INLINE const T& operator[](int i) const { return c[i]; }
    WP_INLINE T& component_ref(int i) { return c[from_end(i, N)]; }
};
}
//@ vec2f
namespace wp {
using vec2f = vec_t<2, float>;
}
//@ vec2d
namespace wp {
using vec2d = vec_t<2, double>;
}
//@ adj_vec_t
namespace wp {
template <int N, class T> WP_INLINE void adj_vec_t(const T&, T& adj_fill, const vec_t<N, T>& adj_ret) {
    for (int i = 0; i < N; ++i) adj_fill += adj_ret.c[i];
}
template <class T> WP_INLINE void adj_vec_t(const T&, const T&, T& adj_x, T& adj_y, const vec_t<2, T>& adj_ret) {
    adj_x += adj_ret.c[0];
    adj_y += adj_ret.c[1];
}
template <class T>
WP_INLINE void adj_vec_t(const T&, const T&, const T&, T& adj_x, T& adj_y, T& adj_z, const vec_t<3, T>& adj_ret) {
    adj_x += adj_ret.c[0];
    adj_y += adj_ret.c[1];
    adj_z += adj_ret.c[2];
}
template <class T>
WP_INLINE void adj_vec_t(const T&, const T&, const T&, const T&, T& adj_x, T& adj_y, T& adj_z, T& adj_w, const vec_t<4, T>& adj_ret) {
    adj_x += adj_ret.c[0];
    adj_y += adj_ret.c[1];
    adj_z += adj_ret.c[2];
    adj_w += adj_ret.c[3];
}
template <int N, class T>
WP_INLINE void adj_vec_t(const initializer_array<N, T>&, const initializer_array<N, T*>& adj_values, const vec_t<N, T>& adj_ret) {
    for (int i = 0; i < N; ++i) *adj_values[i] += adj_ret.c[i];
}
template <class T>
WP_INLINE void adj_vec_t(const vec_t<3, T>&, const vec_t<3, T>&, vec_t<3, T>& adj_top, vec_t<3, T>& adj_bottom, const vec_t<6, T>& adj_ret) {
    for (int i = 0; i < 3; ++i) {
        adj_top.c[i] += adj_ret.c[i];
        adj_bottom.c[i] += adj_ret.c[i + 3];
    }
}
template <int N, class T, class U> WP_INLINE void adj_vec_t(const vec_t<N, U>&, vec_t<N, U>& adj_other, const vec_t<N, T>& adj_ret) {
    for (int i = 0; i < N; ++i) adj_other.c[i] += static_cast<U>(adj_ret.c[i]);
}
}
//@ dot
namespace wp {
template <class V> WP_INLINE typename V::scalar_t dot(const V& a, const V& b) { return inner(a, b); }
}
//@ adj_dot
namespace wp {
template <class V> WP_INLINE void adj_dot(const V& a, const V& b, V& adj_a, V& adj_b, const typename V::scalar_t& adj_ret) {
    adj_a += b * adj_ret;
    adj_b += a * adj_ret;
}
}
//@ length_sq
namespace wp {
template <class V> WP_INLINE typename V::scalar_t length_sq(const V& a) { return inner(a, a); }
}
//@ adj_length_sq
namespace wp {
template <class V> WP_INLINE void adj_length_sq(const V& a, V& adj_a, const typename V::scalar_t& adj_ret) {
    adj_a += a * (typename V::scalar_t(2) * adj_ret);
}
}
//@ length
namespace wp {
template <class V> WP_INLINE typename V::scalar_t length(const V& a) { return sqrt(inner(a, a)); }
}
//@ adj_length
namespace wp {
// At the origin the direction is taken as zero.
template <class V>
WP_INLINE void adj_length(const V& a, const typename V::scalar_t& ret, V& adj_a, const typename V::scalar_t& adj_ret) {
    if (ret > typename V::scalar_t(0)) adj_a += a * (adj_ret / ret);
}
}
//@ normalize
namespace wp {
template <class V> WP_INLINE V normalize(const V& a) {
    const auto l = length(a);
    return l > typename V::scalar_t(0) ? a / l : V{};
}
}
//@ adj_normalize
namespace wp {
template <class V> WP_INLINE void adj_normalize(const V& a, const V& ret, V& adj_a, const V& adj_ret) {
    const auto l = length(a);
    if (l > typename V::scalar_t(0)) adj_a += adj_ret / l - ret * (inner(ret, adj_ret) / l);
}
}
//@ cross
namespace wp {
template <class T> WP_INLINE vec_t<3, T> cross(const vec_t<3, T>& a, const vec_t<3, T>& b) {
    return {T(a.c[1] * b.c[2] - a.c[2] * b.c[1]), T(a.c[2] * b.c[0] - a.c[0] * b.c[2]), T(a.c[0] * b.c[1] - a.c[1] * b.c[0])};
}
}
//@ adj_cross
namespace wp {
template <class T>
WP_INLINE void adj_cross(const vec_t<3, T>& a, const vec_t<3, T>& b, vec_t<3, T>& adj_a, vec_t<3, T>& adj_b, const vec_t<3, T>& adj_ret) {
    adj_a += cross(b, adj_ret);
    adj_b += cross(adj_ret, a);
}
}
//@ abs | vec_t
namespace wp {
template <int N, class T> WP_INLINE vec_t<N, T> abs(vec_t<N, T> a) {
    for (int i = 0; i < N; ++i) a.c[i] = abs(a.c[i]);
    return a;
}
}
//@ adj_abs | vec_t
namespace wp {
template <int N, class T> WP_INLINE void adj_abs(const vec_t<N, T>& a, vec_t<N, T>& adj_a, const vec_t<N, T>& adj_ret) {
    for (int i = 0; i < N; ++i) adj_abs(a.c[i], adj_a.c[i], adj_ret.c[i]);
}
}
//@ sign | vec_t
namespace wp {
template <int N, class T> WP_INLINE vec_t<N, T> sign(vec_t<N, T> a) {
    for (int i = 0; i < N; ++i) a.c[i] = sign(a.c[i]);
    return a;
}
}
//@ mod | vec_t
namespace wp {
template <int N, class T> WP_INLINE vec_t<N, T> mod(vec_t<N, T> a, vec_t<N, T> b) {
    for (int i = 0; i < N; ++i) a.c[i] = mod(a.c[i], b.c[i]);
    return a;
}
}
//@ min | vec_t
namespace wp {
template <int N, class T> WP_INLINE vec_t<N, T> min(const vec_t<N, T>& a, const vec_t<N, T>& b) {
    vec_t<N, T> r;
    for (int i = 0; i < N; ++i) r.c[i] = min(a.c[i], b.c[i]);
    return r;
}
template <int N, class T> WP_INLINE T min(const vec_t<N, T>& a) { return a.c[argmin(a)]; }
}
//@ max | vec_t
namespace wp {
template <int N, class T> WP_INLINE vec_t<N, T> max(const vec_t<N, T>& a, const vec_t<N, T>& b) {
    vec_t<N, T> r;
    for (int i = 0; i < N; ++i) r.c[i] = max(a.c[i], b.c[i]);
    return r;
}
template <int N, class T> WP_INLINE T max(const vec_t<N, T>& a) { return a.c[argmax(a)]; }
}
//@ adj_min | vec_t
namespace wp {
template <int N, class T>
WP_INLINE void adj_min(const vec_t<N, T>& a, const vec_t<N, T>& b, vec_t<N, T>& adj_a, vec_t<N, T>& adj_b, const vec_t<N, T>& adj_ret) {
    for (int i = 0; i < N; ++i) adj_min(a.c[i], b.c[i], adj_a.c[i], adj_b.c[i], adj_ret.c[i]);
}
template <int N, class T> WP_INLINE void adj_min(const vec_t<N, T>& a, vec_t<N, T>& adj_a, const T& adj_ret) { adj_a.c[argmin(a)] += adj_ret; }
}
//@ adj_max | vec_t
namespace wp {
template <int N, class T>
WP_INLINE void adj_max(const vec_t<N, T>& a, const vec_t<N, T>& b, vec_t<N, T>& adj_a, vec_t<N, T>& adj_b, const vec_t<N, T>& adj_ret) {
    for (int i = 0; i < N; ++i) adj_max(a.c[i], b.c[i], adj_a.c[i], adj_b.c[i], adj_ret.c[i]);
}
template <int N, class T> WP_INLINE void adj_max(const vec_t<N, T>& a, vec_t<N, T>& adj_a, const T& adj_ret) { adj_a.c[argmax(a)] += adj_ret; }
}
//@ argmin | vec_t
namespace wp {
template <int N, class T> WP_INLINE int argmin(const vec_t<N, T>& a) {
    int best = 0;
    for (int i = 1; i < N; ++i)
        if (a.c[i] < a.c[best]) best = i;
    return best;
}
}
//@ argmax | vec_t
namespace wp {
template <int N, class T> WP_INLINE int argmax(const vec_t<N, T>& a) {
    int best = 0;
    for (int i = 1; i < N; ++i)
        if (a.c[i] > a.c[best]) best = i;
    return best;
}
}
