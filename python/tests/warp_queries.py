"""Questions to meshes and textures, with gradients: a program for Warp, whose arrays are compared."""

import sys

import numpy as np
import warp as wp

wp.set_device(sys.argv[sys.argv.index("--device") + 1] if "--device" in sys.argv else "cpu")
COUNT = 300


def ball(rings=12, sides=16):
    theta, phi = np.meshgrid(np.linspace(0, np.pi, rings + 1), 2 * np.pi * np.arange(sides) / sides, indexing="ij")
    radius = 1 + 0.1 * np.sin(3 * phi) * np.sin(theta)
    points = radius[..., None] * np.stack(
        [np.sin(theta) * np.cos(phi), np.sin(theta) * np.sin(phi), np.cos(theta)], -1
    )
    i, j = np.meshgrid(np.arange(rings), np.arange(sides), indexing="ij")
    a, b = i * sides + j, i * sides + (j + 1) % sides
    faces = np.stack([a, a + sides, b, b, a + sides, b + sides], -1).reshape(-1, 3)
    # Without the faces at the poles, which have no area.
    corners = points.reshape(-1, 3)[faces]
    area = np.linalg.norm(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1)
    return points.reshape(-1, 3).astype(np.float32), faces[area > 1e-6].astype(np.int32)


@wp.kernel
def rays(
    mesh: wp.uint64, start: wp.array[wp.vec3], out: wp.array2d[float], faces: wp.array2d[int], hits: wp.array[int]
):
    i = wp.tid()
    p = start[i]
    t = float(-5.0)
    u = float(-6.0)
    v = float(-7.0)
    sign = float(-8.0)
    n = wp.vec3(9.0, 9.0, 9.0)
    face = int(-1)
    root = int(-1)
    if i % 4 != 3:
        root = wp.mesh_get_group_root(mesh, i % 4)
    along = wp.vec3(-p[0], -p[1] + 0.1, -p[2] - 0.05)
    hit = wp.mesh_query_ray(mesh, p, along, 1.2, t, u, v, sign, n, face, root)
    faces[i, 0] = wp.where(hit, face, -1)
    out[i, 0] = t
    out[i, 1] = u
    out[i, 2] = v
    out[i, 3] = wp.sign(sign)
    out[i, 4] = n[2]
    q = wp.mesh_query_ray(mesh, p, along, 1.2)
    faces[i, 1] = wp.where(q.result, q.face, -1)
    faces[i, 2] = wp.where(wp.mesh_query_ray_anyhit(mesh, p, along, 1.2, root), 1, 0)
    faces[i, 3] = wp.mesh_query_ray_count_intersections(mesh, p, along, root)
    wp.atomic_add(hits, i % 4, wp.where(hit, 1, 0))


@wp.kernel
def points(mesh: wp.uint64, at: wp.array[wp.vec3], out: wp.array2d[float], faces: wp.array2d[int]):
    i = wp.tid()
    p = at[i]
    side = float(-3.0)
    face = int(-1)
    u = float(-4.0)
    v = float(-5.0)
    if wp.mesh_query_point(mesh, p, 0.4, side, face, u, v):
        out[i, 0] = side
    near = wp.mesh_eval_position(mesh, wp.max(face, 0), u, v)
    out[i, 1] = wp.length(near - p)
    if wp.mesh_query_point_no_sign(mesh, p, 9.0, face, u, v):
        out[i, 2] = wp.length(wp.mesh_eval_position(mesh, face, u, v) - p)
        faces[i, 0] = wp.where(wp.min(u, v) > 1.0e-3 and u + v < 0.999, face, -1)
    if wp.mesh_query_point_sign_normal(mesh, p, 9.0, side, face, u, v):
        out[i, 3] = side
    if wp.mesh_query_point_sign_parity(mesh, p, 9.0, side, face, u, v):
        out[i, 4] = side
    if wp.mesh_query_point_sign_winding_number(mesh, p, 9.0, side, face, u, v):
        out[i, 5] = side
    if wp.mesh_query_furthest_point_no_sign(mesh, p, 0.0, face, u, v):
        out[i, 6] = wp.length(wp.mesh_eval_position(mesh, face, u, v) - p)
    far = wp.mesh_query_furthest_point_no_sign(mesh, p, 9.0)
    faces[i, 1] = wp.where(far.result, 1, 0)
    out[i, 7] = wp.mesh_get_velocity(mesh, i)[1]
    out[i, 8] = wp.mesh_eval_velocity(mesh, i, 0.2, 0.3)[0]
    m = wp.mesh_get(mesh)
    out[i, 9] = m.points[i % 100][0] + wp.mesh_get(mesh).velocities[i % 100][2]
    faces[i, 2] = m.indices[i] + m.points.shape[0] + len(m.indices)


@wp.kernel
def pairs(v: wp.array2d[wp.vec3], meet: wp.array2d[int], out: wp.array[wp.vec3]):
    i = wp.tid()
    meet[i, 0] = wp.intersect_tri_tri(v[i, 0], v[i, 1], v[i, 2], v[i, 3], v[i, 4], v[i, 5])
    a = wp.vec3d(wp.float64(v[i, 0][0]), wp.float64(v[i, 0][1]), wp.float64(0.0))
    b = wp.vec3d(wp.float64(v[i, 1][0]), wp.float64(v[i, 1][1]), wp.float64(0.0))
    c = wp.vec3d(wp.float64(v[i, 2][0]), wp.float64(v[i, 2][1]), wp.float64(0.0))
    d = wp.vec3d(wp.float64(v[i, 3][0]), wp.float64(v[i, 3][1]), wp.float64(0.0))
    e = wp.vec3d(wp.float64(v[i, 4][0]), wp.float64(v[i, 4][1]), wp.float64(0.0))
    f = wp.vec3d(wp.float64(v[i, 5][0]), wp.float64(v[i, 5][1]), wp.float64(0.0))
    meet[i, 1] = wp.intersect_tri_tri(a, b, c, d, e, f)
    out[i] = wp.closest_point_edge_edge(v[i, 0], v[i, 1], v[i, 2], v[i, 3], 1.0e-6)


@wp.kernel
def differentiated(
    mesh: wp.uint64, start: wp.array[wp.vec3], along: wp.array[wp.vec3], ends: wp.array2d[wp.vec3], loss: wp.array[float]
):
    i = wp.tid()
    q = wp.mesh_query_ray(mesh, start[i], along[i], 9.0)
    if q.result:
        at = wp.mesh_eval_position(mesh, q.face, q.u, q.v)
        loss[i] = q.t + 2.0 * q.u - 3.0 * q.v + at[0] * at[1]
        moved = wp.mesh_eval_velocity(mesh, q.face, q.u, q.v)
        wp.atomic_add(loss, i, moved[0] - 2.0 * moved[1])
    # Of the nearest point only its place: it may lie on several faces.
    near = wp.mesh_query_point(mesh, start[i], 9.0)
    if near.result:
        at = wp.mesh_eval_position(mesh, near.face, near.u, near.v)
        wp.atomic_add(loss, i, wp.length(at - start[i]) + at[2])
    t = float(0.0)
    b = float(0.0)
    c = float(0.0)
    sign = float(0.0)
    n = wp.vec3()
    hit = int(0)
    if wp.mesh_query_ray(mesh, start[i], along[i], 9.0, t, b, c, sign, n, hit):
        wp.atomic_add(loss, i, t * t - b * c)
    u = float(0.0)
    v = float(0.0)
    face = int(0)
    if wp.mesh_query_point_sign_normal(mesh, start[i], 9.0, sign, face, u, v):
        at = wp.mesh_eval_position(mesh, face, u, v)
        wp.atomic_add(loss, i, at[0] - 2.0 * at[1])
    edges = wp.closest_point_edge_edge(ends[i, 0], ends[i, 1], ends[i, 2], ends[i, 3], 1.0e-6)
    wp.atomic_add(loss, i, edges[0] + 2.0 * edges[1] - 3.0 * edges[2])


@wp.kernel
def samples(
    line: wp.Texture1D, plane: wp.Texture2D, space: wp.Texture3D, at: wp.array[wp.vec3], out: wp.array2d[float]
):
    i = wp.tid()
    p = at[i]
    out[i, 0] = wp.texture_sample(line, p[0], dtype=float)
    two = wp.texture_sample(plane, wp.vec2(p[0], p[1]), dtype=wp.vec2f)
    out[i, 1] = two[0] + 2.0 * two[1]
    out[i, 2] = wp.texture_sample(plane, p[1], p[2], dtype=float)
    four = wp.texture_sample(space, p, dtype=wp.vec4f)
    out[i, 3] = four[0] + 2.0 * four[1] + 3.0 * four[2] + 4.0 * four[3]
    out[i, 4] = wp.texture_sample(space, p[2], p[1], p[0], dtype=float)
    out[i, 5] = float(line.width + 10 * plane.width + 100 * plane.height + 1000 * space.depth)


@wp.kernel
def chosen(pictures: wp.array[wp.Texture2D], out: wp.array2d[float]):
    i, j = wp.tid()
    out[i, j] = wp.texture_sample(pictures[i], wp.vec2(0.1 * float(j), 0.3), dtype=float) + float(pictures[i].height)


@wp.kernel
def inside(volume: wp.uint64, at: wp.array[wp.vec3], out: wp.array2d[float]):
    i = wp.tid()
    uvw = wp.volume_world_to_index(volume, at[i])
    out[i, 0] = wp.volume_sample_f(volume, uvw, wp.Volume.LINEAR)
    out[i, 1] = wp.volume_sample_f(volume, uvw, wp.Volume.CLOSEST)
    back = wp.volume_index_to_world(volume, 2.0 * uvw) + wp.volume_index_to_world_dir(volume, uvw)
    out[i, 3] = wp.volume_lookup_f(volume, i % 10, i % 21, i % 6 - 1)
    out[i, 2] = wp.length(back + wp.volume_world_to_index_dir(volume, at[i]))


rng = np.random.default_rng(7)
corners, indices = ball()
velocity = rng.standard_normal(corners.shape).astype(np.float32)
mesh = wp.Mesh(
    points=wp.array(corners, dtype=wp.vec3),
    indices=wp.array(indices.reshape(-1), dtype=int),
    velocities=wp.array(velocity, dtype=wp.vec3),
    groups=wp.array(np.arange(len(indices)) % 3, dtype=int),
)
whole = wp.Mesh(
    points=wp.array(corners, dtype=wp.vec3),
    indices=wp.array(indices.reshape(-1), dtype=int),
    velocities=wp.array(velocity, dtype=wp.vec3),
    support_winding_number=True,
)
places = (3 * rng.random((COUNT, 3)) - 1.5).astype(np.float32)
# What lies in the surface may be on either side of it.
radius = np.linalg.norm(places, axis=1)
places[np.abs(radius - 1) < 0.15] *= 1.4
start = wp.array(places, dtype=wp.vec3, requires_grad=True)

ray_values, ray_faces = wp.zeros((COUNT, 5), dtype=float), wp.zeros((COUNT, 4), dtype=int)
ray_hits = wp.zeros(4, dtype=int)
wp.launch(rays, dim=COUNT, inputs=[mesh.id, start, ray_values, ray_faces, ray_hits])

point_values, point_faces = wp.zeros((COUNT, 10), dtype=float), wp.zeros((COUNT, 3), dtype=int)
wp.launch(points, dim=COUNT, inputs=[whole.id, start, point_values, point_faces])

six = (2 * rng.random((COUNT, 6, 3)) - 1).astype(np.float32)
triangles = wp.array(six, dtype=wp.vec3, requires_grad=True)
meet, edges = wp.zeros((COUNT, 2), dtype=int), wp.zeros(COUNT, dtype=wp.vec3)
wp.launch(pairs, dim=COUNT, inputs=[triangles, meet, edges])

aimed = wp.array((-places + 0.3 * rng.random((COUNT, 3))).astype(np.float32), dtype=wp.vec3, requires_grad=True)
loss = wp.zeros(COUNT, dtype=float, requires_grad=True)
tape = wp.Tape()
with tape:
    wp.launch(differentiated, dim=COUNT, inputs=[whole.id, start, aimed, triangles, loss])
tape.backward(grads={loss: wp.array(rng.random(COUNT), dtype=float)})
start_gradient, aimed_gradient, ends_gradient = start.grad, aimed.grad, triangles.grad

at = wp.array((5 * rng.random((COUNT, 3)) - 2).astype(np.float32), dtype=wp.vec3)
sampled = []
for number, mode in enumerate((0, 1, 2, 3)):
    address = wp.TextureAddressMode(mode)
    for filter_mode in (wp.TextureFilterMode.CLOSEST, wp.TextureFilterMode.LINEAR):
        options = dict(filter_mode=filter_mode, address_mode=address, normalized_coords=number % 2 == 0)
        line = wp.Texture1D(rng.random(7).astype(np.float32), **options)
        plane = wp.Texture2D(rng.integers(0, 255, (4, 3, 2)).astype(np.uint8), **options)
        space = wp.Texture3D(rng.random((2, 3, 4, 4)).astype(np.float16), **options)
        values = wp.zeros((COUNT, 6), dtype=float)
        wp.launch(samples, dim=COUNT, inputs=[line, plane, space, at, values])
        sampled.append(values)
kept = [wp.Texture2D(rng.random((2 + n, 5)).astype(np.float32)) for n in range(3)]
several = wp.zeros((3, 10), dtype=float)
wp.launch(chosen, dim=(3, 10), inputs=[wp.array(kept, dtype=wp.Texture2D), several])

volume = wp.Volume.load_from_numpy(
    rng.random((9, 20, 5)).astype(np.float32), min_world=(-1.0, -2.0, 0.5), voxel_size=(0.25, 0.2, 0.3), bg_value=-3.0
)
in_volume = wp.array((3 * rng.random((COUNT, 3)) - 1.5).astype(np.float32), dtype=wp.vec3, requires_grad=True)
volume_values = wp.zeros((COUNT, 4), dtype=float, requires_grad=True)
tape = wp.Tape()
with tape:
    wp.launch(inside, dim=COUNT, inputs=[volume.id, in_volume, volume_values])
tape.backward(grads={volume_values: wp.array(rng.random((COUNT, 4)), dtype=float)})
volume_gradient = in_volume.grad

counter = wp.array([5], dtype=int)
total = wp.zeros(1, dtype=int)


@wp.kernel
def count_down(counter: wp.array[int], total: wp.array[int]):
    total[0] += counter[0]
    counter[0] = counter[0] - 1


def once(step):
    wp.launch(count_down, dim=1, inputs=[counter, total])


wp.capture_while(counter, once, step=1)
wp.capture_if(counter, on_true=once, step=2)
wp.capture_if(total, on_true=once, on_false=None, step=3)
