// Ranges, tuples and strings: what statements need besides arithmetic.
//@ range_t iter_cmp iter_next
namespace wp {
struct range_t {
    int next, end, step;
};
WP_INLINE bool iter_cmp(const range_t& r) { return r.step > 0 ? r.next < r.end : r.next > r.end; }
WP_INLINE int iter_next(range_t& r) {
    const int i = r.next;
    r.next += r.step;
    return i;
}
}
//@ range
namespace wp {
WP_INLINE range_t range(int start, int end, int step) { return {start, end, step}; }
WP_INLINE range_t range(int start, int end) { return {start, end, 1}; }
WP_INLINE range_t range(int end) { return {0, end, 1}; }
}
//@ iter_reverse
namespace wp {
WP_INLINE range_t iter_reverse(const range_t& r) {
    const int span = r.step > 0 ? r.end - r.next : r.next - r.end;
    const int stride = r.step > 0 ? r.step : -r.step;
    const int count = span > 0 ? (span + stride - 1) / stride : 0;
    return {r.next + (count - 1) * r.step, r.next - r.step, -r.step};
}
}
//@ str
namespace wp {
using str = const char*;
}
//@ tuple_t
namespace wp {
template <class... T> struct tuple_t {
    // Adjoints of tuples are never read: results are unpacked into variables with their own.
    WP_INLINE tuple_t& operator+=(const tuple_t&) { return *this; }
};
template <class T, class... Rest> struct tuple_t<T, Rest...> {
    T first;
    tuple_t<Rest...> rest;
    tuple_t() = default;
    WP_INLINE tuple_t(const T& head, const Rest&... tail) : first(head), rest(tail...) {}
    WP_INLINE tuple_t& operator+=(const tuple_t&) { return *this; }
};
}
//@ tuple
namespace wp {
template <class T> WP_INLINE tuple_t<T> tuple(const T& a) { return tuple_t<T>(a); }
template <class T, class... Rest> WP_INLINE tuple_t<T, Rest...> tuple(const T& a, const Rest&... rest) { return tuple_t<T, Rest...>(a, rest...); }
}
//@ extract | tuple_t
namespace wp {
template <int I, class T, class... Rest> WP_INLINE const auto& extract(const tuple_t<T, Rest...>& t) {
    if constexpr (I == 0) return t.first;
    else return extract<I - 1>(t.rest);
}
}
//@ adj_extract | tuple_t
namespace wp {
template <class... A> WP_INLINE void adj_extract(const tuple_t<A...>&, const tuple_t<A...>&, ...) {}
}
