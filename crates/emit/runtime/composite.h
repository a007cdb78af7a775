// What vectors, matrices, quaternions and transforms share: they name their scalar `scalar_t`,
// count their `components`, and give each by `operator[]`. Everything here is component by component.
//@ scalar_t
namespace wp {
template <class V, class = typename V::scalar_t> WP_INLINE V& operator+=(V& a, const V& b) {
    for (int i = 0; i < V::components; ++i) a[i] += b[i];
    return a;
}
template <class V, class = typename V::scalar_t> WP_INLINE V& operator-=(V& a, const V& b) {
    for (int i = 0; i < V::components; ++i) a[i] -= b[i];
    return a;
}
template <class V, class = typename V::scalar_t> WP_INLINE V operator+(V a, const V& b) { return a += b; }
template <class V, class = typename V::scalar_t> WP_INLINE V operator-(V a, const V& b) { return a -= b; }
template <class V, class = typename V::scalar_t> WP_INLINE V operator-(V a) {
    for (int i = 0; i < V::components; ++i) a[i] = -a[i];
    return a;
}
template <class V> WP_INLINE V operator*(V a, typename V::scalar_t s) {
    for (int i = 0; i < V::components; ++i) a[i] = a[i] * s;
    return a;
}
template <class V> WP_INLINE V operator*(typename V::scalar_t s, const V& a) { return a * s; }
template <class V> WP_INLINE V operator/(V a, typename V::scalar_t s) {
    for (int i = 0; i < V::components; ++i) a[i] = a[i] / s;
    return a;
}
template <class V> WP_INLINE V operator/(typename V::scalar_t s, V a) {
    for (int i = 0; i < V::components; ++i) a[i] = s / a[i];
    return a;
}
template <class V, class = typename V::scalar_t> WP_INLINE bool operator==(const V& a, const V& b) {
    for (int i = 0; i < V::components; ++i)
        if (!(a[i] == b[i])) return false;
    return true;
}
template <class V, class = typename V::scalar_t> WP_INLINE bool operator!=(const V& a, const V& b) { return !(a == b); }
// The sum of the products of matching components.
template <class V> WP_INLINE typename V::scalar_t inner(const V& a, const V& b) {
    typename V::scalar_t sum = a[0] * b[0];
    for (int i = 1; i < V::components; ++i) sum += a[i] * b[i];
    return sum;
}
// A negative index counts from the end.
WP_INLINE int from_end(int i, int n) { return i < 0 ? i + n : i; }
}
//@ initializer_array
namespace wp {
template <int N, class T> struct initializer_array {
    T values[N < 1 ? 1 : N];
    WP_INLINE const T& operator[](int i) const { return values[i]; }
};
}
//@ adj_mul | scalar_t
namespace wp {
template <class V>
WP_INLINE void adj_mul(const V& a, const typename V::scalar_t& s, V& adj_a, typename V::scalar_t& adj_s, const V& adj_ret) {
    adj_a += adj_ret * s;
    adj_s += inner(a, adj_ret);
}
template <class V>
WP_INLINE void adj_mul(const typename V::scalar_t& s, const V& a, typename V::scalar_t& adj_s, V& adj_a, const V& adj_ret) {
    adj_mul(a, s, adj_a, adj_s, adj_ret);
}
}
//@ adj_div | scalar_t
namespace wp {
template <class V>
WP_INLINE void adj_div(const V& a, const typename V::scalar_t& s, V& adj_a, typename V::scalar_t& adj_s, const V& adj_ret) {
    if constexpr (is_real<typename V::scalar_t>::value) {
        adj_a += adj_ret / s;
        adj_s -= inner(a, adj_ret) / (s * s);
    }
}
template <class V>
WP_INLINE void adj_div(const typename V::scalar_t& s, const V& a, typename V::scalar_t& adj_s, V& adj_a, const V& adj_ret) {
    if constexpr (is_real<typename V::scalar_t>::value) {
        for (int i = 0; i < V::components; ++i) {
            adj_s += adj_ret[i] / a[i];
            adj_a[i] -= s * adj_ret[i] / (a[i] * a[i]);
        }
    }
}
}
//@ cw_mul
namespace wp {
template <class V> WP_INLINE V cw_mul(V a, const V& b) {
    for (int i = 0; i < V::components; ++i) a[i] = a[i] * b[i];
    return a;
}
}
//@ adj_cw_mul
namespace wp {
template <class V> WP_INLINE void adj_cw_mul(const V& a, const V& b, V& adj_a, V& adj_b, const V& adj_ret) {
    for (int i = 0; i < V::components; ++i) {
        adj_a[i] += b[i] * adj_ret[i];
        adj_b[i] += a[i] * adj_ret[i];
    }
}
}
//@ cw_div
namespace wp {
template <class V> WP_INLINE V cw_div(V a, const V& b) {
    for (int i = 0; i < V::components; ++i) a[i] = a[i] / b[i];
    return a;
}
}
//@ adj_cw_div
namespace wp {
template <class V>
WP_INLINE void adj_cw_div(const V&, const V& b, const V& ret, V& adj_a, V& adj_b, const V& adj_ret) {
    if constexpr (is_real<typename V::scalar_t>::value) {
        for (int i = 0; i < V::components; ++i) {
            adj_a[i] += adj_ret[i] / b[i];
            adj_b[i] -= adj_ret[i] * ret[i] / b[i];
        }
    }
}
}
//@ adj_lerp | scalar_t
namespace wp {
template <class V>
WP_INLINE void adj_lerp(const V& a, const V& b, const typename V::scalar_t& t, V& adj_a, V& adj_b, typename V::scalar_t& adj_t, const V& adj_ret) {
    adj_a += adj_ret * (typename V::scalar_t(1) - t);
    adj_b += adj_ret * t;
    adj_t += inner(b - a, adj_ret);
}
}
//@ WP_COMPONENTWISE
#define WP_COMPONENTWISE(NAME, ...)                                                                  \
    namespace wp {                                                                                   \
    template <class V, class = typename V::scalar_t> WP_INLINE V NAME(const V& a, const V& b) {      \
        V r;                                                                                         \
        for (int i = 0; i < V::components; ++i) r[i] = static_cast<typename V::scalar_t>(__VA_ARGS__); \
        return r;                                                                                    \
    }                                                                                                \
    }
//@ bit_and | scalar_t
WP_COMPONENTWISE(operator&, a[i] & b[i])
//@ bit_or | scalar_t
WP_COMPONENTWISE(operator|, a[i] | b[i])
//@ bit_xor | scalar_t
WP_COMPONENTWISE(operator^, a[i] ^ b[i])
//@ lshift | scalar_t
WP_COMPONENTWISE(operator<<, a[i] << b[i])
//@ rshift | scalar_t
WP_COMPONENTWISE(operator>>, a[i] >> b[i])
//@ invert | scalar_t
namespace wp {
template <class V, class = typename V::scalar_t> WP_INLINE V operator~(V a) {
    for (int i = 0; i < V::components; ++i) a[i] = typename V::scalar_t(~a[i]);
    return a;
}
}
