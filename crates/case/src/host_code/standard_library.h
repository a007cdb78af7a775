#ifndef WARPSMITH_STANDARD_LIBRARY
#define WARPSMITH_STANDARD_LIBRARY
// What nvcc's host headers give device code of namespace std: the compiler's own functions, and three templates.
namespace std {
using ::sqrt;
using ::cbrt;
using ::exp;
using ::exp2;
using ::expm1;
using ::log;
using ::log2;
using ::log10;
using ::log1p;
using ::pow;
using ::sin;
using ::cos;
using ::tan;
using ::asin;
using ::acos;
using ::atan;
using ::atan2;
using ::sinh;
using ::cosh;
using ::tanh;
using ::asinh;
using ::acosh;
using ::atanh;
using ::fabs;
using ::abs;
using ::fmod;
using ::remainder;
using ::floor;
using ::ceil;
using ::round;
using ::trunc;
using ::rint;
using ::nearbyint;
using ::lround;
using ::llround;
using ::hypot;
using ::erf;
using ::erfc;
using ::tgamma;
using ::lgamma;
using ::fma;
using ::fmax;
using ::fmin;
using ::fdim;
using ::copysign;
using ::isnan;
using ::isinf;
using ::isfinite;
using ::signbit;
using ::ldexp;
using ::frexp;
using ::modf;
using ::ilogb;
using ::logb;
using ::scalbn;
using ::nextafter;
using ::sqrtf;
using ::cbrtf;
using ::expf;
using ::exp2f;
using ::expm1f;
using ::logf;
using ::log2f;
using ::log10f;
using ::log1pf;
using ::powf;
using ::sinf;
using ::cosf;
using ::tanf;
using ::asinf;
using ::acosf;
using ::atanf;
using ::atan2f;
using ::sinhf;
using ::coshf;
using ::tanhf;
using ::fabsf;
using ::fmodf;
using ::floorf;
using ::ceilf;
using ::roundf;
using ::truncf;
using ::rintf;
using ::hypotf;
using ::erff;
using ::erfcf;
using ::fmaf;
using ::fmaxf;
using ::fminf;
using ::copysignf;
template <class T> __host__ __device__ constexpr const T& max(const T& a, const T& b) { return a < b ? b : a; }
template <class T> __host__ __device__ constexpr const T& min(const T& a, const T& b) { return b < a ? b : a; }
template <class T> __host__ __device__ constexpr void swap(T& a, T& b) {
  T kept = a;
  a = b;
  b = kept;
}
}
#endif
