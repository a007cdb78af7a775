"""Searches through boxes and faces: kernels, and what a look at every one of them gives."""

import numpy as np

import warpsmith.warp as wp

#: How each search is weighted, so that neither a box too many nor one too few goes unnoticed.
SEARCHES = ("aabb", "ray", "ray up to 0.5", "capsule", "sphere", "group", "sphere or aabb")


@wp.func
def weight(n: int):
    return (n * 7919) % 104729 + 1


@wp.func
def rest(query: wp.BvhQuery):
    total = int(0)
    n = int(0)
    while wp.bvh_query_next(query, n):
        total += weight(n)
    return total


@wp.kernel
def search(tree: wp.uint64, grouped: wp.uint64, points: wp.array[wp.vec3], out: wp.array2d[int]):
    i = wp.tid()
    p = points[i]
    n = int(0)
    boxes = wp.bvh_query_aabb(tree, p, p + wp.vec3(0.1, 0.05, 0.2))
    while wp.bvh_query_next(boxes, n):
        out[i, 0] += weight(n)
    along = wp.vec3(1.0, 0.0, -0.5)
    ray = wp.bvh_query_ray(tree, p, along)
    while wp.bvh_query_next(ray, n):
        out[i, 1] += weight(n)
    short = wp.bvh_query_ray(tree, p, along)
    while wp.bvh_query_next(short, n, 0.5):
        out[i, 2] += weight(n)
    capsule = wp.bvh_query_capsule(tree, p, along, 0.1)
    while wp.bvh_query_next(capsule, n):
        out[i, 3] += weight(n)
    out[i, 4] = rest(wp.bvh_query_sphere(tree, p, 0.15))
    if i % 2 == 0:
        either = wp.bvh_query_sphere(tree, p, 0.15)
    else:
        either = wp.bvh_query_aabb(tree, p, p + wp.vec3(0.1, 0.05, 0.2))
    while wp.bvh_query_next(either, n):
        out[i, 6] += weight(n)
    root = wp.bvh_get_group_root(grouped, i % 3)
    own = wp.bvh_query_aabb(grouped, p, p + wp.vec3(0.3), root)
    while wp.bvh_query_next(own, n):
        out[i, 5] += weight(n)


@wp.kernel
def faces(mesh: wp.uint64, points: wp.array[wp.vec3], out: wp.array2d[int]):
    i = wp.tid()
    p = points[i]
    for n in wp.mesh_query_aabb(mesh, p, p + wp.vec3(0.3)):
        out[i, 0] += weight(n)
    query = wp.mesh_query_aabb(mesh, p, p + wp.vec3(0.3))
    n = int(0)
    while wp.mesh_query_aabb_next(query, n):
        out[i, 1] += weight(n)
    ball = wp.mesh_query_sphere(mesh, p, 0.3)
    while wp.mesh_query_next(ball, n):
        out[i, 2] += weight(n)
    out[i, 3] = int(wp.mesh_query_point_sign_winding_number(mesh, p, 10.0).sign)
    out[i, 4] = int(wp.mesh_query_point_sign_parity(mesh, p, 10.0).sign)
    out[i, 5] = wp.mesh_query_ray_count_intersections(mesh, p, wp.vec3(0.3, 1.0, 0.2))
    out[i, 6] = int(wp.mesh_query_ray_anyhit(mesh, p, wp.vec3(0.3, 1.0, 0.2), 10.0))
    if wp.mesh_get_point(mesh, 3 * i)[0] == wp.mesh_eval_position(mesh, i, 1.0, 0.0)[0]:
        out[i, 7] = wp.mesh_get_index(mesh, 3 * i)
    out[i, 8] = int(wp.round(100.0 * wp.mesh_eval_face_normal(mesh, i)[2]))


def boxes(count: int = 700) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    lows = rng.random((count, 3)).astype(np.float32)
    return lows, lows + 0.1 * rng.random((count, 3)).astype(np.float32), rng.integers(0, 3, count).astype(np.int32)


def ball(rings: int = 12, sides: int = 16) -> tuple[np.ndarray, np.ndarray]:
    theta, phi = np.meshgrid(np.linspace(0, np.pi, rings + 1), 2 * np.pi * np.arange(sides) / sides, indexing="ij")
    points = np.stack([np.sin(theta) * np.cos(phi), np.sin(theta) * np.sin(phi), np.cos(theta)], -1).reshape(-1, 3)
    i, j = np.meshgrid(np.arange(rings), np.arange(sides), indexing="ij")
    a, b = i * sides + j, i * sides + (j + 1) % sides
    indices = np.stack([a, a + sides, b, b, a + sides, b + sides], -1).reshape(-1)
    return points.astype(np.float32), indices.astype(np.int32)


def queries(count: int = 200, scale: float = 1.0) -> np.ndarray:
    return (scale * (2 * np.random.default_rng(5).random((count, 3)) - 1)).astype(np.float32)


def _weights(found: np.ndarray) -> np.ndarray:
    return found @ (np.arange(found.shape[1]) * 7919 % 104729 + 1)


def _slabs(low: np.ndarray, high: np.ndarray, p: np.ndarray, along: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Where a ray is between both sides, along y only whether it is."""
    near, far = np.full(len(low), -np.inf, np.float32), np.full(len(low), np.inf, np.float32)
    for axis in (0, 2):
        s, t = (low[:, axis] - p[axis]) / along[axis], (high[:, axis] - p[axis]) / along[axis]
        near, far = np.maximum(near, np.minimum(s, t)), np.minimum(far, np.maximum(s, t))
    inside = (low[:, 1] <= p[1]) & (p[1] <= high[:, 1])
    return np.where(inside, near, np.inf), far


def expected_searches(points: np.ndarray) -> np.ndarray:
    lows, highs, groups = boxes()
    along = np.array([1.0, 0.0, -0.5], np.float32)
    out = []
    for i, p in enumerate(points):
        def touched(size: list[float], p: np.ndarray = p) -> np.ndarray:
            high = (p + np.array(size, np.float32)).astype(np.float32)
            return np.all((p <= highs) & (high >= lows), axis=1)

        near, far = _slabs(lows, highs, p, along)
        hit = (far >= 0) & (far >= near)
        wide_near, wide_far = _slabs(lows - np.float32(0.1), highs + np.float32(0.1), p, along)
        away = np.maximum(np.maximum(lows - p, p - highs), 0)
        out.append([
            touched([0.1, 0.05, 0.2]), hit, hit & (near < 0.5), (wide_far >= 0) & (wide_far >= wide_near),
            (away**2).sum(1) <= np.float32(0.15) ** 2, touched([0.3] * 3) & (groups == i % 3),
        ])  # fmt: skip
        out[-1].append(out[-1][0 if i % 2 else 4])
    return np.stack([_weights(np.stack(column)) for column in zip(*out)], axis=1)


def run_searches(points: np.ndarray, moved: bool = False) -> np.ndarray:
    """The searches on the current device; with `moved`, in a tree that was made elsewhere and fitted again."""
    lows, highs, groups = boxes()
    shift = np.float32(2.0 if moved else 0.0)
    low, high = wp.array(lows + shift, dtype=wp.vec3), wp.array(highs + shift, dtype=wp.vec3)
    tree = wp.Bvh(low, high)
    grouped = wp.Bvh(low, high, groups=wp.array(groups, dtype=int))
    if moved:
        for array, values in ((low, lows), (high, highs)):
            array.assign(values)
        tree.refit()
        grouped.rebuild()
    out = wp.zeros((len(points), len(SEARCHES)), dtype=int)
    wp.launch(search, dim=len(points), inputs=[tree.id, grouped.id, wp.array(points, dtype=wp.vec3), out])
    return out.numpy().copy()


def run_faces(points: np.ndarray, winding: bool = True) -> np.ndarray:
    corners, indices = ball()
    mesh = wp.Mesh(
        wp.array(corners, dtype=wp.vec3), wp.array(indices, dtype=int), support_winding_number=winding
    )
    out = wp.zeros((len(points), 9), dtype=int)
    wp.launch(faces, dim=len(points), inputs=[mesh.id, wp.array(points, dtype=wp.vec3), out])
    return out.numpy().copy()


def expected_boxes_of_faces(points: np.ndarray) -> np.ndarray:
    corners, indices = ball()
    triangles = corners[indices.reshape(-1, 3)]
    low, high = triangles.min(1), triangles.max(1)
    found = [np.all((p <= high) & (p + np.float32(0.3) >= low), axis=1) for p in points]
    return _weights(np.stack(found))
