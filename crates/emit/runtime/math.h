// Scalar functions of the mathematics library, and their adjoints.
//@ WP_UNARY
// The last overload serves the 16-bit types: computed in float32, rounded once.
#define WP_UNARY(NAME, SINGLE, DOUBLE)                                        \
    namespace wp {                                                            \
    WP_INLINE float NAME(float x) { return SINGLE; }                          \
    WP_INLINE double NAME(double x) { return DOUBLE; }                        \
    template <class T> WP_INLINE T NAME(T x) { return T(NAME(float(x))); }    \
    }
//@ WP_BINARY
#define WP_BINARY(NAME, SINGLE, DOUBLE)                                                        \
    namespace wp {                                                                             \
    WP_INLINE float NAME(float x, float y) { return SINGLE; }                                  \
    WP_INLINE double NAME(double x, double y) { return DOUBLE; }                               \
    template <class T> WP_INLINE T NAME(T x, T y) { return T(NAME(float(x), float(y))); }      \
    }
//@ WP_ADJ_UNARY
#define WP_ADJ_UNARY(NAME, DERIVATIVE)                                                   \
    namespace wp {                                                                       \
    template <class T> WP_INLINE void NAME(const T& x, T& adj_x, const T& adj_ret) {     \
        adj_x += adj_ret * (DERIVATIVE);                                                 \
    }                                                                                    \
    }
//@ WP_ADJ_UNARY_RET
#define WP_ADJ_UNARY_RET(NAME, DERIVATIVE)                                                           \
    namespace wp {                                                                                   \
    template <class T> WP_INLINE void NAME(const T&, const T& ret, T& adj_x, const T& adj_ret) {     \
        adj_x += adj_ret * (DERIVATIVE);                                                             \
    }                                                                                                \
    }
//@ sin
WP_UNARY(sin, ::sinf(x), ::sin(x))
//@ cos
WP_UNARY(cos, ::cosf(x), ::cos(x))
//@ tan
WP_UNARY(tan, ::tanf(x), ::tan(x))
//@ acos
WP_UNARY(acos, ::acosf(::fminf(::fmaxf(x, -1.0f), 1.0f)), ::acos(::fmin(::fmax(x, -1.0), 1.0)))
//@ asin
WP_UNARY(asin, ::asinf(::fminf(::fmaxf(x, -1.0f), 1.0f)), ::asin(::fmin(::fmax(x, -1.0), 1.0)))
//@ atan
WP_UNARY(atan, ::atanf(x), ::atan(x))
//@ sinh
WP_UNARY(sinh, ::sinhf(x), ::sinh(x))
//@ cosh
WP_UNARY(cosh, ::coshf(x), ::cosh(x))
//@ tanh
WP_UNARY(tanh, ::tanhf(x), ::tanh(x))
//@ exp
WP_UNARY(exp, ::expf(x), ::exp(x))
//@ log
WP_UNARY(log, ::logf(x), ::log(x))
//@ log2
WP_UNARY(log2, ::log2f(x), ::log2(x))
//@ log10
WP_UNARY(log10, ::log10f(x), ::log10(x))
//@ sqrt
WP_UNARY(sqrt, ::sqrtf(x), ::sqrt(x))
//@ cbrt
WP_UNARY(cbrt, ::cbrtf(x), ::cbrt(x))
//@ erf
WP_UNARY(erf, ::erff(x), ::erf(x))
//@ erfc
WP_UNARY(erfc, ::erfcf(x), ::erfc(x))
//@ erfinv_host erfcinv_host
#ifndef __CUDACC__
namespace wp {
// The host library has no inverse: Newton's method on the complement, which keeps its accuracy in
// the tails, from the leading term of the asymptotic expansion.
inline double erfcinv_host(double q) {
    if (!(q >= 0.0 && q <= 2.0)) return NAN;
    if (q == 0.0) return INFINITY;
    if (q == 2.0) return -INFINITY;
    if (q > 1.0) return -erfcinv_host(2.0 - q);
    const double t = ::sqrt(-2.0 * ::log(0.5 * q));
    double x = 0.70710678118654752 * (t - (2.515517 + t * (0.802853 + t * 0.010328)) / (1.0 + t * (1.432788 + t * (0.189269 + t * 0.001308))));
    for (int i = 0; i < 6; ++i) x += (::erfc(x) - q) / (1.1283791670955126 * ::exp(-x * x));
    return x;
}
inline double erfinv_host(double p) {
    if (::fabs(p) > 0.5) return erfcinv_host(1.0 - p);
    double x = 0.88622692545275801 * p;
    for (int i = 0; i < 8; ++i) x -= (::erf(x) - p) / (1.1283791670955126 * ::exp(-x * x));
    return x;
}
}
#endif
//@ erfinv
#ifdef __CUDACC__
WP_UNARY(erfinv, ::erfinvf(x), ::erfinv(x))
#else
WP_UNARY(erfinv, float(erfinv_host(x)), erfinv_host(x))
#endif
//@ erfcinv
#ifdef __CUDACC__
WP_UNARY(erfcinv, ::erfcinvf(x), ::erfcinv(x))
#else
WP_UNARY(erfcinv, float(erfcinv_host(x)), erfcinv_host(x))
#endif
//@ floor
WP_UNARY(floor, ::floorf(x), ::floor(x))
//@ ceil
WP_UNARY(ceil, ::ceilf(x), ::ceil(x))
//@ round
WP_UNARY(round, ::roundf(x), ::round(x))
//@ rint
WP_UNARY(rint, ::rintf(x), ::rint(x))
//@ trunc
WP_UNARY(trunc, ::truncf(x), ::trunc(x))
//@ frac
WP_UNARY(frac, x - ::truncf(x), x - ::trunc(x))
//@ pow
WP_BINARY(pow, ::powf(x, y), ::pow(x, y))
//@ atan2
WP_BINARY(atan2, ::atan2f(x, y), ::atan2(x, y))
//@ copysign
WP_BINARY(copysign, ::copysignf(x, y), ::copysign(x, y))
//@ isfinite
namespace wp {
// A difference with itself is zero for every finite value and NaN for the others.
template <class T> WP_INLINE bool isfinite(const T& x) {
    if constexpr (is_real<T>::value) {
        return x - x == T(0);
    } else {
        for (int i = 0; i < T::components; ++i)
            if (!isfinite(x[i])) return false;
        return true;
    }
}
}
//@ isnan
namespace wp {
template <class T> WP_INLINE bool isnan(const T& x) { return x != x; }
}
//@ isinf
namespace wp {
template <class T> WP_INLINE bool isinf(const T& x) {
    if constexpr (is_real<T>::value) {
        return x == x && !(x - x == T(0));
    } else {
        for (int i = 0; i < T::components; ++i)
            if (isinf(x[i])) return true;
        return false;
    }
}
}
//@ degrees
namespace wp {
template <class T> WP_INLINE T degrees(T x) { return x * T(57.29577951308232); }
}
//@ radians
namespace wp {
template <class T> WP_INLINE T radians(T x) { return x * T(0.017453292519943295); }
}
//@ adj_degrees
WP_ADJ_UNARY(adj_degrees, T(57.29577951308232))
//@ adj_radians
WP_ADJ_UNARY(adj_radians, T(0.017453292519943295))
//@ adj_sin
WP_ADJ_UNARY(adj_sin, cos(x))
//@ adj_cos
WP_ADJ_UNARY(adj_cos, -sin(x))
//@ adj_tan
WP_ADJ_UNARY(adj_tan, T(1) / (cos(x) * cos(x)))
//@ adj_atan
WP_ADJ_UNARY(adj_atan, T(1) / (x * x + T(1)))
//@ adj_sinh
WP_ADJ_UNARY(adj_sinh, cosh(x))
//@ adj_cosh
WP_ADJ_UNARY(adj_cosh, sinh(x))
//@ adj_tanh
WP_ADJ_UNARY_RET(adj_tanh, T(1) - ret * ret)
//@ adj_exp
WP_ADJ_UNARY_RET(adj_exp, ret)
//@ adj_log
WP_ADJ_UNARY(adj_log, T(1) / x)
//@ adj_log2
WP_ADJ_UNARY(adj_log2, T(1.4426950408889634) / x)
//@ adj_log10
WP_ADJ_UNARY(adj_log10, T(0.43429448190325182) / x)
//@ adj_sqrt
WP_ADJ_UNARY_RET(adj_sqrt, T(0.5) / ret)
//@ adj_cbrt
WP_ADJ_UNARY_RET(adj_cbrt, T(1) / (T(3) * ret * ret))
//@ adj_erf
WP_ADJ_UNARY(adj_erf, T(1.1283791670955126) * exp(-(x * x)))
//@ adj_erfc
WP_ADJ_UNARY(adj_erfc, T(-1.1283791670955126) * exp(-(x * x)))
//@ adj_erfinv
WP_ADJ_UNARY_RET(adj_erfinv, T(0.88622692545275801) * exp(ret * ret))
//@ adj_erfcinv
WP_ADJ_UNARY_RET(adj_erfcinv, T(-0.88622692545275801) * exp(ret * ret))
//@ adj_acos
namespace wp {
// Outside (-1, 1) the argument was clamped, so nothing flows back.
template <class T> WP_INLINE void adj_acos(const T& x, T& adj_x, const T& adj_ret) {
    const T d = sqrt(T(1) - x * x);
    if (d > T(0)) adj_x -= adj_ret / d;
}
}
//@ adj_asin
namespace wp {
template <class T> WP_INLINE void adj_asin(const T& x, T& adj_x, const T& adj_ret) {
    const T d = sqrt(T(1) - x * x);
    if (d > T(0)) adj_x += adj_ret / d;
}
}
//@ adj_atan2
namespace wp {
template <class T> WP_INLINE void adj_atan2(const T& y, const T& x, T& adj_y, T& adj_x, const T& adj_ret) {
    const T d = x * x + y * y;
    if (d > T(0)) {
        adj_y += x * adj_ret / d;
        adj_x -= y * adj_ret / d;
    }
}
}
//@ adj_copysign
namespace wp {
template <class T> WP_INLINE void adj_copysign(const T& x, const T& y, T& adj_x, T&, const T& adj_ret) {
    adj_x += adj_ret * copysign(T(1), x) * copysign(T(1), y);
}
}
//@ adj_pow
namespace wp {
template <class T> WP_INLINE void adj_pow(const T& x, const T& y, const T& ret, T& adj_x, T& adj_y, const T& adj_ret) {
    adj_x += y * pow(x, T(y - T(1))) * adj_ret;
    adj_y += log(x) * ret * adj_ret;
}
}
//@ lerp
namespace wp {
template <class V, class T> WP_INLINE V lerp(const V& a, const V& b, const T& t) { return a * (T(1) - t) + b * t; }
}
//@ adj_lerp
namespace wp {
template <class T> WP_INLINE void adj_lerp(const T& a, const T& b, const T& t, T& adj_a, T& adj_b, T& adj_t, const T& adj_ret) {
    adj_a += adj_ret * (T(1) - t);
    adj_b += adj_ret * t;
    adj_t += (b - a) * adj_ret;
}
}
//@ smoothstep
namespace wp {
template <class T> WP_INLINE T smoothstep(const T& low, const T& high, const T& x) {
    const T t = min(max(T((x - low) / (high - low)), T(0)), T(1));
    return t * t * (T(3) - T(2) * t);
}
}
//@ adj_smoothstep
namespace wp {
template <class T>
WP_INLINE void adj_smoothstep(const T& low, const T& high, const T& x, T& adj_low, T& adj_high, T& adj_x, const T& adj_ret) {
    const T width = high - low;
    const T t = (x - low) / width;
    if (!(t > T(0) && t < T(1))) return;
    const T slope = adj_ret * T(6) * t * (T(1) - t) / width;
    adj_x += slope;
    adj_low += slope * (t - T(1));
    adj_high -= slope * t;
}
}
