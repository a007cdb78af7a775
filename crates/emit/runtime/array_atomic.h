// Atomic operations on the elements of arrays, and their adjoints.
//@ WP_ATOMIC_ARRAY
#define WP_ATOMIC_ARRAY(NAME)                                                                                                          \
    namespace wp {                                                                                                                     \
    template <class T> WP_INLINE T NAME(const array_t<T>& a, int64 i, const T& x) { return NAME(address(a, i), x); }                   \
    template <class T> WP_INLINE T NAME(const array_t<T>& a, int64 i, int64 j, const T& x) { return NAME(address(a, i, j), x); }       \
    template <class T> WP_INLINE T NAME(const array_t<T>& a, int64 i, int64 j, int64 k, const T& x) {                                  \
        return NAME(address(a, i, j, k), x);                                                                                           \
    }                                                                                                                                  \
    template <class T> WP_INLINE T NAME(const array_t<T>& a, int64 i, int64 j, int64 k, int64 l, const T& x) {                         \
        return NAME(address(a, i, j, k, l), x);                                                                                        \
    }                                                                                                                                  \
    }
//@ atomic_add | array_t
WP_ATOMIC_ARRAY(atomic_add)
//@ atomic_sub | array_t
WP_ATOMIC_ARRAY(atomic_sub)
//@ atomic_min | array_t
WP_ATOMIC_ARRAY(atomic_min)
//@ atomic_max | array_t
WP_ATOMIC_ARRAY(atomic_max)
//@ atomic_and | array_t
WP_ATOMIC_ARRAY(atomic_and)
//@ atomic_or | array_t
WP_ATOMIC_ARRAY(atomic_or)
//@ atomic_xor | array_t
WP_ATOMIC_ARRAY(atomic_xor)
//@ atomic_exch | array_t
WP_ATOMIC_ARRAY(atomic_exch)
//@ atomic_cas | array_t
namespace wp {
template <class T> WP_INLINE T atomic_cas(T* p, const T& expected, const T& x) {
    return atomic_update(p, [&](T old) { return old == expected ? x : old; });
}
template <class T> WP_INLINE T atomic_cas(const array_t<T>& a, int64 i, const T& expected, const T& x) { return atomic_cas(address(a, i), expected, x); }
template <class T> WP_INLINE T atomic_cas(const array_t<T>& a, int64 i, int64 j, const T& expected, const T& x) {
    return atomic_cas(address(a, i, j), expected, x);
}
template <class T> WP_INLINE T atomic_cas(const array_t<T>& a, int64 i, int64 j, int64 k, const T& expected, const T& x) {
    return atomic_cas(address(a, i, j, k), expected, x);
}
template <class T> WP_INLINE T atomic_cas(const array_t<T>& a, int64 i, int64 j, int64 k, int64 l, const T& expected, const T& x) {
    return atomic_cas(address(a, i, j, k, l), expected, x);
}
}
//@ WP_ADJ_ATOMIC_ARRAY
// `g` is the element's gradient; BODY may also use the element `a`, the value `x` and `adj_x`.
#define WP_ADJ_ATOMIC_ARRAY(NAME, BODY)                                                                                                       \
    namespace wp {                                                                                                                            \
    template <class A, class T> WP_INLINE void NAME(const A& arr, int64 i, const T& x, const A& adj, int64, T& adj_x, const T&) {             \
        BODY(address(arr, i), grad_address(arr, adj, i), x, adj_x);                                                                           \
    }                                                                                                                                         \
    template <class A, class T>                                                                                                               \
    WP_INLINE void NAME(const A& arr, int64 i, int64 j, const T& x, const A& adj, int64, int64, T& adj_x, const T&) {                         \
        BODY(address(arr, i, j), grad_address(arr, adj, i, j), x, adj_x);                                                                     \
    }                                                                                                                                         \
    template <class A, class T>                                                                                                               \
    WP_INLINE void NAME(const A& arr, int64 i, int64 j, int64 k, const T& x, const A& adj, int64, int64, int64, T& adj_x, const T&) {         \
        BODY(address(arr, i, j, k), grad_address(arr, adj, i, j, k), x, adj_x);                                                               \
    }                                                                                                                                         \
    template <class A, class T>                                                                                                               \
    WP_INLINE void NAME(const A& arr, int64 i, int64 j, int64 k, int64 l, const T& x, const A& adj, int64, int64, int64, int64, T& adj_x,     \
                        const T&) {                                                                                                           \
        BODY(address(arr, i, j, k, l), grad_address(arr, adj, i, j, k, l), x, adj_x);                                                         \
    }                                                                                                                                         \
    }
//@ add_stored_grad adj_atomic_add
namespace wp {
template <class T> WP_INLINE void add_stored_grad(const T*, const T* g, const T&, T& adj_x) {
    if (g) adj_x += *g;
}
}
//@ adj_atomic_add | array_t
WP_ADJ_ATOMIC_ARRAY(adj_atomic_add, add_stored_grad)
//@ sub_stored_grad adj_atomic_sub
namespace wp {
template <class T> WP_INLINE void sub_stored_grad(const T*, const T* g, const T&, T& adj_x) {
    if (g) adj_x -= *g;
}
}
//@ adj_atomic_sub | array_t
WP_ADJ_ATOMIC_ARRAY(adj_atomic_sub, sub_stored_grad)
//@ select_stored_grad adj_atomic_min adj_atomic_max
namespace wp {
// The gradient of an extreme goes to every value that equals it.
template <class T> WP_INLINE void select_stored_grad(const T* a, const T* g, const T& x, T& adj_x) {
    if (!g) return;
    if constexpr (__is_class(T) && !is_real<T>::value) {
        for (int i = 0; i < T::components; ++i) select_stored_grad(&(*a)[i], &(*g)[i], x[i], adj_x[i]);
    } else {
        if (*a == x) adj_x += *g;
    }
}
}
//@ adj_atomic_min | array_t
WP_ADJ_ATOMIC_ARRAY(adj_atomic_min, select_stored_grad)
//@ adj_atomic_max | array_t
WP_ADJ_ATOMIC_ARRAY(adj_atomic_max, select_stored_grad)
