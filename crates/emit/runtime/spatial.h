// Spatial (six-dimensional) algebra: the angular half on top, the linear half below.
//@ spatial_top
namespace wp {
template <class T> WP_INLINE vec_t<3, T> spatial_top(const vec_t<6, T>& a) { return {a.c[0], a.c[1], a.c[2]}; }
}
//@ adj_spatial_top
namespace wp {
template <class T> WP_INLINE void adj_spatial_top(const vec_t<6, T>&, vec_t<6, T>& adj_a, const vec_t<3, T>& adj_ret) {
    for (int i = 0; i < 3; ++i) adj_a.c[i] += adj_ret.c[i];
}
}
//@ spatial_bottom
namespace wp {
template <class T> WP_INLINE vec_t<3, T> spatial_bottom(const vec_t<6, T>& a) { return {a.c[3], a.c[4], a.c[5]}; }
}
//@ adj_spatial_bottom
namespace wp {
template <class T> WP_INLINE void adj_spatial_bottom(const vec_t<6, T>&, vec_t<6, T>& adj_a, const vec_t<3, T>& adj_ret) {
    for (int i = 0; i < 3; ++i) adj_a.c[i + 3] += adj_ret.c[i];
}
}
//@ spatial_dot
namespace wp {
template <class T> WP_INLINE T spatial_dot(const vec_t<6, T>& a, const vec_t<6, T>& b) { return inner(a, b); }
}
//@ adj_spatial_dot
namespace wp {
template <class T>
WP_INLINE void adj_spatial_dot(const vec_t<6, T>& a, const vec_t<6, T>& b, vec_t<6, T>& adj_a, vec_t<6, T>& adj_b, const T& adj_ret) {
    adj_a += b * adj_ret;
    adj_b += a * adj_ret;
}
}
//@ spatial_cross
namespace wp {
template <class T> WP_INLINE vec_t<6, T> spatial_cross(const vec_t<6, T>& a, const vec_t<6, T>& b) {
    const vec_t<3, T> aw = spatial_top(a), av = spatial_bottom(a), bw = spatial_top(b), bv = spatial_bottom(b);
    return {cross(aw, bw), cross(av, bw) + cross(aw, bv)};
}
}
//@ adj_spatial_cross
namespace wp {
template <class T>
WP_INLINE void adj_spatial_cross(const vec_t<6, T>& a, const vec_t<6, T>& b, vec_t<6, T>& adj_a, vec_t<6, T>& adj_b, const vec_t<6, T>& g) {
    const vec_t<3, T> aw = spatial_top(a), av = spatial_bottom(a), bw = spatial_top(b), bv = spatial_bottom(b);
    const vec_t<3, T> gw = spatial_top(g), gv = spatial_bottom(g);
    adj_a += vec_t<6, T>(cross(bw, gw) + cross(bv, gv), cross(bw, gv));
    adj_b += vec_t<6, T>(cross(gw, aw) + cross(gv, av), cross(gv, aw));
}
}
//@ spatial_cross_dual
namespace wp {
template <class T> WP_INLINE vec_t<6, T> spatial_cross_dual(const vec_t<6, T>& a, const vec_t<6, T>& b) {
    const vec_t<3, T> aw = spatial_top(a), av = spatial_bottom(a), bw = spatial_top(b), bv = spatial_bottom(b);
    return {cross(aw, bw) + cross(av, bv), cross(aw, bv)};
}
}
//@ adj_spatial_cross_dual
namespace wp {
template <class T>
WP_INLINE void adj_spatial_cross_dual(const vec_t<6, T>& a, const vec_t<6, T>& b, vec_t<6, T>& adj_a, vec_t<6, T>& adj_b, const vec_t<6, T>& g) {
    const vec_t<3, T> aw = spatial_top(a), av = spatial_bottom(a), bw = spatial_top(b), bv = spatial_bottom(b);
    const vec_t<3, T> gw = spatial_top(g), gv = spatial_bottom(g);
    adj_a += vec_t<6, T>(cross(bw, gw) + cross(bv, gv), cross(bv, gw));
    adj_b += vec_t<6, T>(cross(gw, aw), cross(gw, av) + cross(gv, aw));
}
}
//@ spatial_adjoint
namespace wp {
template <class T> WP_INLINE mat_t<6, 6, T> spatial_adjoint(const mat_t<3, 3, T>& r, const mat_t<3, 3, T>& s) {
    mat_t<6, 6, T> m(T(0));
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j) {
            m.at(i, j) = r.at(i, j);
            m.at(i + 3, j) = s.at(i, j);
            m.at(i + 3, j + 3) = r.at(i, j);
        }
    return m;
}
}
//@ adj_spatial_adjoint
namespace wp {
template <class T>
WP_INLINE void adj_spatial_adjoint(const mat_t<3, 3, T>&, const mat_t<3, 3, T>&, mat_t<3, 3, T>& adj_r, mat_t<3, 3, T>& adj_s, const mat_t<6, 6, T>& adj_ret) {
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j) {
            adj_r.at(i, j) += adj_ret.at(i, j) + adj_ret.at(i + 3, j + 3);
            adj_s.at(i, j) += adj_ret.at(i + 3, j);
        }
}
}
