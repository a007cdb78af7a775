// Triangles under a tree of boxes. A kernel has the address of a word that holds the mesh's address; a mesh is
// 4-byte words, as the host's `Mesh` writes them. Faces are visited in the host's order, so that of two that
// are equally near both find the same.
//@ mesh_data
namespace wp {
struct mesh_triangle {
    float a[3], b[3], c[3];
    int face;
};
// What winding numbers need of a box: the sum of its faces' area vectors, the middle of their area, and the square of
// the distance from there to the box's farthest corner.
struct mesh_pole {
    float area[3], middle[3], radius;
};
struct mesh_data {
    uint32 boxes, triangles, faces, points;
    float mean_edge;
    uint32 winds, groups, moves;
    WP_INLINE const tree_box* box() const { return reinterpret_cast<const tree_box*>(this + 1); }
    WP_INLINE const mesh_triangle* triangle() const { return reinterpret_cast<const mesh_triangle*>(box() + boxes); }
    WP_INLINE const int* corners() const { return reinterpret_cast<const int*>(triangle() + triangles); }
    WP_INLINE const float* point() const { return reinterpret_cast<const float*>(corners() + 3 * faces); }
    WP_INLINE const uint32* skip() const { return reinterpret_cast<const uint32*>(point() + 3 * points); }
    WP_INLINE const mesh_pole* pole() const { return reinterpret_cast<const mesh_pole*>(skip() + boxes); }
    WP_INLINE const tree_group* group() const { return reinterpret_cast<const tree_group*>(pole() + (winds ? boxes : 0)); }
    // One for each point, or none.
    WP_INLINE const float* velocity() const { return reinterpret_cast<const float*>(group() + groups); }
    WP_INLINE const int* face(int n) const { return corners() + 3 * n; }
};
WP_INLINE const mesh_data& mesh_at(uint64 id) { return **reinterpret_cast<const mesh_data* const*>(id); }
struct mesh_point {
    float x, y, z;
    mesh_point() = default;
    WP_INLINE mesh_point(float x, float y, float z) : x(x), y(y), z(z) {}
    WP_INLINE mesh_point(const float* p) : x(p[0]), y(p[1]), z(p[2]) {}
    template <class V> static WP_INLINE mesh_point of(const V& v) { return mesh_point(v.c[0], v.c[1], v.c[2]); }
};
WP_INLINE mesh_point mesh_sub(const mesh_point& a, const mesh_point& b) { return mesh_point(a.x - b.x, a.y - b.y, a.z - b.z); }
WP_INLINE float mesh_dot(const mesh_point& a, const mesh_point& b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
WP_INLINE mesh_point mesh_cross(const mesh_point& a, const mesh_point& b) {
    return mesh_point(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x);
}
WP_INLINE mesh_point mesh_weighted(const mesh_point& p, const mesh_point& q, const mesh_point& r, float u, float v) {
    const float w = 1.0f - u - v;
    return mesh_point(p.x * u + q.x * v + r.x * w, p.y * u + q.y * v + r.y * w, p.z * u + q.z * v + r.z * w);
}
// The tree halves the triangles at each level: 2^32 of them are 32 levels, with one box waiting at each.
enum { mesh_levels = 64 };
}
//@ mesh_eval_position
namespace wp {
WP_INLINE vec_t<3, float> mesh_eval_position(uint64 id, int face, float u, float v) {
    const mesh_data& m = mesh_at(id);
    const int* corner = m.corners() + 3 * face;
    const mesh_point p = mesh_weighted(m.point() + 3 * corner[0], m.point() + 3 * corner[1], m.point() + 3 * corner[2], u, v);
    return vec_t<3, float>(p.x, p.y, p.z);
}
}
//@ adj_mesh_eval_position
namespace wp {
// The gradients of the weights of the first two corners.
WP_INLINE void adj_mesh_eval_position(uint64 id, int face, float, float, uint64&, int&, float& adj_u, float& adj_v, const vec_t<3, float>& adj_ret) {
    const mesh_data& m = mesh_at(id);
    const int* corner = m.face(face);
    const mesh_point a(m.point() + 3 * corner[0]), b(m.point() + 3 * corner[1]), c(m.point() + 3 * corner[2]);
    adj_u += mesh_dot(mesh_sub(a, c), mesh_point::of(adj_ret));
    adj_v += mesh_dot(mesh_sub(b, c), mesh_point::of(adj_ret));
}
}
//@ mesh_eval_velocity
namespace wp {
WP_INLINE vec_t<3, float> mesh_eval_velocity(uint64 id, int face, float u, float v) {
    const mesh_data& m = mesh_at(id);
    if (!m.moves) return vec_t<3, float>(0.0f, 0.0f, 0.0f);
    const int* corner = m.face(face);
    const mesh_point p = mesh_weighted(m.velocity() + 3 * corner[0], m.velocity() + 3 * corner[1], m.velocity() + 3 * corner[2], u, v);
    return vec_t<3, float>(p.x, p.y, p.z);
}
}
//@ adj_mesh_eval_velocity
namespace wp {
WP_INLINE void adj_mesh_eval_velocity(uint64 id, int face, float, float, uint64&, int&, float& adj_u, float& adj_v, const vec_t<3, float>& adj_ret) {
    const mesh_data& m = mesh_at(id);
    if (!m.moves) return;
    const int* corner = m.face(face);
    const mesh_point a(m.velocity() + 3 * corner[0]), b(m.velocity() + 3 * corner[1]), c(m.velocity() + 3 * corner[2]);
    adj_u += mesh_dot(mesh_sub(a, c), mesh_point::of(adj_ret));
    adj_v += mesh_dot(mesh_sub(b, c), mesh_point::of(adj_ret));
}
}
//@ mesh_get_group_root
namespace wp {
WP_INLINE int mesh_get_group_root(uint64 id, int group) { return tree_group_root(mesh_at(id).group(), mesh_at(id).groups, group); }
}
//@ Mesh
namespace wp {
// The arrays of a mesh: copies, as they were when it was made or fitted again. They are read only.
struct Mesh {
    array_t<vec_t<3, float>> points, velocities;
    array_t<int> indices;
    Mesh() = default;
    WP_INLINE Mesh(int) {}
    // A mesh has no gradient.
    WP_INLINE Mesh& operator+=(const Mesh&) { return *this; }
};
}
//@ mesh_get
namespace wp {
WP_INLINE Mesh mesh_get(uint64 id) {
    const mesh_data& m = mesh_at(id);
    Mesh mesh;
    mesh.points = array_t<vec_t<3, float>>(reinterpret_cast<uint64>(m.point()), int(m.points));
    mesh.velocities = array_t<vec_t<3, float>>(reinterpret_cast<uint64>(m.velocity()), int(m.moves));
    mesh.indices = array_t<int>(reinterpret_cast<uint64>(m.corners()), int(3 * m.faces));
    return mesh;
}
}
//@ mesh_get_velocity
namespace wp {
WP_INLINE vec_t<3, float> mesh_get_velocity(uint64 id, int at) {
    const mesh_data& m = mesh_at(id);
    const float* v = m.velocity() + 3 * m.corners()[at];
    return m.moves ? vec_t<3, float>(v[0], v[1], v[2]) : vec_t<3, float>(0.0f, 0.0f, 0.0f);
}
}
//@ adj_mesh_get adj_mesh_get_index adj_mesh_get_point adj_mesh_get_velocity adj_mesh_get_group_root adj_mesh_eval_face_normal
namespace wp {
template <class... A> WP_INLINE void adj_mesh_get(const A&...) {}
template <class... A> WP_INLINE void adj_mesh_get_index(const A&...) {}
template <class... A> WP_INLINE void adj_mesh_get_point(const A&...) {}
template <class... A> WP_INLINE void adj_mesh_get_velocity(const A&...) {}
template <class... A> WP_INLINE void adj_mesh_get_group_root(const A&...) {}
template <class... A> WP_INLINE void adj_mesh_eval_face_normal(const A&...) {}
}
//@ mesh_get_index mesh_get_point
namespace wp {
WP_INLINE int mesh_get_index(uint64 id, int at) { return mesh_at(id).corners()[at]; }
}
//@ mesh_get_point
namespace wp {
WP_INLINE vec_t<3, float> mesh_get_point(uint64 id, int at) {
    const float* p = mesh_at(id).point() + 3 * mesh_get_index(id, at);
    return vec_t<3, float>(p[0], p[1], p[2]);
}
}
//@ mesh_eval_face_normal
namespace wp {
WP_INLINE vec_t<3, float> mesh_eval_face_normal(uint64 id, int face) {
    const mesh_data& m = mesh_at(id);
    const int* corner = m.corners() + 3 * face;
    const mesh_point a(m.point() + 3 * corner[0]), b(m.point() + 3 * corner[1]), c(m.point() + 3 * corner[2]);
    const mesh_point normal = mesh_cross(mesh_sub(b, a), mesh_sub(c, a));
    const float size = ::sqrtf(mesh_dot(normal, normal)), scale = size > 0.0f ? size : 1.0f;
    return vec_t<3, float>(normal.x / scale, normal.y / scale, normal.z / scale);
}
}
//@ mesh_nearest
namespace wp {
// The weights of the first two corners at the point of a triangle nearest to p: a corner, a point of an edge, or
// one inside.
WP_INLINE void mesh_nearest_of(const mesh_triangle& t, const mesh_point& p, float& u, float& v) {
    const mesh_point a(t.a), b(t.b), c(t.c);
    const mesh_point ab = mesh_sub(b, a), ac = mesh_sub(c, a), ap = mesh_sub(p, a);
    const float d1 = mesh_dot(ab, ap), d2 = mesh_dot(ac, ap);
    if (d1 <= 0.0f && d2 <= 0.0f) { u = 1.0f; v = 0.0f; return; }
    const mesh_point bp = mesh_sub(p, b);
    const float d3 = mesh_dot(ab, bp), d4 = mesh_dot(ac, bp);
    if (d3 >= 0.0f && d4 <= d3) { u = 0.0f; v = 1.0f; return; }
    const float vc = d1 * d4 - d3 * d2;
    if (vc <= 0.0f && d1 >= 0.0f && d3 <= 0.0f) { v = d1 / (d1 - d3); u = 1.0f - v; return; }
    const mesh_point cp = mesh_sub(p, c);
    const float d5 = mesh_dot(ab, cp), d6 = mesh_dot(ac, cp);
    if (d6 >= 0.0f && d5 <= d6) { u = 0.0f; v = 0.0f; return; }
    const float vb = d5 * d2 - d1 * d6;
    if (vb <= 0.0f && d2 >= 0.0f && d6 <= 0.0f) { u = 1.0f - d2 / (d2 - d6); v = 0.0f; return; }
    const float va = d3 * d6 - d5 * d4;
    if (va <= 0.0f && d4 - d3 >= 0.0f && d5 - d6 >= 0.0f) { u = 0.0f; v = 1.0f - (d4 - d3) / ((d4 - d3) + (d5 - d6)); return; }
    const float share = 1.0f / (va + vb + vc);
    v = vb * share;
    u = 1.0f - v - vc * share;
}
WP_INLINE float mesh_box_distance(const tree_box& box, const mesh_point& p) {
    const float x = ::fmaxf(::fmaxf(box.low[0] - p.x, p.x - box.high[0]), 0.0f);
    const float y = ::fmaxf(::fmaxf(box.low[1] - p.y, p.y - box.high[1]), 0.0f);
    const float z = ::fmaxf(::fmaxf(box.low[2] - p.z, p.z - box.high[2]), 0.0f);
    return x * x + y * y + z * z;
}
// Visits triangles that may be nearer to a point than what `visit` gives, the square of a distance.
template <class F> WP_INLINE void mesh_nearest(const mesh_data& m, const mesh_point& p, float best, F visit) {
    uint32 open[mesh_levels];
    int waiting = 0;
    if (m.boxes) open[waiting++] = 0;
    while (waiting) {
        const tree_box& box = m.box()[open[--waiting]];
        if (mesh_box_distance(box, p) > best) continue;
        if (box.count) {
            for (uint32 n = 0; n < box.count; ++n) best = visit(m.triangle()[box.first + n], best);
            continue;
        }
        const bool second = mesh_box_distance(m.box()[box.first], p) > mesh_box_distance(m.box()[box.first + 1], p);
        // The nearer one comes off the stack first.
        open[waiting++] = box.first + !second;
        open[waiting++] = box.first + second;
    }
}
}
//@ mesh_along
namespace wp {
// Where a ray meets a triangle, in double precision, so that neighbours leave no gap between them.
WP_INLINE bool mesh_met(const mesh_triangle& f, const mesh_point& from, const mesh_point& along, float& t, float& u, float& v) {
    const double ab[3] = {double(f.b[0]) - f.a[0], double(f.b[1]) - f.a[1], double(f.b[2]) - f.a[2]};
    const double ac[3] = {double(f.c[0]) - f.a[0], double(f.c[1]) - f.a[1], double(f.c[2]) - f.a[2]};
    const double d[3] = {along.x, along.y, along.z};
    const double s[3] = {double(from.x) - f.a[0], double(from.y) - f.a[1], double(from.z) - f.a[2]};
    const double p[3] = {d[1] * ac[2] - d[2] * ac[1], d[2] * ac[0] - d[0] * ac[2], d[0] * ac[1] - d[1] * ac[0]};
    const double determinant = ab[0] * p[0] + ab[1] * p[1] + ab[2] * p[2];
    if (determinant == 0.0) return false;
    const double second = (s[0] * p[0] + s[1] * p[1] + s[2] * p[2]) / determinant;
    const double q[3] = {s[1] * ab[2] - s[2] * ab[1], s[2] * ab[0] - s[0] * ab[2], s[0] * ab[1] - s[1] * ab[0]};
    const double third = (d[0] * q[0] + d[1] * q[1] + d[2] * q[2]) / determinant;
    t = float((ac[0] * q[0] + ac[1] * q[1] + ac[2] * q[2]) / determinant);
    u = float(1.0 - second - third);
    v = float(second);
    return second >= 0.0 && third >= 0.0 && second + third <= 1.0;
}
WP_INLINE bool mesh_enters(const tree_box& box, const mesh_point& from, const mesh_point& inverse, float most) {
    float near = 0.0f, far = most;
    const float start[3] = {from.x, from.y, from.z}, scale[3] = {inverse.x, inverse.y, inverse.z};
    for (int axis = 0; axis < 3; ++axis) {
        const float a = (box.low[axis] - start[axis]) * scale[axis], b = (box.high[axis] - start[axis]) * scale[axis];
        // A ray in the plane of a side gives no number; fminf and fmaxf leave it out.
        near = ::fmaxf(near, ::fminf(a, b));
        far = ::fminf(far, ::fmaxf(a, b));
    }
    return near <= far * 1.000001f + 1e-30f;
}
// Visits triangles of a part of the tree, of all with -1, that a ray may meet before what `visit` gives.
template <class F> WP_INLINE void mesh_along(const mesh_data& m, int root, const mesh_point& from, const mesh_point& along, float most, F visit) {
    const mesh_point inverse(1.0f / along.x, 1.0f / along.y, 1.0f / along.z);
    uint32 open[mesh_levels];
    int waiting = 0;
    if (m.boxes) open[waiting++] = root < 0 ? 0u : uint32(root);
    while (waiting) {
        const tree_box& box = m.box()[open[--waiting]];
        if (!mesh_enters(box, from, inverse, most)) continue;
        if (box.count) {
            for (uint32 n = 0; n < box.count; ++n) most = visit(m.triangle()[box.first + n], most);
        } else {
            open[waiting++] = box.first;
            open[waiting++] = box.first + 1;
        }
    }
}
}
//@ mesh_query_point_t
namespace wp {
struct mesh_query_point_t {
    bool result;
    float sign;
    int face;
    float u, v;
    WP_INLINE mesh_query_point_t& operator+=(const mesh_query_point_t& other) {
        sign += other.sign;
        u += other.u;
        v += other.v;
        return *this;
    }
    // Arguments stay as they were where nothing is found.
    WP_INLINE bool give(int& to_face, float& to_u, float& to_v) const {
        if (!result) return false;
        to_face = face;
        to_u = u;
        to_v = v;
        return true;
    }
    WP_INLINE bool give(float& inside, int& to_face, float& to_u, float& to_v) const {
        if (result) inside = sign;
        return give(to_face, to_u, to_v);
    }
};
}
//@ mesh_query_point_no_sign mesh_query_point mesh_query_point_sign_normal mesh_query_point_sign_parity mesh_query_point_sign_winding_number
namespace wp {
template <class V> WP_INLINE mesh_query_point_t mesh_query_point_no_sign(uint64 id, const V& point, float most) {
    const mesh_point p = mesh_point::of(point);
    mesh_query_point_t q = {};
    mesh_nearest(mesh_at(id), p, most * most, [&](const mesh_triangle& t, float best) {
        float u, v;
        mesh_nearest_of(t, p, u, v);
        const mesh_point away = mesh_sub(mesh_weighted(t.a, t.b, t.c, u, v), p);
        const float square = mesh_dot(away, away);
        if (square >= best) return best;
        q.result = true;
        q.face = t.face;
        q.u = u;
        q.v = v;
        return square;
    });
    return q;
}
}
//@ mesh_query_point_no_sign
namespace wp {
template <class V> WP_INLINE bool mesh_query_point_no_sign(uint64 id, const V& point, float most, int& face, float& u, float& v) {
    return mesh_query_point_no_sign(id, point, most).give(face, u, v);
}
}
//@ mesh_query_furthest_point_no_sign
namespace wp {
WP_INLINE float mesh_box_farthest(const tree_box& box, const mesh_point& p) {
    const float x = ::fmaxf(::fabsf(p.x - box.low[0]), ::fabsf(p.x - box.high[0]));
    const float y = ::fmaxf(::fabsf(p.y - box.low[1]), ::fabsf(p.y - box.high[1]));
    const float z = ::fmaxf(::fabsf(p.z - box.low[2]), ::fabsf(p.z - box.high[2]));
    return x * x + y * y + z * z;
}
WP_INLINE bool mesh_is_sliver(const mesh_triangle& t) {
    const mesh_point ab = mesh_sub(t.b, t.a), ac = mesh_sub(t.c, t.a), bc = mesh_sub(t.c, t.b), normal = mesh_cross(ab, ac);
    return ::sqrtf(mesh_dot(normal, normal)) / (mesh_dot(ab, ab) + mesh_dot(ac, ac) + mesh_dot(bc, bc)) < 1e-6f;
}
// The farthest corner of a face that is more than `least` away.
template <class V> WP_INLINE mesh_query_point_t mesh_query_furthest_point_no_sign(uint64 id, const V& point, float least) {
    const mesh_data& m = mesh_at(id);
    const mesh_point p = mesh_point::of(point);
    mesh_query_point_t q = {};
    float best = least * least;
    uint32 open[mesh_levels];
    int waiting = 0;
    if (m.boxes) open[waiting++] = 0;
    while (waiting) {
        const tree_box& box = m.box()[open[--waiting]];
        if (mesh_box_farthest(box, p) < best) continue;
        for (uint32 n = 0; n < box.count; ++n) {
            const mesh_triangle& t = m.triangle()[box.first + n];
            if (mesh_is_sliver(t)) continue;
            const mesh_point a = mesh_sub(t.a, p), b = mesh_sub(t.b, p), c = mesh_sub(t.c, p);
            const float da = mesh_dot(a, a), db = mesh_dot(b, b), dc = mesh_dot(c, c);
            const bool first = da > db && da > dc, second = !first && db > dc;
            const float square = first ? da : second ? db : dc;
            if (square <= best) continue;
            best = square;
            q.result = true;
            q.face = t.face;
            q.u = first ? 1.0f : 0.0f;
            q.v = second ? 1.0f : 0.0f;
        }
        if (box.count) continue;
        const bool second = mesh_box_farthest(m.box()[box.first], p) < mesh_box_farthest(m.box()[box.first + 1], p);
        // The farther one comes off the stack first.
        open[waiting++] = box.first + !second;
        open[waiting++] = box.first + second;
    }
    return q;
}
template <class V> WP_INLINE bool mesh_query_furthest_point_no_sign(uint64 id, const V& point, float least, int& face, float& u, float& v) {
    return mesh_query_furthest_point_no_sign(id, point, least).give(face, u, v);
}
}
//@ mesh_crossings
namespace wp {
WP_INLINE int mesh_crossings(const mesh_data& m, int root, const mesh_point& from, const mesh_point& along) {
    int crossings = 0;
    mesh_along(m, root, from, along, INFINITY, [&](const mesh_triangle& f, float far) {
        float t, u, v;
        crossings += mesh_met(f, from, along, t, u, v) && t >= 0.0f;
        return far;
    });
    return crossings;
}
}
//@ mesh_inside
namespace wp {
// Inside is where most of three rays leave through an odd number of faces.
WP_INLINE bool mesh_inside(const mesh_data& m, const mesh_point& p) {
    const float along[3][3] = {{0.5772157f, 0.618034f, 0.5337512f}, {-0.8017837f, 0.2672612f, -0.5345225f}, {0.1230915f, -0.8616404f, 0.4923659f}};
    int odd = 0;
    for (int ray = 0; ray < 3; ++ray) odd += mesh_crossings(m, -1, p, along[ray]) & 1;
    return odd >= 2;
}
}
//@ mesh_query_point
namespace wp {
template <class V> WP_INLINE mesh_query_point_t mesh_query_point(uint64 id, const V& point, float most) {
    mesh_query_point_t q = mesh_query_point_no_sign(id, point, most);
    if (q.result) q.sign = mesh_inside(mesh_at(id), mesh_point::of(point)) ? -1.0f : 1.0f;
    return q;
}
}
//@ mesh_query_point
namespace wp {
template <class V> WP_INLINE bool mesh_query_point(uint64 id, const V& point, float most, float& inside, int& face, float& u, float& v) {
    return mesh_query_point(id, point, most).give(inside, face, u, v);
}
}
//@ mesh_query_point_sign_parity
namespace wp {
template <class V> WP_INLINE mesh_query_point_t mesh_query_point_sign_parity(uint64 id, const V& point, float most, int samples = 1, float scale = 0.1f) {
    mesh_query_point_t q = mesh_query_point_no_sign(id, point, most);
    if (q.result) q.sign = mesh_inside(mesh_at(id), mesh_point::of(point)) ? -1.0f : 1.0f;
    return q;
}
}
//@ mesh_query_point_sign_parity
namespace wp {
template <class V> WP_INLINE bool mesh_query_point_sign_parity(uint64 id, const V& point, float most, float& inside, int& face, float& u, float& v, int samples, float scale) {
    return mesh_query_point_sign_parity(id, point, most, samples, scale).give(inside, face, u, v);
}
}
//@ mesh_query_point_sign_winding_number
namespace wp {
WP_INLINE float mesh_solid_angle(const mesh_triangle& f, const mesh_point& p) {
    const mesh_point a = mesh_sub(f.a, p), b = mesh_sub(f.b, p), c = mesh_sub(f.c, p);
    const float x = ::sqrtf(mesh_dot(a, a)), y = ::sqrtf(mesh_dot(b, b)), z = ::sqrtf(mesh_dot(c, c));
    const float rest = x * y * z + mesh_dot(a, b) * z + mesh_dot(b, c) * x + mesh_dot(c, a) * y;
    return 2.0f * ::atan2f(mesh_dot(a, mesh_cross(b, c)), rest);
}
// How often the surface goes around a point. Boxes far away count as one face.
WP_INLINE float mesh_winding_number(const mesh_data& m, const mesh_point& p, float accuracy) {
    const float far = (2.0f * accuracy) * (2.0f * accuracy);
    float angle = 0.0f;
    for (uint32 at = m.boxes ? 0u : ~0u; at != ~0u;) {
        const tree_box& box = m.box()[at];
        const mesh_pole& pole = m.pole()[at];
        const mesh_point away = mesh_sub(pole.middle, p);
        const float square = mesh_dot(away, away);
        if (square > far * pole.radius) {
            angle += mesh_dot(pole.area, away) / (square * ::sqrtf(square));
        } else if (!box.count) {
            at = box.first;
            continue;
        } else {
            for (uint32 n = 0; n < box.count; ++n) angle += mesh_solid_angle(m.triangle()[box.first + n], p);
        }
        at = m.skip()[at];
    }
    return angle / 12.5663706f;
}
template <class V> WP_INLINE mesh_query_point_t mesh_query_point_sign_winding_number(uint64 id, const V& point, float most, float accuracy = 2.0f, float threshold = 0.5f) {
    mesh_query_point_t q = mesh_query_point_no_sign(id, point, most);
    if (!q.result) return q;
    const mesh_data& m = mesh_at(id);
    const mesh_point p = mesh_point::of(point);
    const bool inside = m.winds ? mesh_winding_number(m, p, accuracy) > threshold : mesh_inside(m, p);
    q.sign = inside ? -1.0f : 1.0f;
    return q;
}
template <class V> WP_INLINE bool mesh_query_point_sign_winding_number(uint64 id, const V& point, float most, float& inside, int& face, float& u, float& v, float accuracy, float threshold) {
    return mesh_query_point_sign_winding_number(id, point, most, accuracy, threshold).give(inside, face, u, v);
}
}
//@ mesh_query_point_sign_normal
namespace wp {
// The angle that a triangle covers around a point of it: at a corner its own, on an edge a half turn.
WP_INLINE float mesh_angle_at(const mesh_triangle& t, const float* weight) {
    const int absent = (weight[0] < 1e-4f) + (weight[1] < 1e-4f) + (weight[2] < 1e-4f);
    if (absent < 2) return absent ? 3.14159265f : 6.28318531f;
    int at = 0;
    for (int n = 1; n < 3; ++n)
        if (weight[n] > weight[at]) at = n;
    const float* corner[3] = {t.a, t.b, t.c};
    const mesh_point p(corner[at]), q(corner[(at + 1) % 3]), r(corner[(at + 2) % 3]);
    const mesh_point a = mesh_sub(q, p), b = mesh_sub(r, p);
    const float cosine = mesh_dot(a, b) / ::sqrtf(mesh_dot(a, a) * mesh_dot(b, b));
    return ::acosf(::fminf(::fmaxf(cosine, -1.0f), 1.0f));
}
// The side is that of the normals of the faces around the nearest point, each by its angle there.
template <class V> WP_INLINE mesh_query_point_t mesh_query_point_sign_normal(uint64 id, const V& point, float most, float epsilon = 1e-3f) {
    mesh_query_point_t q = mesh_query_point_no_sign(id, point, most);
    if (!q.result) return q;
    const mesh_data& m = mesh_at(id);
    const mesh_point p = mesh_point::of(point);
    const int* corner = m.corners() + 3 * q.face;
    const mesh_point away = mesh_sub(p, mesh_weighted(m.point() + 3 * corner[0], m.point() + 3 * corner[1], m.point() + 3 * corner[2], q.u, q.v));
    const float within = ::sqrtf(mesh_dot(away, away)) + epsilon * m.mean_edge;
    mesh_point normal(0.0f, 0.0f, 0.0f);
    mesh_nearest(m, p, within * within, [&](const mesh_triangle& t, float best) {
        float u, v;
        mesh_nearest_of(t, p, u, v);
        const mesh_point from = mesh_sub(p, mesh_weighted(t.a, t.b, t.c, u, v));
        if (mesh_dot(from, from) <= best) {
            const mesh_point own = mesh_cross(mesh_sub(t.b, t.a), mesh_sub(t.c, t.a));
            const float weight[3] = {u, v, 1.0f - u - v};
            const float size = ::sqrtf(mesh_dot(own, own)), share = mesh_angle_at(t, weight) / size;
            if (size > 0.0f) normal = mesh_point(normal.x + share * own.x, normal.y + share * own.y, normal.z + share * own.z);
        }
        return best;
    });
    q.sign = mesh_dot(normal, away) < 0.0f ? -1.0f : 1.0f;
    return q;
}
template <class V> WP_INLINE bool mesh_query_point_sign_normal(uint64 id, const V& point, float most, float& inside, int& face, float& u, float& v, float epsilon) {
    return mesh_query_point_sign_normal(id, point, most, epsilon).give(inside, face, u, v);
}
}
//@ mesh_query_ray_t
namespace wp {
struct mesh_query_ray_t {
    bool result;
    float sign;
    int face;
    float t, u, v;
    vec_t<3, float> normal;
    WP_INLINE mesh_query_ray_t& operator+=(const mesh_query_ray_t& other) {
        sign += other.sign;
        t += other.t;
        u += other.u;
        v += other.v;
        for (int axis = 0; axis < 3; ++axis) normal.c[axis] += other.normal.c[axis];
        return *this;
    }
};
}
//@ mesh_query_ray
namespace wp {
template <class V> WP_INLINE mesh_query_ray_t mesh_query_ray(uint64 id, const V& start, const V& direction, float most, int root = -1) {
    const mesh_point from = mesh_point::of(start), along = mesh_point::of(direction);
    mesh_query_ray_t q = {};
    mesh_along(mesh_at(id), root, from, along, most, [&](const mesh_triangle& f, float best) {
        float t, u, v;
        if (!mesh_met(f, from, along, t, u, v) || t < 0.0f || t >= best) return best;
        const mesh_point normal = mesh_cross(mesh_sub(f.b, f.a), mesh_sub(f.c, f.a));
        const float size = ::sqrtf(mesh_dot(normal, normal));
        const float scale = size > 0.0f ? size : 1.0f;
        q.result = true;
        q.sign = mesh_dot(normal, along) > 0.0f ? -1.0f : 1.0f;
        q.face = f.face;
        q.t = t;
        q.u = u;
        q.v = v;
        q.normal = vec_t<3, float>(normal.x / scale, normal.y / scale, normal.z / scale);
        return t;
    });
    return q;
}
}
//@ mesh_query_ray
namespace wp {
template <class V>
WP_INLINE bool mesh_query_ray(uint64 id, const V& start, const V& direction, float most, float& t, float& u, float& v, float& sign, V& normal, int& face, int root) {
    const mesh_query_ray_t q = mesh_query_ray(id, start, direction, most, root);
    if (!q.result) return false;
    t = q.t;
    u = q.u;
    v = q.v;
    sign = q.sign;
    normal = q.normal;
    face = q.face;
    return true;
}
}
//@ mesh_query_ray_anyhit
namespace wp {
template <class V> WP_INLINE bool mesh_query_ray_anyhit(uint64 id, const V& start, const V& direction, float most, int root = -1) {
    const mesh_point from = mesh_point::of(start), along = mesh_point::of(direction);
    bool hit = false;
    mesh_along(mesh_at(id), root, from, along, most, [&](const mesh_triangle& f, float best) {
        float t, u, v;
        hit = hit || (mesh_met(f, from, along, t, u, v) && t >= 0.0f && t < best);
        // Nothing lies before the start: the search is over.
        return hit ? -1.0f : best;
    });
    return hit;
}
}
//@ mesh_query_ray_count_intersections
namespace wp {
template <class V> WP_INLINE int mesh_query_ray_count_intersections(uint64 id, const V& start, const V& direction, int root = -1) {
    return mesh_crossings(mesh_at(id), root, mesh_point::of(start), mesh_point::of(direction));
}
}
//@ mesh_query_aabb_t
namespace wp {
struct mesh_query_aabb_t : tree_query {
    const mesh_data* mesh;
    // A search has no gradient.
    WP_INLINE mesh_query_aabb_t& operator+=(const mesh_query_aabb_t&) { return *this; }
};
}
//@ mesh_query_aabb mesh_query_sphere
namespace wp {
template <class V> WP_INLINE mesh_query_aabb_t mesh_query_aabb(uint64 id, const V& low, const V& high) {
    mesh_query_aabb_t q;
    q.mesh = &mesh_at(id);
    q.begin(tree_query::by_box, low, high, 0.0f, q.mesh->boxes, q.mesh->skip(), -1);
    return q;
}
template <class V> WP_INLINE mesh_query_aabb_t mesh_query_sphere(uint64 id, const V& center, float radius) {
    mesh_query_aabb_t q;
    q.mesh = &mesh_at(id);
    q.begin(tree_query::by_ball, center, center, radius, q.mesh->boxes, q.mesh->skip(), -1);
    return q;
}
}
//@ adj_mesh_query_aabb adj_mesh_query_sphere
namespace wp {
template <class... A> WP_INLINE void adj_mesh_query_aabb(const A&...) {}
template <class... A> WP_INLINE void adj_mesh_query_sphere(const A&...) {}
}
//@ mesh_query_aabb_next mesh_query_sphere_next mesh_query_next_dynamic mesh_query_aabb mesh_query_sphere
namespace wp {
// Whether some point of a triangle is in a ball; one without area is its longest edge.
WP_INLINE bool mesh_in_ball(const mesh_triangle& t, const mesh_point& p, float square) {
    const mesh_point a(t.a), b(t.b), c(t.c), one = mesh_sub(b, a), other = mesh_sub(c, a);
    // Products of two floats are exact in double precision, whether they are rounded once or twice.
    const bool flat = double(one.y) * other.z == double(one.z) * other.y && double(one.z) * other.x == double(one.x) * other.z && double(one.x) * other.y == double(one.y) * other.x;
    mesh_point nearest;
    if (flat) {
        const float ab = mesh_dot(mesh_sub(b, a), mesh_sub(b, a)), ac = mesh_dot(mesh_sub(c, a), mesh_sub(c, a));
        const float bc = mesh_dot(mesh_sub(c, b), mesh_sub(c, b)), longest = ::fmaxf(::fmaxf(ab, ac), bc);
        const mesh_point from = ab == longest || ac == longest ? a : b, to = ab == longest ? b : c;
        const mesh_point along = mesh_sub(to, from);
        const float at = longest > 0.0f ? ::fminf(::fmaxf(mesh_dot(mesh_sub(p, from), along) / longest, 0.0f), 1.0f) : 0.0f;
        nearest = mesh_point(from.x + at * along.x, from.y + at * along.y, from.z + at * along.z);
    } else {
        float u, v;
        mesh_nearest_of(t, p, u, v);
        nearest = mesh_weighted(a, b, c, u, v);
    }
    const mesh_point away = mesh_sub(nearest, p);
    return mesh_dot(away, away) <= square;
}
template <int kind> WP_INLINE bool mesh_query_step(mesh_query_aabb_t& q, int& index) {
    return q.next<kind>(q.mesh->box(), q.mesh->skip(), INFINITY, index, [&](uint32 n, int& found) {
        const mesh_triangle& t = q.mesh->triangle()[n];
        float low[3], high[3];
        for (int axis = 0; axis < 3; ++axis) {
            low[axis] = ::fminf(::fminf(t.a[axis], t.b[axis]), t.c[axis]);
            high[axis] = ::fmaxf(::fmaxf(t.a[axis], t.b[axis]), t.c[axis]);
        }
        found = t.face;
        return q.touches<kind>(low, high, INFINITY) && (kind != tree_query::by_ball || mesh_in_ball(t, q.a, q.radius * q.radius));
    });
}
WP_INLINE bool mesh_query_aabb_next(mesh_query_aabb_t& q, int& index) { return mesh_query_step<tree_query::by_box>(q, index); }
WP_INLINE bool mesh_query_sphere_next(mesh_query_aabb_t& q, int& index) { return mesh_query_step<tree_query::by_ball>(q, index); }
WP_INLINE bool mesh_query_next_dynamic(mesh_query_aabb_t& q, int& index) {
    return q.kind == tree_query::by_ball ? mesh_query_sphere_next(q, index) : mesh_query_aabb_next(q, index);
}
WP_INLINE bool iter_cmp(mesh_query_aabb_t& q) { return mesh_query_next_dynamic(q, q.found); }
WP_INLINE int iter_next(mesh_query_aabb_t& q) { return q.found; }
}
//@ iter_reverse | mesh_query_aabb_t
namespace wp {
// Gradients are sums over the faces: the order does not matter.
WP_INLINE mesh_query_aabb_t iter_reverse(const mesh_query_aabb_t& q) { return q; }
}
//@ adj_mesh_query_aabb_next adj_mesh_query_sphere_next adj_mesh_query_next_dynamic
namespace wp {
template <class... A> WP_INLINE void adj_mesh_query_aabb_next(const A&...) {}
template <class... A> WP_INLINE void adj_mesh_query_sphere_next(const A&...) {}
template <class... A> WP_INLINE void adj_mesh_query_next_dynamic(const A&...) {}
}
