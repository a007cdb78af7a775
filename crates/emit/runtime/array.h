// Strided arrays of up to four dimensions. A kernel receives an array by value: pointers and layout.
//
// In the backward pass an element's gradient is in the adjoint array where the launch gave one, else in
// the array's own `grad` (same strides as `data`), else nowhere.
//@ shape_t
namespace wp {
struct shape_t {
    int dims[4];
    WP_INLINE int operator[](int i) const { return dims[i]; }
    WP_INLINE int& operator[](int i) { return dims[i]; }
};
}
//@ extract | shape_t
namespace wp {
WP_INLINE int extract(const shape_t& shape, int i) { return shape.dims[i]; }
}
//@ adj_extract | shape_t
namespace wp {
WP_INLINE void adj_extract(const shape_t&, int, const shape_t&, int, int) {}
}
//@ array_t
namespace wp {
template <class T> struct array_t {
    T* data = nullptr;
    T* grad = nullptr;
    shape_t shape = {};
    int strides[4] = {};  // in bytes
    uint16 ndim = 0;
    uint16 flags = 0;
    array_t() = default;
    // A contiguous array over memory given by address.
    template <class... S> WP_INLINE array_t(uint64 address, int first, S... rest) : data(reinterpret_cast<T*>(address)) {
        const int sizes[] = {first, rest...};
        ndim = 1 + sizeof...(rest);
        int stride = sizeof(T);
        for (int d = ndim - 1; d >= 0; --d) {
            shape.dims[d] = sizes[d];
            strides[d] = stride;
            stride *= sizes[d];
        }
    }
    WP_INLINE operator bool() const { return data != nullptr; }
    // Gradients of an array are in memory, not in the variable that describes it.
    WP_INLINE array_t& operator+=(const array_t&) { return *this; }
};
// A negative index counts from the end.
template <class T> WP_INLINE int64 axis_offset(const array_t<T>& a, int axis, int64 i) {
    return (i < 0 ? i + a.shape.dims[axis] : i) * a.strides[axis];
}
template <class T> WP_INLINE int64 byte_offset(const array_t<T>& a, int64 i) { return axis_offset(a, 0, i); }
template <class T> WP_INLINE int64 byte_offset(const array_t<T>& a, int64 i, int64 j) { return axis_offset(a, 0, i) + axis_offset(a, 1, j); }
template <class T> WP_INLINE int64 byte_offset(const array_t<T>& a, int64 i, int64 j, int64 k) {
    return axis_offset(a, 0, i) + axis_offset(a, 1, j) + axis_offset(a, 2, k);
}
template <class T> WP_INLINE int64 byte_offset(const array_t<T>& a, int64 i, int64 j, int64 k, int64 l) {
    return axis_offset(a, 0, i) + axis_offset(a, 1, j) + axis_offset(a, 2, k) + axis_offset(a, 3, l);
}
template <class T> WP_INLINE T* offset_by(T* p, int64 bytes) { return reinterpret_cast<T*>(reinterpret_cast<char*>(p) + bytes); }
}
//@ fixedarray_t
namespace wp {
// An array in the thread's own memory.
template <int N, class T> struct fixedarray_t : array_t<T> {
    T storage[N];
    WP_INLINE fixedarray_t() : storage{} { this->data = storage; }
    template <class... S> WP_INLINE fixedarray_t(int first, S... rest) : array_t<T>(0, first, rest...), storage{} { this->data = storage; }
    WP_INLINE fixedarray_t(const fixedarray_t& other) : array_t<T>(other) { *this = other; }
    WP_INLINE fixedarray_t& operator=(const fixedarray_t& other) {
        array_t<T>::operator=(other);
        this->data = storage;
        for (int i = 0; i < N; ++i) storage[i] = other.storage[i];
        return *this;
    }
    WP_INLINE fixedarray_t& operator+=(const fixedarray_t& other) {
        for (int i = 0; i < N; ++i) storage[i] += other.storage[i];
        return *this;
    }
};
}
//@ address
namespace wp {
template <class T, class... I> WP_INLINE T* address(const array_t<T>& a, I... i) { return offset_by(a.data, byte_offset(a, i...)); }
}
//@ index
namespace wp {
template <class T, class... I> WP_INLINE T& index(const array_t<T>& a, I... i) { return *offset_by(a.data, byte_offset(a, i...)); }
}
//@ array_store
namespace wp {
template <class T> WP_INLINE void array_store(const array_t<T>& a, int64 i, const T& x) { *offset_by(a.data, byte_offset(a, i)) = x; }
template <class T> WP_INLINE void array_store(const array_t<T>& a, int64 i, int64 j, const T& x) { *offset_by(a.data, byte_offset(a, i, j)) = x; }
template <class T> WP_INLINE void array_store(const array_t<T>& a, int64 i, int64 j, int64 k, const T& x) {
    *offset_by(a.data, byte_offset(a, i, j, k)) = x;
}
template <class T> WP_INLINE void array_store(const array_t<T>& a, int64 i, int64 j, int64 k, int64 l, const T& x) {
    *offset_by(a.data, byte_offset(a, i, j, k, l)) = x;
}
}
//@ grad_address
namespace wp {
template <class T, class... I> WP_INLINE T* grad_address(const array_t<T>& a, const array_t<T>& adj_a, I... i) {
    if (adj_a.data) return offset_by(adj_a.data, byte_offset(adj_a, i...));
    return a.grad ? offset_by(a.grad, byte_offset(a, i...)) : nullptr;
}
}
//@ grad_address | fixedarray_t
namespace wp {
// The adjoint variable of a local array was never given a shape: it has the layout of its primal.
template <int N, class T, class... I> WP_INLINE T* grad_address(const fixedarray_t<N, T>& a, const fixedarray_t<N, T>& adj_a, I... i) {
    return offset_by(adj_a.data, byte_offset(a, i...));
}
}
//@ adj_address
namespace wp {
template <class A, class T> WP_INLINE void adj_address(const A& a, int64 i, const A& adj_a, int64, const T& adj_ret) {
    if (T* g = grad_address(a, adj_a, i)) add_grad(g, adj_ret);
}
template <class A, class T> WP_INLINE void adj_address(const A& a, int64 i, int64 j, const A& adj_a, int64, int64, const T& adj_ret) {
    if (T* g = grad_address(a, adj_a, i, j)) add_grad(g, adj_ret);
}
template <class A, class T>
WP_INLINE void adj_address(const A& a, int64 i, int64 j, int64 k, const A& adj_a, int64, int64, int64, const T& adj_ret) {
    if (T* g = grad_address(a, adj_a, i, j, k)) add_grad(g, adj_ret);
}
template <class A, class T>
WP_INLINE void adj_address(const A& a, int64 i, int64 j, int64 k, int64 l, const A& adj_a, int64, int64, int64, int64, const T& adj_ret) {
    if (T* g = grad_address(a, adj_a, i, j, k, l)) add_grad(g, adj_ret);
}
}
//@ take_stored_grad
namespace wp {
// The value stored before was overwritten, so the array's own gradient ends here. An adjoint array
// that the launch passed in is left as it came.
template <class A, class T> WP_INLINE void take_stored_grad(const A& adj_a, T* g, T& adj_x) {
    if (g == nullptr) return;
    adj_x += *g;
    if (adj_a.data == nullptr) *g = T{};
}
}
//@ adj_array_store
namespace wp {
template <class A, class T> WP_INLINE void adj_array_store(const A& a, int64 i, const T&, const A& adj_a, int64, T& adj_x) {
    take_stored_grad(adj_a, grad_address(a, adj_a, i), adj_x);
}
template <class A, class T>
WP_INLINE void adj_array_store(const A& a, int64 i, int64 j, const T&, const A& adj_a, int64, int64, T& adj_x) {
    take_stored_grad(adj_a, grad_address(a, adj_a, i, j), adj_x);
}
template <class A, class T>
WP_INLINE void adj_array_store(const A& a, int64 i, int64 j, int64 k, const T&, const A& adj_a, int64, int64, int64, T& adj_x) {
    take_stored_grad(adj_a, grad_address(a, adj_a, i, j, k), adj_x);
}
template <class A, class T>
WP_INLINE void adj_array_store(const A& a, int64 i, int64 j, int64 k, int64 l, const T&, const A& adj_a, int64, int64, int64, int64, T& adj_x) {
    take_stored_grad(adj_a, grad_address(a, adj_a, i, j, k, l), adj_x);
}
}
//@ adj_array_store_slot
namespace wp {
// A slot is a component or field of an element; the accessor goes from the element to it.
template <class A, class T, class F, class... I>
WP_INLINE void adj_array_store_slot(const A& a, const A& adj_a, T& adj_x, F slot, I... i) {
    auto* g = grad_address(a, adj_a, i...);
    if (g) take_stored_grad(adj_a, &slot(*g), adj_x);
}
}
//@ array_atomic_add_slot
namespace wp {
template <class A, class T, class F, class... I> WP_INLINE T array_atomic_add_slot(const A& a, const T& x, F slot, I... i) {
    return atomic_add(&slot(*address(a, i...)), x);
}
}
//@ adj_array_atomic_add_slot
namespace wp {
template <class A, class T, class F, class... I>
WP_INLINE void adj_array_atomic_add_slot(const A& a, const A& adj_a, T& adj_x, F slot, I... i) {
    if (auto* g = grad_address(a, adj_a, i...)) adj_x += slot(*g);
}
}
//@ array_atomic_sub_slot
namespace wp {
template <class A, class T, class F, class... I> WP_INLINE T array_atomic_sub_slot(const A& a, const T& x, F slot, I... i) {
    return atomic_add(&slot(*address(a, i...)), T(-x));
}
}
//@ adj_array_atomic_sub_slot
namespace wp {
template <class A, class T, class F, class... I>
WP_INLINE void adj_array_atomic_sub_slot(const A& a, const A& adj_a, T& adj_x, F slot, I... i) {
    if (auto* g = grad_address(a, adj_a, i...)) adj_x -= slot(*g);
}
}
//@ view_index
namespace wp {
// One index of a view: an integer drops the dimension, a slice keeps it.
template <class T> WP_INLINE void view_index(const array_t<T>& a, array_t<T>&, int64& offset, int& from, int&, int64 i) {
    offset += axis_offset(a, from, i);
    ++from;
}
}
//@ view_index | slice_t
namespace wp {
template <class T> WP_INLINE void view_index(const array_t<T>& a, array_t<T>& v, int64& offset, int& from, int& to, const slice_t& s) {
    int first;
    v.shape.dims[to] = slice_length(s, a.shape.dims[from], first);
    v.strides[to++] = a.strides[from] * s.step;
    offset += int64(first) * a.strides[from++];
}
}
//@ view
namespace wp {
template <class T, class... I> WP_INLINE array_t<T> view(const array_t<T>& a, const I&... indices) {
    array_t<T> v;
    int64 offset = 0;
    int from = 0, to = 0;
    (view_index(a, v, offset, from, to, indices), ...);
    v.ndim = a.ndim - (from - to);
    for (; from < 4; ++from, ++to) {
        v.shape.dims[to] = a.shape.dims[from];
        v.strides[to] = a.strides[from];
    }
    v.flags = a.flags;
    v.data = offset_by(a.data, offset);
    v.grad = a.grad ? offset_by(a.grad, offset) : nullptr;
    return v;
}
}
//@ adj_view
namespace wp {
template <class... A> WP_INLINE void adj_view(const A&...) {}
}
//@ len | array_t
namespace wp {
template <class T> WP_INLINE int len(const array_t<T>& a) { return a.shape.dims[0]; }
}
//@ lower_bound
namespace wp {
// The first element not below x, or the last element of the range.
template <class T> WP_INLINE int lower_bound(const array_t<T>& a, int first, int end, const T& x) {
    --end;
    while (first < end) {
        const int middle = first + (end - first) / 2;
        if (*address(a, middle) < x) first = middle + 1;
        else end = middle;
    }
    return first;
}
template <class T> WP_INLINE int lower_bound(const array_t<T>& a, const T& x) { return lower_bound(a, 0, a.shape.dims[0], x); }
}
