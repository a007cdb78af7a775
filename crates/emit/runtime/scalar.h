// Arithmetic, comparison, conversion and selection on scalars; `add`, `sub`, `neg` and `mul`
// also serve every type that has the operator.
//
// Adjoints take the primal arguments, then the adjoint of each, then the adjoint of the result.
// Integers carry adjoint variables that nothing reads: only division is guarded for them.
//@ is_real
namespace wp {
template <class T> struct is_real { static constexpr bool value = false; };
template <> struct is_real<float> { static constexpr bool value = true; };
template <> struct is_real<double> { static constexpr bool value = true; };
}
//@ is_real | float16
namespace wp {
template <> struct is_real<half_t> { static constexpr bool value = true; };
}
//@ is_real | bfloat16
namespace wp {
template <> struct is_real<bfloat16_t> { static constexpr bool value = true; };
}
//@ add
namespace wp {
template <class T> WP_INLINE T add(const T& a, const T& b) { return T(a + b); }
}
//@ adj_add
namespace wp {
template <class T> WP_INLINE void adj_add(const T&, const T&, T& adj_a, T& adj_b, const T& adj_ret) {
    adj_a += adj_ret;
    adj_b += adj_ret;
}
}
//@ sub
namespace wp {
template <class T> WP_INLINE T sub(const T& a, const T& b) { return T(a - b); }
}
//@ adj_sub
namespace wp {
template <class T> WP_INLINE void adj_sub(const T&, const T&, T& adj_a, T& adj_b, const T& adj_ret) {
    adj_a += adj_ret;
    adj_b -= adj_ret;
}
}
//@ neg
namespace wp {
template <class T> WP_INLINE T neg(const T& a) { return T(-a); }
}
//@ adj_neg
namespace wp {
template <class T> WP_INLINE void adj_neg(const T&, T& adj_a, const T& adj_ret) { adj_a -= adj_ret; }
}
//@ pos
namespace wp {
template <class T> WP_INLINE T pos(const T& a) { return a; }
}
//@ adj_pos
namespace wp {
template <class T> WP_INLINE void adj_pos(const T&, T& adj_a, const T& adj_ret) { adj_a += adj_ret; }
}
//@ mul
namespace wp {
template <class A, class B> WP_INLINE auto mul(const A& a, const B& b) { return a * b; }
}
//@ adj_mul
namespace wp {
// Three parameters for one type make this the least specialised overload: products of vectors,
// matrices, quaternions and transforms are preferred to it.
template <class A, class B, class R> WP_INLINE void adj_mul(const A& a, const B& b, A& adj_a, B& adj_b, const R& adj_ret) {
    adj_a += b * adj_ret;
    adj_b += a * adj_ret;
}
}
//@ div
namespace wp {
template <class A, class B> WP_INLINE auto div(const A& a, const B& b) { return a / b; }
}
//@ adj_div
namespace wp {
template <class T> WP_INLINE void adj_div(const T&, const T& b, const T& ret, T& adj_a, T& adj_b, const T& adj_ret) {
    if constexpr (is_real<T>::value) {
        adj_a += adj_ret / b;
        adj_b -= adj_ret * ret / b;
    }
}
}
//@ approx_div
namespace wp {
template <class A, class B> WP_INLINE auto approx_div(const A& a, const B& b) { return a / b; }
#ifdef __CUDACC__
WP_INLINE float approx_div(const float& a, const float& b) { return __fdividef(a, b); }
#endif
}
//@ adj_approx_div
namespace wp {
template <class T> WP_INLINE void adj_approx_div(const T& a, const T& b, const T& ret, T& adj_a, T& adj_b, const T& adj_ret) {
    adj_div(a, b, ret, adj_a, adj_b, adj_ret);
}
template <class V, class T> WP_INLINE void adj_approx_div(const V& a, const T& b, V& adj_a, T& adj_b, const V& adj_ret) {
    adj_div(a, b, adj_a, adj_b, adj_ret);
}
}
//@ floordiv
namespace wp {
template <class T> WP_INLINE T floordiv(T a, T b) {
    const T q = T(a / b);
    return T((a % b != 0 && ((a < 0) != (b < 0))) ? q - 1 : q);
}
WP_INLINE float floordiv(float a, float b) { return ::floorf(a / b); }
WP_INLINE double floordiv(double a, double b) { return ::floor(a / b); }
}
//@ floordiv | float16
namespace wp {
WP_INLINE half_t floordiv(half_t a, half_t b) { return half_t(::floorf(float(a) / float(b))); }
}
//@ floordiv | bfloat16
namespace wp {
WP_INLINE bfloat16_t floordiv(bfloat16_t a, bfloat16_t b) { return bfloat16_t(::floorf(float(a) / float(b))); }
}
//@ mod
namespace wp {
template <class T> WP_INLINE T mod(T a, T b) { return T(a % b); }
WP_INLINE float mod(float a, float b) { return ::fmodf(a, b); }
WP_INLINE double mod(double a, double b) { return ::fmod(a, b); }
}
//@ mod | float16
namespace wp {
WP_INLINE half_t mod(half_t a, half_t b) { return half_t(::fmodf(float(a), float(b))); }
}
//@ mod | bfloat16
namespace wp {
WP_INLINE bfloat16_t mod(bfloat16_t a, bfloat16_t b) { return bfloat16_t(::fmodf(float(a), float(b))); }
}
//@ adj_mod
namespace wp {
template <class T> WP_INLINE void adj_mod(const T&, const T&, T& adj_a, T&, const T& adj_ret) { adj_a += adj_ret; }
}
//@ min
namespace wp {
template <class T> WP_INLINE T min(const T& a, const T& b) { return a < b ? a : b; }
WP_INLINE float min(float a, float b) { return ::fminf(a, b); }
WP_INLINE double min(double a, double b) { return ::fmin(a, b); }
}
//@ max
namespace wp {
template <class T> WP_INLINE T max(const T& a, const T& b) { return a > b ? a : b; }
WP_INLINE float max(float a, float b) { return ::fmaxf(a, b); }
WP_INLINE double max(double a, double b) { return ::fmax(a, b); }
}
//@ adj_min
namespace wp {
// A tie goes to the second argument, here and in `adj_max`.
template <class T> WP_INLINE void adj_min(const T& a, const T& b, T& adj_a, T& adj_b, const T& adj_ret) {
    (a < b ? adj_a : adj_b) += adj_ret;
}
}
//@ adj_max
namespace wp {
template <class T> WP_INLINE void adj_max(const T& a, const T& b, T& adj_a, T& adj_b, const T& adj_ret) {
    (a > b ? adj_a : adj_b) += adj_ret;
}
}
//@ clamp
namespace wp {
template <class T> WP_INLINE T clamp(const T& x, const T& low, const T& high) { return min(max(low, x), high); }
}
//@ adj_clamp
namespace wp {
template <class T>
WP_INLINE void adj_clamp(const T& x, const T& low, const T& high, T& adj_x, T& adj_low, T& adj_high, const T& adj_ret) {
    const T raised = low > x ? low : x;
    if (!(raised < high)) adj_high += adj_ret;
    else if (low > x) adj_low += adj_ret;
    else adj_x += adj_ret;
}
}
//@ abs
namespace wp {
template <class T> WP_INLINE T abs(const T& x) { return x < T(0) ? T(-x) : x; }
WP_INLINE float abs(const float& x) { return ::fabsf(x); }
WP_INLINE double abs(const double& x) { return ::fabs(x); }
}
//@ adj_abs
namespace wp {
template <class T> WP_INLINE void adj_abs(const T& x, T& adj_x, const T& adj_ret) {
    if (x < T(0)) adj_x -= adj_ret;
    else adj_x += adj_ret;
}
}
//@ sign
namespace wp {
template <class T> WP_INLINE T sign(const T& x) { return x < T(0) ? T(-1) : T(1); }
}
//@ step
namespace wp {
template <class T> WP_INLINE T step(const T& x) { return x < T(0) ? T(1) : T(0); }
}
//@ nonzero
namespace wp {
template <class T> WP_INLINE T nonzero(const T& x) { return x == T(0) ? T(0) : T(1); }
}
//@ bit_and
namespace wp {
template <class T> WP_INLINE T bit_and(const T& a, const T& b) { return T(a & b); }
}
//@ bit_or
namespace wp {
template <class T> WP_INLINE T bit_or(const T& a, const T& b) { return T(a | b); }
}
//@ bit_xor
namespace wp {
template <class T> WP_INLINE T bit_xor(const T& a, const T& b) { return T(a ^ b); }
}
//@ lshift
namespace wp {
template <class T> WP_INLINE T lshift(const T& a, const T& b) { return T(a << b); }
}
//@ rshift
namespace wp {
template <class T> WP_INLINE T rshift(const T& a, const T& b) { return T(a >> b); }
}
//@ invert
namespace wp {
template <class T> WP_INLINE T invert(const T& a) { return T(~a); }
}
//@ bit_count
namespace wp {
template <class T> WP_INLINE int bit_count(T x) {
    uint64 bits = sizeof(T) == 8 ? uint64(x) : uint64(x) & ((uint64(1) << (8 * sizeof(T) % 64)) - 1);
    int count = 0;
    for (; bits != 0; bits &= bits - 1) ++count;
    return count;
}
}
//@ unot
namespace wp {
template <class T> WP_INLINE bool unot(const T& a) { return !bool(a); }
}
//@ where
namespace wp {
template <class C, class T> WP_INLINE T where(const C& condition, const T& a, const T& b) { return bool(condition) ? a : b; }
}
//@ adj_where
namespace wp {
template <class C, class T>
WP_INLINE void adj_where(const C& condition, const T&, const T&, C&, T& adj_a, T& adj_b, const T& adj_ret) {
    (bool(condition) ? adj_a : adj_b) += adj_ret;
}
}
//@ select
namespace wp {
// The older spelling of `where`: the value for false comes first.
template <class C, class T> WP_INLINE T select(const C& condition, const T& a, const T& b) { return bool(condition) ? b : a; }
}
//@ adj_select
namespace wp {
template <class C, class T>
WP_INLINE void adj_select(const C& condition, const T&, const T&, C&, T& adj_a, T& adj_b, const T& adj_ret) {
    (bool(condition) ? adj_b : adj_a) += adj_ret;
}
}
//@ copy
namespace wp {
template <class T> WP_INLINE T copy(const T& x) { return x; }
}
//@ adj_copy
namespace wp {
template <class T> WP_INLINE void adj_copy(const T&, T& adj_x, const T& adj_ret) { adj_x += adj_ret; }
}
//@ assign
namespace wp {
template <class T> WP_INLINE void assign(T& target, const T& value) { target = value; }
}
//@ adj_assign
namespace wp {
template <class T> WP_INLINE void adj_assign(const T&, const T&, T& adj_target, T& adj_value) {
    adj_value += adj_target;
    adj_target = T{};
}
}
//@ cast_float
namespace wp {
template <class T> WP_INLINE float cast_float(const T& x) { return float(x); }
}
//@ adj_cast_float
namespace wp {
template <class T> WP_INLINE void adj_cast_float(const T&, T& adj_x, const float& adj_ret) { adj_x += T(adj_ret); }
}
//@ cast_int
namespace wp {
template <class T> WP_INLINE int cast_int(const T& x) { return int(x); }
}
//@ adj_cast_int
namespace wp {
template <class T> WP_INLINE void adj_cast_int(const T&, T&, const int&) {}
}
//@ adj_float16
namespace wp {
template <class T> WP_INLINE void adj_float16(const T&, T& adj_x, const float16& adj_ret) { adj_x += T(adj_ret); }
}
//@ adj_bfloat16
namespace wp {
template <class T> WP_INLINE void adj_bfloat16(const T&, T& adj_x, const bfloat16& adj_ret) { adj_x += T(adj_ret); }
}
//@ adj_float32
namespace wp {
template <class T> WP_INLINE void adj_float32(const T&, T& adj_x, const float& adj_ret) { adj_x += T(adj_ret); }
}
//@ adj_float64
namespace wp {
template <class T> WP_INLINE void adj_float64(const T&, T& adj_x, const double& adj_ret) { adj_x += T(adj_ret); }
}
//@ cast
namespace wp {
// The bytes of the value, read as another type of the same or a smaller size.
template <class To, class From> WP_INLINE To cast(const From& x) {
    static_assert(sizeof(To) <= sizeof(From), "cast reads past the value");
    To result;
    for (unsigned i = 0; i < sizeof(To); ++i) reinterpret_cast<char*>(&result)[i] = reinterpret_cast<const char*>(&x)[i];
    return result;
}
}
//@ load
namespace wp {
template <class T> WP_INLINE T load(T* p) { return *p; }
}
//@ store
namespace wp {
template <class T> WP_INLINE void store(T* p, const T& value) { *p = value; }
}
