// 16-bit floating point: storage types whose arithmetic is float32 arithmetic, rounded to nearest even.
//@ float16 half_t
namespace wp {
struct half_t;
using float16 = half_t;
}
//@ bfloat16 bfloat16_t
namespace wp {
struct bfloat16_t;
using bfloat16 = bfloat16_t;
}
//@ half_to_float float_to_half
namespace wp {
WP_INLINE float half_to_float(uint16 bits) {
#ifdef __CUDACC__
    float x;
    asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(bits));
    return x;
#else
    const uint32 sign = uint32(bits & 0x8000u) << 16;
    const uint32 exponent = (bits >> 10) & 31u;
    uint32 mantissa = bits & 0x3ffu;
    union { uint32 u; float f; } v;
    if (exponent == 0) {
        v.f = float(mantissa) * 5.9604644775390625e-8f;  // 2^-24
        v.u |= sign;
    } else {
        v.u = sign | ((exponent == 31 ? 255u : exponent + 112u) << 23) | (mantissa << 13);
    }
    return v.f;
#endif
}
WP_INLINE uint16 float_to_half(float x) {
#ifdef __CUDACC__
    uint16 bits;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(x));
    return bits;
#else
    union { uint32 u; float f; } v;
    v.f = x;
    const uint32 sign = (v.u >> 16) & 0x8000u;
    v.u &= 0x7fffffffu;
    if (v.u > 0x7f800000u) return uint16(sign | 0x7fffu);
    if (v.u >= 0x477ff000u) return uint16(sign | 0x7c00u);
    if (v.u < 0x38800000u) {
        // Below the smallest normal half: adding 0.5 puts the half's last bit at the float's last bit.
        v.f += 0.5f;
        return uint16(sign | (v.u - 0x3f000000u));
    }
    v.u += 0xfffu + ((v.u >> 13) & 1u);
    return uint16(sign | ((v.u - 0x38000000u) >> 13));
#endif
}
}
//@ bfloat16_to_float float_to_bfloat16
namespace wp {
WP_INLINE float bfloat16_to_float(uint16 bits) {
    union { uint32 u; float f; } v;
    v.u = uint32(bits) << 16;
    return v.f;
}
WP_INLINE uint16 float_to_bfloat16(float x) {
    union { uint32 u; float f; } v;
    v.f = x;
    if ((v.u & 0x7fffffffu) > 0x7f800000u) return 0x7fffu;
    return uint16((v.u + 0x7fffu + ((v.u >> 16) & 1u)) >> 16);
}
}
//@ WP_SHORT_FLOAT
#define WP_SHORT_FLOAT(T, WIDEN, NARROW)                                                         \
    namespace wp {                                                                               \
    struct T {                                                                                   \
        uint16 bits;                                                                             \
        T() = default;                                                                           \
        WP_INLINE T(float x) : bits(NARROW(x)) {}                                                \
        WP_INLINE T(double x) : bits(NARROW(float(x))) {}                                        \
        WP_INLINE T(int x) : bits(NARROW(float(x))) {}                                           \
        WP_INLINE T(unsigned x) : bits(NARROW(float(x))) {}                                      \
        WP_INLINE T(int64 x) : bits(NARROW(float(x))) {}                                         \
        WP_INLINE T(uint64 x) : bits(NARROW(float(x))) {}                                        \
        template <class S> explicit WP_INLINE operator S() const { return S(WIDEN(bits)); }      \
        WP_INLINE T& operator+=(T b) { return *this = T(WIDEN(bits) + WIDEN(b.bits)); }          \
        WP_INLINE T& operator-=(T b) { return *this = T(WIDEN(bits) - WIDEN(b.bits)); }          \
        WP_INLINE T& operator*=(T b) { return *this = T(WIDEN(bits) * WIDEN(b.bits)); }          \
        WP_INLINE T& operator/=(T b) { return *this = T(WIDEN(bits) / WIDEN(b.bits)); }          \
        WP_INLINE friend T operator-(T a) { return T(-WIDEN(a.bits)); }                          \
        WP_INLINE friend T operator+(T a, T b) { return T(WIDEN(a.bits) + WIDEN(b.bits)); }      \
        WP_INLINE friend T operator-(T a, T b) { return T(WIDEN(a.bits) - WIDEN(b.bits)); }      \
        WP_INLINE friend T operator*(T a, T b) { return T(WIDEN(a.bits) * WIDEN(b.bits)); }      \
        WP_INLINE friend T operator/(T a, T b) { return T(WIDEN(a.bits) / WIDEN(b.bits)); }      \
        WP_INLINE friend bool operator<(T a, T b) { return WIDEN(a.bits) < WIDEN(b.bits); }      \
        WP_INLINE friend bool operator>(T a, T b) { return WIDEN(a.bits) > WIDEN(b.bits); }      \
        WP_INLINE friend bool operator<=(T a, T b) { return WIDEN(a.bits) <= WIDEN(b.bits); }    \
        WP_INLINE friend bool operator>=(T a, T b) { return WIDEN(a.bits) >= WIDEN(b.bits); }    \
        WP_INLINE friend bool operator==(T a, T b) { return WIDEN(a.bits) == WIDEN(b.bits); }    \
        WP_INLINE friend bool operator!=(T a, T b) { return WIDEN(a.bits) != WIDEN(b.bits); }    \
    };                                                                                           \
    }
//@ float16 half_t
WP_SHORT_FLOAT(half_t, half_to_float, float_to_half)
//@ bfloat16 bfloat16_t
WP_SHORT_FLOAT(bfloat16_t, bfloat16_to_float, float_to_bfloat16)
