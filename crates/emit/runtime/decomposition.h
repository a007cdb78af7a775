// Factorisations of small matrices and their adjoints. The 16-bit types are computed in float32.
//@ eig3
namespace wp {
// Jacobi's method on a symmetric matrix with the approximate rotations of McAdams et al. (2011): columns
// of `q` are eigenvectors, `q` is a rotation, and the values are in the order in which the sweeps leave
// them.
template <class T> WP_INLINE void eig3(const mat_t<3, 3, T>& m, mat_t<3, 3, T>& q, vec_t<3, T>& d) {
    mat_t<3, 3, T> a = m;
    // The lower triangle is the matrix; the values come from all of it.
    a.at(0, 1) = a.at(1, 0);
    a.at(0, 2) = a.at(2, 0);
    a.at(1, 2) = a.at(2, 1);
    q = identity<3, T>();
    for (int sweep = 0; sweep < 12; ++sweep)
        for (int n = 0; n < 3; ++n) {
            const int i = n, j = (n + 1) % 3;
            const T off = a.at(i, j);
            if (off == T(0)) continue;
            // Half the angle, where it is small; else an eighth of a turn for the whole.
            T ch = T(2) * (a.at(i, i) - a.at(j, j)), sh = off;
            if (T(5.8284271247461903) * sh * sh >= ch * ch) {
                ch = T(0.92387953251128674);
                sh = T(0.38268343236508977);
            }
            const T square = ch * ch + sh * sh, c = (ch * ch - sh * sh) / square, s = T(2) * ch * sh / square;
            for (int k = 0; k < 3; ++k) {
                const T x = a.at(k, i), y = a.at(k, j);
                a.at(k, i) = c * x + s * y;
                a.at(k, j) = c * y - s * x;
            }
            for (int k = 0; k < 3; ++k) {
                const T x = a.at(i, k), y = a.at(j, k), u = q.at(k, i), v = q.at(k, j);
                a.at(i, k) = c * x + s * y;
                a.at(j, k) = c * y - s * x;
                q.at(k, i) = c * u + s * v;
                q.at(k, j) = c * v - s * u;
            }
        }
    a = mul(mul(transpose(q), m), q);
    d = {a.at(0, 0), a.at(1, 1), a.at(2, 2)};
}
}
//@ reciprocal_gap
namespace wp {
// 1 / x, and 0 where two values coincide and their vectors are not determined.
template <class T> WP_INLINE T reciprocal_gap(const T& x) { return abs(x) < T(1e-12) ? T(0) : T(1) / x; }
}
//@ adj_eig3
namespace wp {
template <class T>
WP_INLINE void adj_eig3(const mat_t<3, 3, T>&, const mat_t<3, 3, T>& q, const vec_t<3, T>& d, mat_t<3, 3, T>& adj_m, const mat_t<3, 3, T>& adj_q,
                        const vec_t<3, T>& adj_d) {
    mat_t<3, 3, T> inner_adj = mul(transpose(q), adj_q);
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j) inner_adj.at(i, j) = i == j ? adj_d.c[i] : inner_adj.at(i, j) * reciprocal_gap(T(d.c[j] - d.c[i]));
    adj_m += mul(mul(q, inner_adj), transpose(q));
}
}
//@ qr3
namespace wp {
// Gram and Schmidt's method. `q` is a rotation: the last diagonal element of `r` takes the sign.
template <class T> WP_INLINE void qr3(const mat_t<3, 3, T>& m, mat_t<3, 3, T>& q, mat_t<3, 3, T>& r) {
    const vec_t<3, T> a(m.c[0], m.c[3], m.c[6]), b(m.c[1], m.c[4], m.c[7]);
    const vec_t<3, T> x = normalize(a);
    const vec_t<3, T> y = normalize(b - x * inner(x, b));
    q = matrix_from_cols<T>(x, y, cross(x, y));
    r = mul(transpose(q), m);
    r.c[3] = r.c[6] = r.c[7] = T(0);
}
}
//@ adj_qr3
namespace wp {
// With M = R dR^T - dQ^T Q, and its lower triangle mirrored: dA = (dQ + Q M) R^-T.
template <class T>
WP_INLINE void adj_qr3(const mat_t<3, 3, T>&, const mat_t<3, 3, T>& q, const mat_t<3, 3, T>& r, mat_t<3, 3, T>& adj_m, const mat_t<3, 3, T>& adj_q,
                       const mat_t<3, 3, T>& adj_r) {
    mat_t<3, 3, T> s = mul(r, transpose(adj_r)) - mul(transpose(adj_q), q);
    s.c[1] = s.c[3];
    s.c[2] = s.c[6];
    s.c[5] = s.c[7];
    adj_m += mul(adj_q + mul(q, s), transpose(inverse(r)));
}
}
//@ svd3
namespace wp {
// Both factors are rotations; the values descend in magnitude, and the last takes the sign.
template <class T> WP_INLINE void svd3(const mat_t<3, 3, T>& m, mat_t<3, 3, T>& u, vec_t<3, T>& sigma, mat_t<3, 3, T>& v) {
    vec_t<3, T> d;
    mat_t<3, 3, T> r;
    eig3(mul(transpose(m), m), v, d);
    for (int n = 0; n < 3; ++n) {
        const int i = n == 1, j = i + 1;
        if (d.c[i] < d.c[j]) {
            const T value = d.c[i];
            d.c[i] = d.c[j];
            d.c[j] = value;
            // A swap with one sign changed keeps the rotation a rotation.
            for (int k = 0; k < 3; ++k) {
                const T x = v.at(k, i);
                v.at(k, i) = v.at(k, j);
                v.at(k, j) = -x;
            }
        }
    }
    qr3(mul(m, v), u, r);
    sigma = {r.c[0], r.c[4], r.c[8]};
}
}
//@ svd2
namespace wp {
// Values descend and are not negative; `v` is a rotation by -135 to 45 degrees.
template <class T> WP_INLINE void svd2(const mat_t<2, 2, T>& m, mat_t<2, 2, T>& u, vec_t<2, T>& sigma, mat_t<2, 2, T>& v) {
    // M is the sum of a scaled rotation and a scaled reflection, by half the sum and half the
    // difference of whose angles the two factors turn.
    const T a = m.c[0], b = m.c[1], c = m.c[2], d = m.c[3];
    const T turn = atan2(T(c - b), T(a + d)), mirror = atan2(T(c + b), T(a - d));
    const T q = sqrt((a + d) * (a + d) + (c - b) * (c - b)) * T(0.5), r = sqrt((a - d) * (a - d) + (c + b) * (c + b)) * T(0.5);
    const T left = (turn + mirror) * T(0.5), right = (mirror - turn) * T(0.5);
    const T sign = q < r ? T(-1) : T(1);
    const T turned = sign * sin(right) > sign * cos(right) ? T(-1) : T(1);
    sigma = {q + r, abs(T(q - r))};
    const T both = turned * sign;
    u = {both * cos(left), -turned * sin(left), both * sin(left), turned * cos(left)};
    v = {both * cos(right), -both * sin(right), both * sin(right), both * cos(right)};
}
}
//@ adj_svd
namespace wp {
template <int N, class T>
WP_INLINE void adj_svd(const mat_t<N, N, T>& u, const vec_t<N, T>& s, const mat_t<N, N, T>& v, mat_t<N, N, T>& adj_m, const mat_t<N, N, T>& adj_u,
                       const vec_t<N, T>& adj_s, const mat_t<N, N, T>& adj_v) {
    const mat_t<N, N, T> p = mul(transpose(u), adj_u), q = mul(transpose(v), adj_v);
    mat_t<N, N, T> core;
    for (int i = 0; i < N; ++i)
        for (int j = 0; j < N; ++j) {
            const T f = reciprocal_gap(T(s.c[j] * s.c[j] - s.c[i] * s.c[i]));
            core.at(i, j) = i == j ? adj_s.c[i] : f * ((p.at(i, j) - p.at(j, i)) * s.c[j] + s.c[i] * (q.at(i, j) - q.at(j, i)));
        }
    adj_m += mul(mul(u, core), transpose(v));
}
}
//@ adj_svd3
namespace wp {
template <class T>
WP_INLINE void adj_svd3(const mat_t<3, 3, T>&, const mat_t<3, 3, T>& u, const vec_t<3, T>& s, const mat_t<3, 3, T>& v, mat_t<3, 3, T>& adj_m,
                        const mat_t<3, 3, T>& adj_u, const vec_t<3, T>& adj_s, const mat_t<3, 3, T>& adj_v) {
    adj_svd(u, s, v, adj_m, adj_u, adj_s, adj_v);
}
}
//@ adj_svd2
namespace wp {
template <class T>
WP_INLINE void adj_svd2(const mat_t<2, 2, T>&, const mat_t<2, 2, T>& u, const vec_t<2, T>& s, const mat_t<2, 2, T>& v, mat_t<2, 2, T>& adj_m,
                        const mat_t<2, 2, T>& adj_u, const vec_t<2, T>& adj_s, const mat_t<2, 2, T>& adj_v) {
    adj_svd(u, s, v, adj_m, adj_u, adj_s, adj_v);
}
}
//@ svd3 | float16
namespace wp {
WP_INLINE void svd3(const mat_t<3, 3, half_t>& m, mat_t<3, 3, half_t>& u, vec_t<3, half_t>& sigma, mat_t<3, 3, half_t>& v) {
    mat_t<3, 3, float> wide_u, wide_v;
    vec_t<3, float> wide_sigma;
    svd3(mat_t<3, 3, float>(m), wide_u, wide_sigma, wide_v);
    u = mat_t<3, 3, half_t>(wide_u);
    sigma = vec_t<3, half_t>(wide_sigma);
    v = mat_t<3, 3, half_t>(wide_v);
}
}
