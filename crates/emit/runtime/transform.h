// Rigid transforms: a translation `p` after a rotation `q`.
//@ transform_t
namespace wp {
template <class T> struct transform_t {
    using scalar_t = T;
    enum { components = 7 };
    vec_t<3, T> p;
    quat_t<T> q;
    transform_t() = default;
    explicit WP_INLINE transform_t(const T& fill) : p(fill), q(fill, fill, fill, fill) {}
    WP_INLINE transform_t(const vec_t<3, T>& translation, const quat_t<T>& rotation) : p(translation), q(rotation) {}
    WP_INLINE transform_t(const initializer_array<7, T>& v) : p(v[0], v[1], v[2]), q(v[3], v[4], v[5], v[6]) {}
    template <class U> explicit WP_INLINE transform_t(const transform_t<U>& other) : p(other.p), q(other.q) {}
    WP_INLINE T& operator[](int i) { return i < 3 ? p.c[i] : q.c[i - 3]; }
    WP_INLINE const T& operator[](int i) const { return i < 3 ? p.c[i] : q.c[i - 3]; }
    WP_INLINE T& component_ref(int i) { return (*this)[from_end(i, 7)]; }
};
}
//@ adj_transform_t
namespace wp {
template <class T> WP_INLINE void adj_transform_t(const T&, T& adj_fill, const transform_t<T>& adj_ret) {
    for (int i = 0; i < 7; ++i) adj_fill += adj_ret[i];
}
template <class T>
WP_INLINE void adj_transform_t(const vec_t<3, T>&, const quat_t<T>&, vec_t<3, T>& adj_p, quat_t<T>& adj_q, const transform_t<T>& adj_ret) {
    adj_p += adj_ret.p;
    adj_q += adj_ret.q;
}
template <class T>
WP_INLINE void adj_transform_t(const initializer_array<7, T>&, const initializer_array<7, T*>& adj_values, const transform_t<T>& adj_ret) {
    for (int i = 0; i < 7; ++i) *adj_values[i] += adj_ret[i];
}
template <class T, class U> WP_INLINE void adj_transform_t(const transform_t<U>&, transform_t<U>& adj_other, const transform_t<T>& adj_ret) {
    for (int i = 0; i < 7; ++i) adj_other[i] += static_cast<U>(adj_ret[i]);
}
}
//@ transform_identity
namespace wp {
template <class T> WP_INLINE transform_t<T> transform_identity() { return {vec_t<3, T>(T(0)), quat_identity<T>()}; }
}
//@ transform_get_translation
namespace wp {
template <class T> WP_INLINE vec_t<3, T> transform_get_translation(const transform_t<T>& t) { return t.p; }
}
//@ adj_transform_get_translation
namespace wp {
template <class T> WP_INLINE void adj_transform_get_translation(const transform_t<T>&, transform_t<T>& adj_t, const vec_t<3, T>& adj_ret) { adj_t.p += adj_ret; }
}
//@ transform_get_rotation
namespace wp {
template <class T> WP_INLINE quat_t<T> transform_get_rotation(const transform_t<T>& t) { return t.q; }
}
//@ adj_transform_get_rotation
namespace wp {
template <class T> WP_INLINE void adj_transform_get_rotation(const transform_t<T>&, transform_t<T>& adj_t, const quat_t<T>& adj_ret) { adj_t.q += adj_ret; }
}
//@ transform_set_translation
namespace wp {
template <class T> WP_INLINE void transform_set_translation(transform_t<T>& t, const vec_t<3, T>& p) { t.p = p; }
}
//@ adj_transform_set_translation
namespace wp {
template <class T> WP_INLINE void adj_transform_set_translation(const transform_t<T>&, const vec_t<3, T>&, transform_t<T>& adj_t, vec_t<3, T>& adj_p) {
    adj_p += adj_t.p;
}
}
//@ transform_set_rotation
namespace wp {
template <class T> WP_INLINE void transform_set_rotation(transform_t<T>& t, const quat_t<T>& q) { t.q = q; }
}
//@ adj_transform_set_rotation
namespace wp {
template <class T> WP_INLINE void adj_transform_set_rotation(const transform_t<T>&, const quat_t<T>&, transform_t<T>& adj_t, quat_t<T>& adj_q) {
    adj_q += adj_t.q;
}
}
//@ transform_set_translation_copy
namespace wp {
template <class T> WP_INLINE transform_t<T> transform_set_translation_copy(const transform_t<T>& t, const vec_t<3, T>& p) { return {p, t.q}; }
}
//@ adj_transform_set_translation_copy
namespace wp {
template <class T>
WP_INLINE void adj_transform_set_translation_copy(const transform_t<T>&, const vec_t<3, T>&, transform_t<T>& adj_t, vec_t<3, T>& adj_p, const transform_t<T>& adj_ret) {
    adj_t.q += adj_ret.q;
    adj_p += adj_ret.p;
}
}
//@ transform_set_rotation_copy
namespace wp {
template <class T> WP_INLINE transform_t<T> transform_set_rotation_copy(const transform_t<T>& t, const quat_t<T>& q) { return {t.p, q}; }
}
//@ adj_transform_set_rotation_copy
namespace wp {
template <class T>
WP_INLINE void adj_transform_set_rotation_copy(const transform_t<T>&, const quat_t<T>&, transform_t<T>& adj_t, quat_t<T>& adj_q, const transform_t<T>& adj_ret) {
    adj_t.p += adj_ret.p;
    adj_q += adj_ret.q;
}
}
//@ transform_add_inplace
namespace wp {
template <class T> WP_INLINE void transform_add_inplace(transform_t<T>& t, const vec_t<3, T>& p) { t.p += p; }
}
//@ adj_transform_add_inplace
namespace wp {
template <class T> WP_INLINE void adj_transform_add_inplace(const transform_t<T>&, const vec_t<3, T>&, transform_t<T>& adj_t, vec_t<3, T>& adj_p) { adj_p += adj_t.p; }
}
//@ transform_sub_inplace
namespace wp {
template <class T> WP_INLINE void transform_sub_inplace(transform_t<T>& t, const vec_t<3, T>& p) { t.p -= p; }
}
//@ adj_transform_sub_inplace
namespace wp {
template <class T> WP_INLINE void adj_transform_sub_inplace(const transform_t<T>&, const vec_t<3, T>&, transform_t<T>& adj_t, vec_t<3, T>& adj_p) { adj_p -= adj_t.p; }
}
//@ transform_multiply
namespace wp {
template <class T> WP_INLINE transform_t<T> transform_multiply(const transform_t<T>& a, const transform_t<T>& b) {
    return {quat_rotate(a.q, b.p) + a.p, mul(a.q, b.q)};
}
}
//@ adj_transform_multiply
namespace wp {
template <class T>
WP_INLINE void adj_transform_multiply(const transform_t<T>& a, const transform_t<T>& b, transform_t<T>& adj_a, transform_t<T>& adj_b, const transform_t<T>& adj_ret) {
    adj_quat_rotate(a.q, b.p, adj_a.q, adj_b.p, adj_ret.p);
    adj_a.p += adj_ret.p;
    adj_mul(a.q, b.q, adj_a.q, adj_b.q, adj_ret.q);
}
}
//@ mul | transform_t
namespace wp {
template <class T> WP_INLINE transform_t<T> mul(const transform_t<T>& a, const transform_t<T>& b) { return transform_multiply(a, b); }
}
//@ adj_mul | transform_t
namespace wp {
template <class T>
WP_INLINE void adj_mul(const transform_t<T>& a, const transform_t<T>& b, transform_t<T>& adj_a, transform_t<T>& adj_b, const transform_t<T>& adj_ret) {
    adj_transform_multiply(a, b, adj_a, adj_b, adj_ret);
}
}
//@ transform_inverse
namespace wp {
template <class T> WP_INLINE transform_t<T> transform_inverse(const transform_t<T>& t) {
    const quat_t<T> inverse = quat_inverse(t.q);
    return {-quat_rotate(inverse, t.p), inverse};
}
}
//@ adj_transform_inverse
namespace wp {
template <class T> WP_INLINE void adj_transform_inverse(const transform_t<T>& t, transform_t<T>& adj_t, const transform_t<T>& adj_ret) {
    quat_t<T> adj_inverse = adj_ret.q;
    adj_quat_rotate(quat_inverse(t.q), t.p, adj_inverse, adj_t.p, -adj_ret.p);
    adj_t.q += quat_inverse(adj_inverse);
}
}
//@ transform_point | transform_t
namespace wp {
template <class T> WP_INLINE vec_t<3, T> transform_point(const transform_t<T>& t, const vec_t<3, T>& x) { return t.p + quat_rotate(t.q, x); }
}
//@ adj_transform_point | transform_t
namespace wp {
template <class T>
WP_INLINE void adj_transform_point(const transform_t<T>& t, const vec_t<3, T>& x, transform_t<T>& adj_t, vec_t<3, T>& adj_x, const vec_t<3, T>& adj_ret) {
    adj_t.p += adj_ret;
    adj_quat_rotate(t.q, x, adj_t.q, adj_x, adj_ret);
}
}
//@ transform_vector | transform_t
namespace wp {
template <class T> WP_INLINE vec_t<3, T> transform_vector(const transform_t<T>& t, const vec_t<3, T>& x) { return quat_rotate(t.q, x); }
}
//@ adj_transform_vector | transform_t
namespace wp {
template <class T>
WP_INLINE void adj_transform_vector(const transform_t<T>& t, const vec_t<3, T>& x, transform_t<T>& adj_t, vec_t<3, T>& adj_x, const vec_t<3, T>& adj_ret) {
    adj_quat_rotate(t.q, x, adj_t.q, adj_x, adj_ret);
}
}
//@ transform_point | mat_t
namespace wp {
template <class T> WP_INLINE vec_t<3, T> transform_point(const mat_t<4, 4, T>& m, const vec_t<3, T>& x) {
    vec_t<3, T> r;
    for (int i = 0; i < 3; ++i) r.c[i] = m.at(i, 0) * x.c[0] + m.at(i, 1) * x.c[1] + m.at(i, 2) * x.c[2] + m.at(i, 3);
    return r;
}
}
//@ adj_transform_point | mat_t
namespace wp {
template <class T>
WP_INLINE void adj_transform_point(const mat_t<4, 4, T>& m, const vec_t<3, T>& x, mat_t<4, 4, T>& adj_m, vec_t<3, T>& adj_x, const vec_t<3, T>& adj_ret) {
    for (int i = 0; i < 3; ++i) {
        for (int j = 0; j < 3; ++j) {
            adj_m.at(i, j) += adj_ret.c[i] * x.c[j];
            adj_x.c[j] += adj_ret.c[i] * m.at(i, j);
        }
        adj_m.at(i, 3) += adj_ret.c[i];
    }
}
}
//@ transform_vector | mat_t
namespace wp {
template <class T> WP_INLINE vec_t<3, T> transform_vector(const mat_t<4, 4, T>& m, const vec_t<3, T>& x) {
    vec_t<3, T> r;
    for (int i = 0; i < 3; ++i) r.c[i] = m.at(i, 0) * x.c[0] + m.at(i, 1) * x.c[1] + m.at(i, 2) * x.c[2];
    return r;
}
}
//@ adj_transform_vector | mat_t
namespace wp {
template <class T>
WP_INLINE void adj_transform_vector(const mat_t<4, 4, T>& m, const vec_t<3, T>& x, mat_t<4, 4, T>& adj_m, vec_t<3, T>& adj_x, const vec_t<3, T>& adj_ret) {
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j) {
            adj_m.at(i, j) += adj_ret.c[i] * x.c[j];
            adj_x.c[j] += adj_ret.c[i] * m.at(i, j);
        }
}
}
