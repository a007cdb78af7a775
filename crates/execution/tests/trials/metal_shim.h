// Metal's names for a C++ compiler: enough to read and run what `--emit msl` writes. The arithmetic is the
// CPU's; this says nothing about Metal's own compiler.
#pragma once
#include <cmath>
#include <cstdint>
#include <cstring>

#define kernel static
#define device
#define constant const
using uchar = uint8_t;
using ushort = uint16_t;
using uint = uint32_t;
using ulong = uint64_t;
struct uint3 {
    uint x, y, z;
};
template <class To, class From> inline To as_type(const From& from) {
    static_assert(sizeof(To) == sizeof(From), "as_type keeps the size");
    To to;
    std::memcpy(&to, &from, sizeof to);
    return to;
}
struct atomic_uint {
    uint value;
};
struct atomic_int {
    int value;
};
enum memory_order { memory_order_relaxed };
// One thread after the other: plain updates are atomic.
#define METAL_UPDATE(NAME, EXPRESSION)                                              \
    template <class A, class T> inline T NAME(A* object, T x, memory_order) {       \
        T old = object->value;                                                      \
        object->value = EXPRESSION;                                                 \
        return old;                                                                 \
    }
METAL_UPDATE(atomic_fetch_add_explicit, T(old + x))
METAL_UPDATE(atomic_fetch_sub_explicit, T(old - x))
METAL_UPDATE(atomic_fetch_and_explicit, T(old & x))
METAL_UPDATE(atomic_fetch_or_explicit, T(old | x))
METAL_UPDATE(atomic_fetch_xor_explicit, T(old ^ x))
METAL_UPDATE(atomic_fetch_min_explicit, (x < old ? x : old))
METAL_UPDATE(atomic_fetch_max_explicit, (x > old ? x : old))
METAL_UPDATE(atomic_exchange_explicit, x)
template <class A> inline auto atomic_load_explicit(A* object, memory_order) { return object->value; }
template <class A, class T>
inline bool atomic_compare_exchange_weak_explicit(A* object, T* expected, T x, memory_order, memory_order) {
    if (object->value == *expected) {
        object->value = x;
        return true;
    }
    *expected = object->value;
    return false;
}
namespace metal {
inline float floor(float x) { return std::floor(x); }
inline float ceil(float x) { return std::ceil(x); }
inline float trunc(float x) { return std::trunc(x); }
inline float rint(float x) { return std::nearbyint(x); }
inline float fmod(float x, float y) { return std::fmod(x, y); }
inline uint popcount(uint x) { return uint(__builtin_popcount(x)); }
namespace precise {
inline float sqrt(float x) { return std::sqrt(x); }
inline float sin(float x) { return std::sin(x); }
inline float cos(float x) { return std::cos(x); }
inline float tan(float x) { return std::tan(x); }
inline float asin(float x) { return std::asin(x); }
inline float acos(float x) { return std::acos(x); }
inline float atan(float x) { return std::atan(x); }
inline float sinh(float x) { return std::sinh(x); }
inline float cosh(float x) { return std::cosh(x); }
inline float tanh(float x) { return std::tanh(x); }
inline float atan2(float y, float x) { return std::atan2(y, x); }
inline float pow(float x, float y) { return std::pow(x, y); }
inline float exp(float x) { return std::exp(x); }
inline float log(float x) { return std::log(x); }
inline float log2(float x) { return std::log2(x); }
}
}
