// Output and checks from inside a kernel.
//@ print_scalar print_parts
namespace wp {
WP_INLINE void print_scalar(float x) { printf("%g", double(x)); }
WP_INLINE void print_scalar(double x) { printf("%g", x); }
WP_INLINE void print_scalar(int x) { printf("%d", x); }
WP_INLINE void print_scalar(unsigned x) { printf("%u", x); }
WP_INLINE void print_scalar(int64 x) { printf("%lld", x); }
WP_INLINE void print_scalar(uint64 x) { printf("%llu", x); }
WP_INLINE void print_scalar(bool x) { printf(x ? "True" : "False"); }
WP_INLINE void print_scalar(const char* x) { printf("%s", x); }
template <class T> WP_INLINE auto print_scalar(const T& x) -> decltype(x.bits, void()) { print_scalar(float(x)); }
template <class T> WP_INLINE auto print_parts(const T& x, int) -> decltype(T::components, void()) {
    for (int i = 0; i < T::components; ++i) {
        print_scalar(x[i]);
        printf(" ");
    }
}
template <class T> WP_INLINE void print_parts(const T&, long) { printf("<value>"); }
}
//@ print
namespace wp {
template <class T> WP_INLINE void print(const T& x) {
    if constexpr (__is_class(T) && !is_real<T>::value) print_parts(x, 0);
    else print_scalar(x);
    printf("\n");
}
}
//@ adj_print
namespace wp {
template <class T> WP_INLINE void adj_print(const T&, const T&) {}
}
//@ expect_eq
namespace wp {
template <class T> WP_INLINE void expect_eq(const T& actual, const T& expected) {
    if (!(actual == expected)) {
        printf("Error: expect_eq failed\n");
        print(actual);
        print(expected);
    }
}
}
//@ expect_neq
namespace wp {
template <class T> WP_INLINE void expect_neq(const T& actual, const T& expected) {
    if (!(actual != expected)) {
        printf("Error: expect_neq failed\n");
        print(actual);
    }
}
}
//@ expect_near
namespace wp {
template <class T, class S> WP_INLINE void expect_near(const T& actual, const T& expected, const S& tolerance) {
    const T difference = actual - expected;
    bool near;
    if constexpr (is_real<T>::value) {
        near = abs(difference) <= tolerance;
    } else {
        near = true;
        for (int i = 0; i < T::components; ++i) near = near && abs(difference[i]) <= tolerance;
    }
    if (!near) {
        printf("Error: expect_near failed\n");
        print(actual);
        print(expected);
    }
}
}
