// Gradients of questions to meshes. The face is what the forward pass found.
//@ mesh_slopes
namespace wp {
// How the weights of a triangle's second and third corner change with a point of its plane.
WP_INLINE void mesh_slopes(const mesh_point& a, const mesh_point& b, const mesh_point& c, mesh_point& second, mesh_point& third) {
    const mesh_point ab = mesh_sub(b, a), ac = mesh_sub(c, a);
    const float bb = mesh_dot(ab, ab), bc = mesh_dot(ab, ac), cc = mesh_dot(ac, ac), area = bb * cc - bc * bc;
    second = third = mesh_point(0.0f, 0.0f, 0.0f);
    if (!(area > 0.0f)) return;
    second = mesh_point((cc * ab.x - bc * ac.x) / area, (cc * ab.y - bc * ac.y) / area, (cc * ab.z - bc * ac.z) / area);
    third = mesh_point((bb * ac.x - bc * ab.x) / area, (bb * ac.y - bc * ab.y) / area, (bb * ac.z - bc * ab.z) / area);
}
WP_INLINE mesh_triangle mesh_face(const mesh_data& m, int face) {
    mesh_triangle t;
    for (int axis = 0; axis < 3; ++axis) {
        t.a[axis] = m.point()[3 * m.face(face)[0] + axis];
        t.b[axis] = m.point()[3 * m.face(face)[1] + axis];
        t.c[axis] = m.point()[3 * m.face(face)[2] + axis];
    }
    t.face = face;
    return t;
}
template <class V> WP_INLINE void mesh_add(V& sum, const mesh_point& p) {
    sum.c[0] += p.x;
    sum.c[1] += p.y;
    sum.c[2] += p.z;
}
}
//@ mesh_point_gradient
namespace wp {
// Along an edge the weights of its ends change, against each other.
WP_INLINE mesh_point mesh_edge_gradient(const mesh_point& from, const mesh_point& to, float gain) {
    const mesh_point along = mesh_sub(to, from);
    const float square = mesh_dot(along, along);
    if (!(square > 0.0f)) return mesh_point(0.0f, 0.0f, 0.0f);
    return mesh_point(gain * along.x / square, gain * along.y / square, gain * along.z / square);
}
template <class V> WP_INLINE void mesh_point_gradient(uint64 id, const V& point, int face, float adj_u, float adj_v, V& adj_point) {
    const mesh_data& m = mesh_at(id);
    if (uint32(face) >= m.faces) return;
    const mesh_triangle t = mesh_face(m, face);
    float u, v;
    mesh_nearest_of(t, mesh_point::of(point), u, v);
    const mesh_point a(t.a), b(t.b), c(t.c);
    const bool on_ab = u == 1.0f - v, has_a = u > 0.0f, has_b = v > 0.0f;
    if (has_a && has_b && !on_ab) {
        mesh_point second, third;
        mesh_slopes(a, b, c, second, third);
        mesh_add(adj_point, mesh_point(adj_v * second.x - adj_u * (second.x + third.x), adj_v * second.y - adj_u * (second.y + third.y), adj_v * second.z - adj_u * (second.z + third.z)));
    } else if (has_a && has_b) {
        mesh_add(adj_point, mesh_edge_gradient(a, b, adj_v - adj_u));
    } else if (has_a && !on_ab) {
        mesh_add(adj_point, mesh_edge_gradient(a, c, -adj_u));
    } else if (has_b && !on_ab) {
        mesh_add(adj_point, mesh_edge_gradient(b, c, -adj_v));
    }
}
}
//@ adj_mesh_query_point_no_sign adj_mesh_query_furthest_point_no_sign
namespace wp {
template <class V> WP_INLINE void adj_mesh_query_point_no_sign(uint64 id, const V& p, float, const mesh_query_point_t& q, uint64&, V& adj_p, float&, const mesh_query_point_t& g) {
    mesh_point_gradient(id, p, q.face, g.u, g.v, adj_p);
}
template <class V> WP_INLINE void adj_mesh_query_point_no_sign(uint64 id, const V& p, float, int face, float, float, uint64&, V& adj_p, float&, int&, float u, float v, bool) {
    mesh_point_gradient(id, p, face, u, v, adj_p);
}
template <class V> WP_INLINE void adj_mesh_query_furthest_point_no_sign(uint64 id, const V& p, float, const mesh_query_point_t& q, uint64&, V& adj_p, float&, const mesh_query_point_t& g) {
    mesh_point_gradient(id, p, q.face, g.u, g.v, adj_p);
}
template <class V> WP_INLINE void adj_mesh_query_furthest_point_no_sign(uint64 id, const V& p, float, int face, float, float, uint64&, V& adj_p, float&, int&, float u, float v, bool) {
    mesh_point_gradient(id, p, face, u, v, adj_p);
}
}
//@ adj_mesh_query_point
namespace wp {
template <class V> WP_INLINE void adj_mesh_query_point(uint64 id, const V& p, float, const mesh_query_point_t& q, uint64&, V& adj_p, float&, const mesh_query_point_t& g) {
    mesh_point_gradient(id, p, q.face, g.u, g.v, adj_p);
}
template <class V>
WP_INLINE void adj_mesh_query_point(uint64 id, const V& p, float, float, int face, float, float, uint64&, V& adj_p, float&, float&, int&, float u, float v, bool) {
    mesh_point_gradient(id, p, face, u, v, adj_p);
}
}
//@ adj_mesh_query_point_sign_normal
namespace wp {
template <class V>
WP_INLINE void adj_mesh_query_point_sign_normal(uint64 id, const V& p, float, float, const mesh_query_point_t& q, uint64&, V& adj_p, float&, float&, const mesh_query_point_t& g) {
    mesh_point_gradient(id, p, q.face, g.u, g.v, adj_p);
}
template <class V>
WP_INLINE void adj_mesh_query_point_sign_normal(uint64 id, const V& p, float, float, int face, float, float, float, uint64&, V& adj_p, float&, float&, int&, float u, float v, float&, bool) {
    mesh_point_gradient(id, p, face, u, v, adj_p);
}
}
//@ adj_mesh_query_point_sign_parity adj_mesh_query_point_sign_winding_number
namespace wp {
template <class V, class N>
WP_INLINE void adj_mesh_query_point_sign_parity(uint64 id, const V& p, float, N, float, const mesh_query_point_t& q, uint64&, V& adj_p, float&, N&, float&, const mesh_query_point_t& g) {
    mesh_point_gradient(id, p, q.face, g.u, g.v, adj_p);
}
template <class V, class N>
WP_INLINE void adj_mesh_query_point_sign_parity(uint64 id, const V& p, float, float, int face, float, float, N, float, uint64&, V& adj_p, float&, float&, int&, float u, float v, N&, float&, bool) {
    mesh_point_gradient(id, p, face, u, v, adj_p);
}
template <class... A> WP_INLINE void adj_mesh_query_point_sign_winding_number(A&&... a) { adj_mesh_query_point_sign_parity(a...); }
}
//@ adj_mesh_query_ray
namespace wp {
template <class V>
WP_INLINE void mesh_ray_gradient(uint64 id, const V& start, const V& direction, int face, float adj_t, float adj_u, float adj_v, V& adj_start, V& adj_direction) {
    const mesh_data& m = mesh_at(id);
    if (uint32(face) >= m.faces) return;
    const mesh_triangle f = mesh_face(m, face);
    const mesh_point a(f.a), b(f.b), c(f.c), d = mesh_point::of(direction);
    const mesh_point normal = mesh_cross(mesh_sub(b, a), mesh_sub(c, a));
    const float across = mesh_dot(normal, d);
    if (across == 0.0f) return;
    const float distance = mesh_dot(normal, mesh_sub(a, mesh_point::of(start))) / across;
    mesh_point second, third;
    mesh_slopes(a, b, c, second, third);
    const mesh_point w(adj_v * second.x - adj_u * (second.x + third.x), adj_v * second.y - adj_u * (second.y + third.y), adj_v * second.z - adj_u * (second.z + third.z));
    // The point moves with the start, and along the ray so that it stays in the plane.
    const float along = (adj_t + mesh_dot(w, d)) / across;
    const mesh_point of_start(w.x - along * normal.x, w.y - along * normal.y, w.z - along * normal.z);
    mesh_add(adj_start, of_start);
    mesh_add(adj_direction, mesh_point(distance * of_start.x, distance * of_start.y, distance * of_start.z));
}
template <class V>
WP_INLINE void adj_mesh_query_ray(uint64 id, const V& start, const V& direction, float, int, const mesh_query_ray_t& q, uint64&, V& adj_start, V& adj_direction, float&, int&, const mesh_query_ray_t& g) {
    mesh_ray_gradient(id, start, direction, q.face, g.t, g.u, g.v, adj_start, adj_direction);
}
template <class V>
WP_INLINE void adj_mesh_query_ray(uint64 id, const V& start, const V& direction, float, float, float, float, float, const V&, int face, int, uint64&, V& adj_start, V& adj_direction, float&, float t, float u, float v, float&, V&, int&, int&, bool) {
    mesh_ray_gradient(id, start, direction, face, t, u, v, adj_start, adj_direction);
}
}
//@ adj_mesh_query_ray_anyhit adj_mesh_query_ray_count_intersections
namespace wp {
template <class... A> WP_INLINE void adj_mesh_query_ray_anyhit(const A&...) {}
template <class... A> WP_INLINE void adj_mesh_query_ray_count_intersections(const A&...) {}
}
