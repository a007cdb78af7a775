// Atomic operations on array elements; each gives the value before. On the host they are plain
// updates: the host runs the threads one after the other.
//@ atomic_update
namespace wp {
// Replaces the value by `f` of it, whatever other threads do meanwhile.
template <class T, class F> WP_INLINE T atomic_update(T* p, F f) {
#ifdef __CUDACC__
    static_assert(sizeof(T) == 2 || sizeof(T) == 4 || sizeof(T) == 8, "no atomic of this size");
    if constexpr (sizeof(T) == 2) {
        unsigned short seen = *reinterpret_cast<volatile unsigned short*>(p), expected;
        do {
            expected = seen;
            T next = f(reinterpret_cast<T&>(expected));
            seen = ::atomicCAS(reinterpret_cast<unsigned short*>(p), expected, reinterpret_cast<unsigned short&>(next));
        } while (seen != expected);
        return reinterpret_cast<T&>(seen);
    } else if constexpr (sizeof(T) == 4) {
        unsigned seen = *reinterpret_cast<volatile unsigned*>(p), expected;
        do {
            expected = seen;
            T next = f(reinterpret_cast<T&>(expected));
            seen = ::atomicCAS(reinterpret_cast<unsigned*>(p), expected, reinterpret_cast<unsigned&>(next));
        } while (seen != expected);
        return reinterpret_cast<T&>(seen);
    } else {
        unsigned long long seen = *reinterpret_cast<volatile unsigned long long*>(p), expected;
        do {
            expected = seen;
            T next = f(reinterpret_cast<T&>(expected));
            seen = ::atomicCAS(reinterpret_cast<unsigned long long*>(p), expected, reinterpret_cast<unsigned long long&>(next));
        } while (seen != expected);
        return reinterpret_cast<T&>(seen);
    }
#else
    const T old = *p;
    *p = f(old);
    return old;
#endif
}
}
//@ atomic_add atomic_sub
namespace wp {
template <class T> WP_INLINE T atomic_add(T* p, const T& x) {
    if constexpr (__is_class(T)) {
        if constexpr (is_real<T>::value) {
            return atomic_update(p, [&](T old) { return old + x; });
        } else {
            T old;
            for (int i = 0; i < T::components; ++i) old[i] = atomic_add(&(*p)[i], x[i]);
            return old;
        }
    } else {
        return atomic_update(p, [&](T old) { return T(old + x); });
    }
}
#ifdef __CUDACC__
WP_INLINE float atomic_add(float* p, const float& x) { return ::atomicAdd(p, x); }
WP_INLINE double atomic_add(double* p, const double& x) { return ::atomicAdd(p, x); }
WP_INLINE int32 atomic_add(int32* p, const int32& x) { return ::atomicAdd(p, x); }
WP_INLINE uint32 atomic_add(uint32* p, const uint32& x) { return ::atomicAdd(p, x); }
WP_INLINE uint64 atomic_add(uint64* p, const uint64& x) { return ::atomicAdd(p, x); }
WP_INLINE int64 atomic_add(int64* p, const int64& x) { return int64(::atomicAdd(reinterpret_cast<uint64*>(p), uint64(x))); }
#endif
}
//@ atomic_add atomic_sub | float16
#ifdef __CUDACC__
namespace wp {
// In hardware since sm_70, and a tenth of the compiler's work for a loop around a comparison.
WP_INLINE half_t atomic_add(half_t* p, const half_t& x) {
    half_t old;
    asm volatile("atom.add.noftz.f16 %0, [%1], %2;" : "=h"(old.bits) : "l"(p), "h"(x.bits) : "memory");
    return old;
}
}
#endif
//@ atomic_sub
namespace wp {
template <class T> WP_INLINE T atomic_sub(T* p, const T& x) { return atomic_add(p, T(-x)); }
}
//@ add_grad ! adj_atomic_add
namespace wp {
// The accumulation of gradients. Only real numbers have them: booleans and integers are passed by,
// and so are arrays, whose gradients are reached through their own elements.
template <class T> WP_INLINE void add_grad(T* p, const T& x);
template <class T> WP_INLINE auto add_grad_parts(T* p, const T& x, int) -> decltype(T::components, void()) {
    for (int i = 0; i < T::components; ++i) add_grad(&(*p)[i], x[i]);
}
template <class T> WP_INLINE auto add_grad_parts(T*, const T& x, int) -> decltype(x.ndim, void()) {}
// A user's structure brings its own function, found by its type.
template <class T> WP_INLINE void add_grad_parts(T* p, const T& x, long) { adj_atomic_add(p, x); }
template <class T> WP_INLINE void add_grad(T* p, const T& x) {
    if constexpr (is_real<T>::value) {
#ifdef __CUDACC__
        // Most threads of a masked backward pass add zero: a comparison is cheaper than the atomic.
        if (!(x == T(0))) atomic_add(p, x);
#else
        *p += x;
#endif
    } else if constexpr (__is_class(T)) {
        add_grad_parts(p, x, 0);
    }
}
}
//@ adj_atomic_add
namespace wp {
template <class T> WP_INLINE void adj_atomic_add(T* p, const T& x) { add_grad(p, x); }
}
//@ WP_ATOMIC_MINMAX
#define WP_ATOMIC_MINMAX(NAME, CUDA, ORDER)                                                              \
    namespace wp {                                                                                       \
    template <class T> WP_INLINE T NAME(T* p, const T& x) {                                              \
        if constexpr (__is_class(T) && !is_real<T>::value) {                                             \
            T old;                                                                                       \
            for (int i = 0; i < T::components; ++i) old[i] = NAME(&(*p)[i], x[i]);                       \
            return old;                                                                                  \
        } else {                                                                                         \
            return atomic_update(p, [&](T old) { return ORDER(old, x); });                               \
        }                                                                                                \
    }                                                                                                    \
    WP_ON_DEVICE(WP_INLINE int32 NAME(int32* p, const int32& x) { return ::CUDA(p, x); })                \
    WP_ON_DEVICE(WP_INLINE uint32 NAME(uint32* p, const uint32& x) { return ::CUDA(p, x); })             \
    WP_ON_DEVICE(WP_INLINE int64 NAME(int64* p, const int64& x) { return ::CUDA(p, x); })                \
    WP_ON_DEVICE(WP_INLINE uint64 NAME(uint64* p, const uint64& x) { return ::CUDA(p, x); })             \
    }
//@ WP_ON_DEVICE
#ifdef __CUDACC__
#define WP_ON_DEVICE(...) __VA_ARGS__
#else
#define WP_ON_DEVICE(...)
#endif
//@ atomic_min
WP_ATOMIC_MINMAX(atomic_min, atomicMin, min)
//@ atomic_max
WP_ATOMIC_MINMAX(atomic_max, atomicMax, max)
//@ WP_ATOMIC_BITS
#define WP_ATOMIC_BITS(NAME, OPERATOR)                                                                   \
    namespace wp {                                                                                       \
    template <class T> WP_INLINE T NAME(T* p, const T& x) {                                              \
        if constexpr (__is_class(T)) {                                                                   \
            T old;                                                                                       \
            for (int i = 0; i < T::components; ++i) old[i] = NAME(&(*p)[i], x[i]);                       \
            return old;                                                                                  \
        } else {                                                                                         \
            return atomic_update(p, [&](T old) { return T(old OPERATOR x); });                           \
        }                                                                                                \
    }                                                                                                    \
    }
//@ atomic_and
WP_ATOMIC_BITS(atomic_and, &)
//@ atomic_or
WP_ATOMIC_BITS(atomic_or, |)
//@ atomic_xor
WP_ATOMIC_BITS(atomic_xor, ^)
//@ atomic_exch
namespace wp {
template <class T> WP_INLINE T atomic_exch(T* p, const T& x) {
    return atomic_update(p, [&](T) { return x; });
}
}
