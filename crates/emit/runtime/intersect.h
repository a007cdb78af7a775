// Pairs of triangles and of edges. The host's arithmetic, in its order.
//@ intersect_tri_tri
namespace wp {
template <class T> WP_INLINE T tri_size(T x) { return x < T(0) ? -x : x; }
template <class T> WP_INLINE T tri_dot(const T* a, const T* b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }
template <class T> WP_INLINE void tri_cross(const T* a, const T* b, T* r) {
    r[0] = a[1] * b[2] - a[2] * b[1];
    r[1] = a[2] * b[0] - a[0] * b[2];
    r[2] = a[0] * b[1] - a[1] * b[0];
}
template <class T> WP_INLINE void tri_normal(const T* const* t, T* normal) {
    const T one[3] = {t[1][0] - t[0][0], t[1][1] - t[0][1], t[1][2] - t[0][2]};
    const T other[3] = {t[2][0] - t[0][0], t[2][1] - t[0][1], t[2][2] - t[0][2]};
    tri_cross(one, other, normal);
}
// The corners of a triangle as distances from the plane of another; whether all are on one side.
template <class T> WP_INLINE bool tri_one_side(const T* normal, const T* plane, const T* const* t, T* d) {
    const T offset = -tri_dot(normal, plane);
    for (int n = 0; n < 3; ++n) {
        d[n] = tri_dot(normal, t[n]) + offset;
        if (double(tri_size(d[n])) < 1e-6) d[n] = T(0);
    }
    return d[0] * d[1] > T(0) && d[0] * d[2] > T(0);
}
template <class T> WP_INLINE bool tri_cut(const T* v0, const T* v1, const T* u0, const T* u1, int i, int j) {
    const T ax = v1[i] - v0[i], ay = v1[j] - v0[j], bx = u0[i] - u1[i], by = u0[j] - u1[j], cx = v0[i] - u0[i], cy = v0[j] - u0[j];
    const T f = ay * bx - ax * by, d = by * cx - bx * cy;
    if (!((f > T(0) && d >= T(0) && d <= f) || (f < T(0) && d <= T(0) && d >= f))) return false;
    const T e = ax * cy - ay * cx;
    return f > T(0) ? e >= T(0) && e <= f : e <= T(0) && e >= f;
}
template <class T> WP_INLINE bool tri_inside(const T* p, const T* const* t, int i, int j) {
    T d[3];
    for (int n = 0; n < 3; ++n) {
        const T *from = t[n], *to = t[(n + 1) % 3];
        const T a = to[j] - from[j], b = -(to[i] - from[i]), c = -a * from[i] - b * from[j];
        d[n] = a * p[i] + b * p[j] + c;
    }
    return d[0] * d[1] > T(0) && d[0] * d[2] > T(0);
}
// Triangles of one plane, along the two axes on which it has the largest shadow.
template <class T> WP_INLINE bool tri_coplanar(const T* normal, const T* const* v, const T* const* u) {
    const T x = tri_size(normal[0]), y = tri_size(normal[1]), z = tri_size(normal[2]);
    const bool along_x = x > y && x > z, along_z = !along_x && (x > y || z > y);
    const int i = along_x ? 1 : 0, j = along_z ? 1 : 2;
    for (int m = 0; m < 3; ++m)
        for (int n = 0; n < 3; ++n)
            if (tri_cut(v[m], v[(m + 1) % 3], u[n], u[(n + 1) % 3], i, j)) return true;
    return tri_inside(v[0], u, i, j) || tri_inside(u[0], v, i, j);
}
// Where a triangle crosses the line in which both planes meet, without the divisions; false where they are the same.
template <class T> WP_INLINE bool tri_crossing(const T* const* t, int axis, const T* d, T& base, T* edge, T* depth) {
    int alone = 0;
    if (d[0] * d[1] > T(0)) alone = 2;
    else if (d[0] * d[2] > T(0)) alone = 1;
    else if (d[1] * d[2] > T(0) || d[0] != T(0)) alone = 0;
    else if (d[1] != T(0)) alone = 1;
    else if (d[2] != T(0)) alone = 2;
    else return false;
    const int other[2] = {alone == 0 ? 1 : 0, alone == 2 ? 1 : 2};
    base = t[alone][axis];
    for (int n = 0; n < 2; ++n) {
        edge[n] = (t[other[n]][axis] - t[alone][axis]) * d[alone];
        depth[n] = d[alone] - d[other[n]];
    }
    return true;
}
template <class T> WP_INLINE int tri_meet(const T* const* v, const T* const* u) {
    T n1[3], n2[3], line[3], du[3], dv[3];
    tri_normal(v, n1);
    tri_normal(u, n2);
    if (tri_one_side(n1, v[0], u, du) || tri_one_side(n2, u[0], v, dv)) return 0;
    tri_cross(n1, n2, line);
    int axis = 0;
    for (int n = 1; n < 3; ++n)
        if (tri_size(line[n]) > tri_size(line[axis])) axis = n;
    T a, d, b[2], e[2], x[2], y[2];
    if (!tri_crossing(v, axis, dv, a, b, x) || !tri_crossing(u, axis, du, d, e, y)) return tri_coplanar(n1, v, u);
    const T xx = x[0] * x[1], yy = y[0] * y[1], xxyy = xx * yy;
    const T v0 = a * xxyy + b[0] * x[1] * yy, v1 = a * xxyy + b[1] * x[0] * yy;
    const T u0 = d * xxyy + e[0] * xx * y[1], u1 = d * xxyy + e[1] * xx * y[0];
    const bool above = (v0 > v1 ? v0 : v1) < (u0 > u1 ? u1 : u0), below = (u0 > u1 ? u0 : u1) < (v0 > v1 ? v1 : v0);
    return !(above || below);
}
template <class V> WP_INLINE int intersect_tri_tri(const V& v0, const V& v1, const V& v2, const V& u0, const V& u1, const V& u2) {
    using T = decltype(v0.c[0] + v0.c[0]);
    const T *v[3] = {v0.c, v1.c, v2.c}, *u[3] = {u0.c, u1.c, u2.c};
    return tri_meet<T>(v, u);
}
}
//@ adj_intersect_tri_tri
namespace wp {
template <class... A> WP_INLINE void adj_intersect_tri_tri(const A&...) {}
}
//@ closest_point_edge_edge adj_closest_point_edge_edge
namespace wp {
struct edge_pair {
    // Which rule gave the shares: both edges are points, the first is, the share to the second one's start or end,
    // both shares, both of which the first does not count in gradients.
    enum { points, first_point, to_start, to_end, both, parallel };
    float d1[3], d2[3], r[3], away[3], a, b, c, e, f, denominator, free, s, t;
    int rule;
    static WP_INLINE float dot(const float* x, const float* y) { return x[0] * y[0] + x[1] * y[1] + x[2] * y[2]; }
    static WP_INLINE float difference(float a, float b, float c, float d) {
        const float cd = c * d;
        return ::fmaf(a, b, -cd) + ::fmaf(-c, d, cd);
    }
    static WP_INLINE float share(float x) { return ::fminf(::fmaxf(x, 0.0f), 1.0f); }
    template <class V> WP_INLINE edge_pair(const V& p1, const V& q1, const V& p2, const V& q2, float epsilon) : free(0.0f), s(0.0f), t(0.0f), rule(points) {
        for (int n = 0; n < 3; ++n) {
            d1[n] = q1.c[n] - p1.c[n];
            d2[n] = q2.c[n] - p2.c[n];
            r[n] = p1.c[n] - p2.c[n];
        }
        a = dot(d1, d1);
        e = dot(d2, d2);
        f = dot(d2, r);
        b = dot(d1, d2);
        c = dot(d1, r);
        denominator = difference(a, e, b, b);
        if (a <= epsilon && e > epsilon) {
            rule = first_point;
            free = f / e;
            t = share(free);
        } else if (a > epsilon && e <= epsilon) {
            rule = to_start;
            free = -c / a;
            s = share(free);
        } else if (a > epsilon) {
            const bool apart = denominator > 0.0f;
            if (apart) free = difference(b, f, c, e) / denominator;
            const float along = apart ? share(free) : 0.0f, across = (b * along + f) / e;
            if (across < 0.0f || across > 1.0f) {
                rule = across < 0.0f ? to_start : to_end;
                free = (across < 0.0f ? -c : b - c) / a;
                s = share(free);
                t = across < 0.0f ? 0.0f : 1.0f;
            } else {
                rule = apart && denominator > 1e-6f * a * e ? both : parallel;
                s = along;
                t = across;
            }
        }
        for (int n = 0; n < 3; ++n) away[n] = (p2.c[n] + t * d2[n]) - (p1.c[n] + s * d1[n]);
    }
};
}
//@ closest_point_edge_edge
namespace wp {
template <class V> WP_INLINE V closest_point_edge_edge(const V& p1, const V& q1, const V& p2, const V& q2, float epsilon) {
    const edge_pair p(p1, q1, p2, q2, epsilon);
    return V(p.s, p.t, ::sqrtf(p.dot(p.away, p.away)));
}
}
//@ adj_closest_point_edge_edge
namespace wp {
template <class V>
WP_INLINE void adj_closest_point_edge_edge(const V& p1, const V& q1, const V& p2, const V& q2, float epsilon, V& adj_p1, V& adj_q1, V& adj_p2, V& adj_q2, float&, const V& adj_ret) {
    const edge_pair p(p1, q1, p2, q2, epsilon);
    const float distance = ::sqrtf(p.dot(p.away, p.away));
    float g[3];
    for (int n = 0; n < 3; ++n) g[n] = distance > 0.0f ? adj_ret.c[2] / distance * p.away[n] : 0.0f;
    float gs = adj_ret.c[0] - p.dot(g, p.d1), gt = adj_ret.c[1] + p.dot(g, p.d2);
    // Of the products of both directions and of what lies between the starts.
    float ga = 0.0f, gb = 0.0f, gc = 0.0f, ge = 0.0f, gf = 0.0f;
    const bool inside = p.free >= 0.0f && p.free <= 1.0f;
    if (p.rule == p.both || p.rule == p.parallel) {
        gb = gt * p.s / p.e;
        gs += gt * p.b / p.e;
        gf = gt / p.e;
        ge = -gt * p.t / p.e;
    }
    if (inside && p.rule == p.first_point) {
        gf = gt / p.e;
        ge = -gt * p.t / p.e;
    } else if (inside && (p.rule == p.to_start || p.rule == p.to_end)) {
        gc = -gs / p.a;
        ga = -gs * p.s / p.a;
        if (p.rule == p.to_end) gb = gs / p.a;
    } else if (inside && p.rule == p.both) {
        const float over = gs / p.denominator, lost = -over * p.s;
        ga = lost * p.e;
        gb += over * p.f - 2.0f * lost * p.b;
        gc = -over * p.e;
        ge += lost * p.a - over * p.c;
        gf += over * p.b;
    }
    for (int n = 0; n < 3; ++n) {
        const float of_d1 = 2.0f * ga * p.d1[n] + gb * p.d2[n] + gc * p.r[n] - p.s * g[n];
        const float of_d2 = 2.0f * ge * p.d2[n] + gb * p.d1[n] + gf * p.r[n] + p.t * g[n];
        const float of_r = gc * p.d1[n] + gf * p.d2[n];
        adj_p1.c[n] += of_r - of_d1 - g[n];
        adj_q1.c[n] += of_d1;
        adj_p2.c[n] += g[n] - of_r - of_d2;
        adj_q2.c[n] += of_d2;
    }
}
}
