// Quaternions (x, y, z, w), w the real part, and rotations by them.
//@ quat_t
namespace wp {
template <class T> struct quat_t {
    using scalar_t = T;
    enum { components = 4 };
    T c[4];
    quat_t() = default;
    // One number is the first component.
    explicit WP_INLINE quat_t(const T& x) : c{x, T(0), T(0), T(0)} {}
    WP_INLINE quat_t(const T& x, const T& y, const T& z, const T& w) : c{x, y, z, w} {}
    WP_INLINE quat_t(const vec_t<3, T>& v, const T& w) : c{v.c[0], v.c[1], v.c[2], w} {}
    WP_INLINE quat_t(const initializer_array<4, T>& values) : c{values[0], values[1], values[2], values[3]} {}
    template <class U> explicit WP_INLINE quat_t(const quat_t<U>& q)
        : c{static_cast<T>(q.c[0]), static_cast<T>(q.c[1]), static_cast<T>(q.c[2]), static_cast<T>(q.c[3])} {}
    WP_INLINE T& operator[](int i) { return c[i]; }
    WP_INLINE const T& operator[](int i) const { return c[i]; }
    WP_INLINE T& component_ref(int i) { return c[from_end(i, 4)]; }
    WP_INLINE vec_t<3, T> imaginary() const { return {c[0], c[1], c[2]}; }
};
}
//@ adj_quat_t
namespace wp {
template <class T>
WP_INLINE void adj_quat_t(const T&, const T&, const T&, const T&, T& adj_x, T& adj_y, T& adj_z, T& adj_w, const quat_t<T>& adj_ret) {
    adj_x += adj_ret.c[0];
    adj_y += adj_ret.c[1];
    adj_z += adj_ret.c[2];
    adj_w += adj_ret.c[3];
}
template <class T> WP_INLINE void adj_quat_t(const vec_t<3, T>&, const T&, vec_t<3, T>& adj_v, T& adj_w, const quat_t<T>& adj_ret) {
    adj_v += adj_ret.imaginary();
    adj_w += adj_ret.c[3];
}
template <class T, class U> WP_INLINE void adj_quat_t(const quat_t<U>&, quat_t<U>& adj_q, const quat_t<T>& adj_ret) {
    for (int i = 0; i < 4; ++i) adj_q.c[i] += static_cast<U>(adj_ret.c[i]);
}
}
//@ quat_identity
namespace wp {
template <class T> WP_INLINE quat_t<T> quat_identity() { return {T(0), T(0), T(0), T(1)}; }
}
//@ mul | quat_t
namespace wp {
template <class T> WP_INLINE quat_t<T> mul(const quat_t<T>& a, const quat_t<T>& b) {
    const T *p = a.c, *q = b.c;
    return {p[3] * q[0] + q[3] * p[0] + p[1] * q[2] - q[1] * p[2], p[3] * q[1] + q[3] * p[1] + p[2] * q[0] - q[2] * p[0],
            p[3] * q[2] + q[3] * p[2] + p[0] * q[1] - q[0] * p[1], p[3] * q[3] - p[0] * q[0] - p[1] * q[1] - p[2] * q[2]};
}
}
//@ adj_mul | quat_t
namespace wp {
// <ab, r> = <a, r b*> = <b, a* r>.
template <class T>
WP_INLINE void adj_mul(const quat_t<T>& a, const quat_t<T>& b, quat_t<T>& adj_a, quat_t<T>& adj_b, const quat_t<T>& adj_ret) {
    adj_a += mul(adj_ret, quat_inverse(b));
    adj_b += mul(quat_inverse(a), adj_ret);
}
}
//@ quat_inverse
namespace wp {
// The conjugate: rotations are unit quaternions.
template <class T> WP_INLINE quat_t<T> quat_inverse(const quat_t<T>& q) { return {-q.c[0], -q.c[1], -q.c[2], q.c[3]}; }
}
//@ adj_quat_inverse
namespace wp {
template <class T> WP_INLINE void adj_quat_inverse(const quat_t<T>&, quat_t<T>& adj_q, const quat_t<T>& adj_ret) { adj_q += quat_inverse(adj_ret); }
}
//@ normalize | quat_t
namespace wp {
// Zero has no direction and becomes the identity rotation.
template <class T> WP_INLINE quat_t<T> normalize(const quat_t<T>& q) {
    const T l = length(q);
    return l > T(0) ? q * (T(1) / l) : quat_t<T>{T(0), T(0), T(0), T(1)};
}
}
//@ adj_normalize | quat_t
namespace wp {
template <class T> WP_INLINE void adj_normalize(const quat_t<T>& q, quat_t<T>& adj_q, const quat_t<T>& adj_ret) {
    const T l = length(q);
    if (l > T(0)) adj_q += adj_ret / l - q * (inner(q, adj_ret) / (l * l * l));
}
}
//@ quat_rotate
namespace wp {
template <class T> WP_INLINE vec_t<3, T> quat_rotate(const quat_t<T>& q, const vec_t<3, T>& x) {
    const vec_t<3, T> v = q.imaginary();
    const T w = q.c[3];
    // The cross product last, as the interpreter adds.
    return x * (T(2) * w * w - T(1)) + v * (T(2) * inner(v, x)) + cross(v, x) * (T(2) * w);
}
}
//@ adj_quat_rotate
namespace wp {
template <class T>
WP_INLINE void adj_quat_rotate(const quat_t<T>& q, const vec_t<3, T>& x, quat_t<T>& adj_q, vec_t<3, T>& adj_x, const vec_t<3, T>& g) {
    const vec_t<3, T> v = q.imaginary();
    const T w = q.c[3], two = T(2);
    const vec_t<3, T> adj_v = cross(x, g) * (two * w) + g * (two * inner(v, x)) + x * (two * inner(v, g));
    adj_q += quat_t<T>(adj_v, T(4) * w * inner(x, g) + two * inner(cross(v, x), g));
    adj_x += g * (two * w * w - T(1)) + cross(g, v) * (two * w) + v * (two * inner(v, g));
}
}
//@ quat_rotate_inv
namespace wp {
template <class T> WP_INLINE vec_t<3, T> quat_rotate_inv(const quat_t<T>& q, const vec_t<3, T>& x) { return quat_rotate(quat_inverse(q), x); }
}
//@ adj_quat_rotate_inv
namespace wp {
template <class T>
WP_INLINE void adj_quat_rotate_inv(const quat_t<T>& q, const vec_t<3, T>& x, quat_t<T>& adj_q, vec_t<3, T>& adj_x, const vec_t<3, T>& adj_ret) {
    quat_t<T> adj_inverse = {};
    adj_quat_rotate(quat_inverse(q), x, adj_inverse, adj_x, adj_ret);
    adj_q += quat_inverse(adj_inverse);
}
}
//@ quat_to_matrix
namespace wp {
template <class T> WP_INLINE mat_t<3, 3, T> quat_to_matrix(const quat_t<T>& q) {
    const T zero(0), one(1);
    return matrix_from_cols<T>(quat_rotate(q, vec_t<3, T>(one, zero, zero)), quat_rotate(q, vec_t<3, T>(zero, one, zero)),
                               quat_rotate(q, vec_t<3, T>(zero, zero, one)));
}
}
//@ adj_quat_to_matrix
namespace wp {
template <class T> WP_INLINE void adj_quat_to_matrix(const quat_t<T>& q, quat_t<T>& adj_q, const mat_t<3, 3, T>& g) {
    for (int j = 0; j < 3; ++j) {
        vec_t<3, T> basis(T(0)), adj_basis = {};
        basis.c[j] = T(1);
        adj_quat_rotate(q, basis, adj_q, adj_basis, vec_t<3, T>(g.at(0, j), g.at(1, j), g.at(2, j)));
    }
}
}
//@ quat_from_matrix
namespace wp {
// The largest of |x|, |y|, |z|, |w| is found first, from the diagonal; dividing by it is safe.
template <class T> WP_INLINE quat_t<T> quat_from_matrix(const mat_t<3, 3, T>& m) {
    const T trace = m.at(0, 0) + m.at(1, 1) + m.at(2, 2);
    quat_t<T> q;
    if (trace >= T(0)) {
        const T h = sqrt(trace + T(1)), s = T(0.5) / h;
        q = {(m.at(2, 1) - m.at(1, 2)) * s, (m.at(0, 2) - m.at(2, 0)) * s, (m.at(1, 0) - m.at(0, 1)) * s, T(0.5) * h};
    } else {
        int i = 0;
        if (m.at(1, 1) > m.at(0, 0)) i = 1;
        if (m.at(2, 2) > m.at(i, i)) i = 2;
        const int j = (i + 1) % 3, k = (i + 2) % 3;
        const T h = sqrt(m.at(i, i) - (m.at(j, j) + m.at(k, k)) + T(1)), s = T(0.5) / h;
        q.c[i] = T(0.5) * h;
        q.c[j] = (m.at(j, i) + m.at(i, j)) * s;
        q.c[k] = (m.at(k, i) + m.at(i, k)) * s;
        q.c[3] = (m.at(k, j) - m.at(j, k)) * s;
    }
    return normalize(q);
}
}
//@ adj_quat_from_matrix
namespace wp {
template <class T> WP_INLINE void adj_quat_from_matrix(const mat_t<3, 3, T>& m, mat_t<3, 3, T>& adj_m, const quat_t<T>& adj_ret) {
    const T trace = m.at(0, 0) + m.at(1, 1) + m.at(2, 2);
    quat_t<T> q, g = {};
    if (trace >= T(0)) {
        const T h = sqrt(trace + T(1)), s = T(0.5) / h;
        const T d[3] = {m.at(2, 1) - m.at(1, 2), m.at(0, 2) - m.at(2, 0), m.at(1, 0) - m.at(0, 1)};
        q = {d[0] * s, d[1] * s, d[2] * s, T(0.5) * h};
        adj_normalize(q, g, adj_ret);
        const T adj_h = T(0.5) * g.c[3] - (g.c[0] * d[0] + g.c[1] * d[1] + g.c[2] * d[2]) * s / h;
        for (int i = 0; i < 3; ++i) {
            const int j = (i + 1) % 3, k = (i + 2) % 3;
            adj_m.at(i, i) += adj_h * T(0.5) / h;
            adj_m.at(k, j) += g.c[i] * s;
            adj_m.at(j, k) -= g.c[i] * s;
        }
    } else {
        int i = 0;
        if (m.at(1, 1) > m.at(0, 0)) i = 1;
        if (m.at(2, 2) > m.at(i, i)) i = 2;
        const int j = (i + 1) % 3, k = (i + 2) % 3;
        const T h = sqrt(m.at(i, i) - m.at(j, j) - m.at(k, k) + T(1)), s = T(0.5) / h;
        const T a = m.at(j, i) + m.at(i, j), b = m.at(k, i) + m.at(i, k), c = m.at(k, j) - m.at(j, k);
        q.c[i] = T(0.5) * h;
        q.c[j] = a * s;
        q.c[k] = b * s;
        q.c[3] = c * s;
        adj_normalize(q, g, adj_ret);
        const T adj_h = T(0.5) * g.c[i] - (g.c[j] * a + g.c[k] * b + g.c[3] * c) * s / h;
        const T adj_diagonal = adj_h * T(0.5) / h;
        adj_m.at(i, i) += adj_diagonal;
        adj_m.at(j, j) -= adj_diagonal;
        adj_m.at(k, k) -= adj_diagonal;
        adj_m.at(j, i) += g.c[j] * s;
        adj_m.at(i, j) += g.c[j] * s;
        adj_m.at(k, i) += g.c[k] * s;
        adj_m.at(i, k) += g.c[k] * s;
        adj_m.at(k, j) += g.c[3] * s;
        adj_m.at(j, k) -= g.c[3] * s;
    }
}
}
//@ quat_from_matrix
namespace wp {
template <class T> WP_INLINE quat_t<T> quat_from_matrix(const mat_t<4, 4, T>& m) {
    const T* c = m.c;
    return quat_from_matrix(mat_t<3, 3, T>(c[0], c[1], c[2], c[4], c[5], c[6], c[8], c[9], c[10]));
}
}
//@ adj_quat_from_matrix
namespace wp {
template <class T> WP_INLINE void adj_quat_from_matrix(const mat_t<4, 4, T>& m, mat_t<4, 4, T>& adj_m, const quat_t<T>& adj_ret) {
    const T* c = m.c;
    const mat_t<3, 3, T> r(c[0], c[1], c[2], c[4], c[5], c[6], c[8], c[9], c[10]);
    mat_t<3, 3, T> adj_r = {};
    adj_quat_from_matrix(r, adj_r, adj_ret);
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j) adj_m.at(i, j) += adj_r.at(i, j);
}
}
//@ quat_from_axis_angle
namespace wp {
template <class T> WP_INLINE quat_t<T> quat_from_axis_angle(const vec_t<3, T>& axis, const T& angle) {
    const T half = angle * T(0.5);
    return {axis * sin(half), cos(half)};
}
}
//@ adj_quat_from_axis_angle
namespace wp {
template <class T>
WP_INLINE void adj_quat_from_axis_angle(const vec_t<3, T>& axis, const T& angle, vec_t<3, T>& adj_axis, T& adj_angle, const quat_t<T>& adj_ret) {
    const T half = angle * T(0.5), s = sin(half), c = cos(half);
    const vec_t<3, T> g = adj_ret.imaginary();
    adj_axis += g * s;
    adj_angle += T(0.5) * (inner(axis, g) * c - adj_ret.c[3] * s);
}
}
//@ quat_to_axis_angle
namespace wp {
// The rotation of at most half a turn.
template <class T> WP_INLINE void quat_to_axis_angle(const quat_t<T>& q, vec_t<3, T>& axis, T& angle) {
    const vec_t<3, T> v = q.imaginary();
    const T l = length(v);
    axis = q.c[3] < T(0) ? -normalize(v) : normalize(v);
    angle = T(2) * atan2(l, abs(q.c[3]));
}
}
//@ adj_quat_to_axis_angle
namespace wp {
template <class T>
WP_INLINE void adj_quat_to_axis_angle(const quat_t<T>& q, const vec_t<3, T>&, const T&, quat_t<T>& adj_q, const vec_t<3, T>& adj_axis, const T& adj_angle) {
    const vec_t<3, T> v = q.imaginary();
    const T l = length(v), w = q.c[3], flip = w < T(0) ? T(-1) : T(1), d = l * l + w * w;
    vec_t<3, T> adj_v = {};
    adj_normalize(v, normalize(v), adj_v, adj_axis * flip);
    T adj_w = T(0);
    if (d > T(0)) {
        if (l > T(0)) adj_v += v * (T(2) * adj_angle * abs(w) / (d * l));
        adj_w -= T(2) * adj_angle * l * flip / d;
    }
    adj_q += quat_t<T>(adj_v, adj_w);
}
}
//@ quat_rpy
namespace wp {
template <class T> WP_INLINE quat_t<T> quat_rpy(const T& roll, const T& pitch, const T& yaw) {
    const T h = T(0.5);
    const T cr = cos(roll * h), sr = sin(roll * h), cp = cos(pitch * h), sp = sin(pitch * h), cy = cos(yaw * h), sy = sin(yaw * h);
    return {sr * cp * cy - cr * sp * sy, cr * sp * cy + sr * cp * sy, cr * cp * sy - sr * sp * cy, cr * cp * cy + sr * sp * sy};
}
}
//@ adj_quat_rpy
namespace wp {
template <class T>
WP_INLINE void adj_quat_rpy(const T& roll, const T& pitch, const T& yaw, T& adj_roll, T& adj_pitch, T& adj_yaw, const quat_t<T>& g) {
    const T h = T(0.5);
    const T cr = cos(roll * h), sr = sin(roll * h), cp = cos(pitch * h), sp = sin(pitch * h), cy = cos(yaw * h), sy = sin(yaw * h);
    adj_roll += h * (g.c[0] * (cr * cp * cy + sr * sp * sy) + g.c[1] * (cr * cp * sy - sr * sp * cy)
                     - g.c[2] * (sr * cp * sy + cr * sp * cy) + g.c[3] * (cr * sp * sy - sr * cp * cy));
    adj_pitch += h * (-g.c[0] * (sr * sp * cy + cr * cp * sy) + g.c[1] * (cr * cp * cy - sr * sp * sy)
                      - g.c[2] * (cr * sp * sy + sr * cp * cy) + g.c[3] * (sr * cp * sy - cr * sp * cy));
    adj_yaw += h * (-g.c[0] * (sr * cp * sy + cr * sp * cy) + g.c[1] * (sr * cp * cy - cr * sp * sy)
                    + g.c[2] * (cr * cp * cy + sr * sp * sy) + g.c[3] * (sr * sp * cy - cr * cp * sy));
}
}
//@ quat_slerp
namespace wp {
// From q0 by the fraction t of the rotation that leads to q1.
template <class T> WP_INLINE quat_t<T> quat_slerp(const quat_t<T>& q0, const quat_t<T>& q1, const T& t) {
    vec_t<3, T> axis;
    T angle;
    quat_to_axis_angle(mul(quat_inverse(q0), q1), axis, angle);
    return mul(q0, quat_from_axis_angle(axis, T(t * angle)));
}
}
//@ adj_quat_slerp
namespace wp {
template <class T>
WP_INLINE void adj_quat_slerp(const quat_t<T>& q0, const quat_t<T>& q1, const T& t, const quat_t<T>&, quat_t<T>& adj_q0, quat_t<T>& adj_q1, T& adj_t,
                              const quat_t<T>& adj_ret) {
    vec_t<3, T> axis, adj_axis = {};
    T angle, adj_part = T(0);
    const quat_t<T> inverse = quat_inverse(q0), delta = mul(inverse, q1);
    quat_to_axis_angle(delta, axis, angle);
    quat_t<T> adj_step = {}, adj_delta = {}, adj_inverse = {};
    adj_mul(q0, quat_from_axis_angle(axis, T(t * angle)), adj_q0, adj_step, adj_ret);
    adj_quat_from_axis_angle(axis, T(t * angle), adj_axis, adj_part, adj_step);
    adj_t += adj_part * angle;
    adj_quat_to_axis_angle(delta, axis, angle, adj_delta, adj_axis, T(adj_part * t));
    adj_mul(inverse, q1, adj_inverse, adj_q1, adj_delta);
    adj_q0 += quat_inverse(adj_inverse);
}
}
