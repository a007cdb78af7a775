# The functions that Warp's library writes in Python, for running kernels: the same operations in the same
# order, so that the numbers are Warp's. Warp's text quotes its own lines, which only its own file has.
from typing import Any
import warp as wp


@wp.func
def norm_l1(v: Any):
    total = float(0.0)
    for at in range(len(v)):
        total += wp.abs(v[at])
    return total


@wp.func
def norm_l2(v: Any):
    return wp.length(v)


@wp.func
def norm_huber(v: Any, delta: float = 1.0):
    square = wp.dot(v, v)
    if square <= delta * delta:
        return 0.5 * square
    return delta * (wp.sqrt(square) - 0.5 * delta)


@wp.func
def norm_pseudo_huber(v: Any, delta: float = 1.0):
    square = wp.dot(v, v)
    return delta * wp.sqrt(1.0 + square / (delta * delta))


@wp.func
def smooth_normalize(v: Any, delta: float = 1.0):
    return v / norm_pseudo_huber(v, delta)


@wp.func
def velocity_at_point(qd: wp.spatial_vector, r: wp.vec3):
    return wp.spatial_bottom(qd) + wp.cross(wp.spatial_top(qd), r)


@wp.func
def quat_twist(axis: wp.vec3, q: wp.quat):
    along = wp.dot(wp.vec3(q[0], q[1], q[2]), axis) * axis
    return wp.normalize(wp.quat(along[0], along[1], along[2], q[3]))


@wp.func
def quat_twist_angle(axis: wp.vec3, q: wp.quat):
    return 2.0 * wp.atan2(wp.abs(wp.dot(axis, wp.vec3(q[0], q[1], q[2]))), q[3])


@wp.func
def quat_twist_angle_signed(axis: wp.vec3, q: wp.quat):
    return 2.0 * wp.atan2(wp.dot(axis, wp.vec3(q[0], q[1], q[2])), q[3])


@wp.func
def quat_to_rpy(q: wp.quat):
    x = q[0]
    y = q[1]
    z = q[2]
    w = q[3]
    roll = wp.atan2(2.0 * (w * x + y * z), 1.0 - 2.0 * (x * x + y * y))
    pitch = wp.asin(wp.clamp(2.0 * (w * y - z * x), -1.0, 1.0))
    yaw = wp.atan2(2.0 * (w * z + x * y), 1.0 - 2.0 * (y * y + z * z))
    return wp.vec3(roll, pitch, yaw)


@wp.func
def quat_to_euler(q: wp.quat, i: int, j: int, k: int):
    first = i + 1
    second = j + 1
    third = k + 1
    three_axes = True
    if first == third:
        three_axes = False
        third = 6 - first - second
    sign = float((first - second) * (second - third) * (third - first)) / 2.0

    q_first = q[0]
    if first == 2:
        q_first = q[1]
    elif first == 3:
        q_first = q[2]
    q_second = q[0]
    if second == 2:
        q_second = q[1]
    elif second == 3:
        q_second = q[2]
    q_third = q[0]
    if third == 2:
        q_third = q[1]
    elif third == 3:
        q_third = q[2]

    a = q[3]
    b = q_first
    c = q_second
    d = q_third * sign
    if three_axes:
        a = q[3] - q_second
        b = q_first + q_third * sign
        c = q_second + q[3]
        d = q_third * sign - q_first

    middle = wp.acos(2.0 * (a * a + b * b) / (a * a + b * b + c * c + d * d) - 1.0)
    sum = wp.atan2(b, a)
    difference = wp.atan2(d, c)
    start = 0.0
    end = 0.0
    if wp.abs(middle) < 1e-6:
        end = 2.0 * sum - start
    elif wp.abs(middle - wp.pi) < 1e-6:
        end = 2.0 * difference + start
    else:
        start = sum - difference
        end = sum + difference
    if three_axes:
        middle -= wp.HALF_PI
        end *= sign

    x = start
    y = middle
    z = end
    if first == 2:
        x = middle
        y = start
    elif first == 3:
        x = end
        z = start

    if second == 1:
        x = middle
    elif second == 2:
        y = middle
    else:
        z = middle

    if third == 1:
        x = end
    elif third == 2:
        y = end
    else:
        z = end
    return wp.vec3(x, y, z)


@wp.func
def quat_from_euler(e: wp.vec3, i: int, j: int, k: int):
    half_i = 0.5 * e[i]
    half_j = 0.5 * e[j]
    half_k = 0.5 * e[k]
    qi = wp.quat(0.0, 0.0, 0.0, 1.0)
    qj = wp.quat(0.0, 0.0, 0.0, 1.0)
    qk = wp.quat(0.0, 0.0, 0.0, 1.0)
    if i == 0:
        qi = wp.quat(wp.sin(half_i), 0.0, 0.0, wp.cos(half_i))
    elif i == 1:
        qi = wp.quat(0.0, wp.sin(half_i), 0.0, wp.cos(half_i))
    else:
        qi = wp.quat(0.0, 0.0, wp.sin(half_i), wp.cos(half_i))
    if j == 0:
        qj = wp.quat(wp.sin(half_j), 0.0, 0.0, wp.cos(half_j))
    elif j == 1:
        qj = wp.quat(0.0, wp.sin(half_j), 0.0, wp.cos(half_j))
    else:
        qj = wp.quat(0.0, 0.0, wp.sin(half_j), wp.cos(half_j))
    if k == 0:
        qk = wp.quat(wp.sin(half_k), 0.0, 0.0, wp.cos(half_k))
    elif k == 1:
        qk = wp.quat(0.0, wp.sin(half_k), 0.0, wp.cos(half_k))
    else:
        qk = wp.quat(0.0, 0.0, wp.sin(half_k), wp.cos(half_k))
    return wp.mul(qk, wp.mul(qj, qi))


@wp.func
def transform_twist(t: wp.transform, x: wp.spatial_vector):
    q = wp.transform_get_rotation(t)
    angular = wp.quat_rotate(q, wp.spatial_top(x))
    linear = wp.quat_rotate(q, wp.spatial_bottom(x))
    return wp.spatial_vector(angular, linear + wp.cross(wp.transform_get_translation(t), angular))


@wp.func
def transform_wrench(t: wp.transform, x: wp.spatial_vector):
    q = wp.transform_get_rotation(t)
    force = wp.quat_rotate(q, wp.spatial_bottom(x))
    torque = wp.quat_rotate(q, wp.spatial_top(x))
    return wp.spatial_vector(torque + wp.cross(wp.transform_get_translation(t), force), force)


def from_matrix(dtype):
    mat44 = wp._src.types.matrix((4, 4), dtype)
    vec3 = wp._src.types.vector(3, dtype)
    transform = wp._src.types.transformation(dtype)

    def transform_from_matrix(mat: mat44) -> transform:
        position = vec3(mat[0][3], mat[1][3], mat[2][3])
        return transform(position, wp.quat_from_matrix(mat))

    return transform_from_matrix


wp.func(from_matrix(wp.float32), name="transform_from_matrix")
wp.func(from_matrix(wp.float16), name="transform_from_matrix")
wp.func(from_matrix(wp.float64), name="transform_from_matrix")


def to_matrix(dtype):
    mat44 = wp._src.types.matrix((4, 4), dtype)
    transform = wp._src.types.transformation(dtype)

    def transform_to_matrix(xform: transform) -> mat44:
        p = wp.transform_get_translation(xform)
        r = wp.quat_to_matrix(wp.transform_get_rotation(xform))
        return mat44(
            r[0][0], r[0][1], r[0][2], p[0],
            r[1][0], r[1][1], r[1][2], p[1],
            r[2][0], r[2][1], r[2][2], p[2],
            dtype(0.0), dtype(0.0), dtype(0.0), dtype(1.0),
        )

    return transform_to_matrix


wp.func(to_matrix(wp.float32), name="transform_to_matrix")
wp.func(to_matrix(wp.float16), name="transform_to_matrix")
wp.func(to_matrix(wp.float64), name="transform_to_matrix")


def compose(dtype):
    mat44 = wp._src.types.matrix((4, 4), dtype)
    quat = wp._src.types.quaternion(dtype)
    vec3 = wp._src.types.vector(3, dtype)

    def transform_compose(position: vec3, rotation: quat, scale: vec3):
        r = wp.quat_to_matrix(rotation)
        return mat44(
            scale[0] * r[0, 0], scale[1] * r[0, 1], scale[2] * r[0, 2], position[0],
            scale[0] * r[1, 0], scale[1] * r[1, 1], scale[2] * r[1, 2], position[1],
            scale[0] * r[2, 0], scale[1] * r[2, 1], scale[2] * r[2, 2], position[2],
            dtype(0.0), dtype(0.0), dtype(0.0), dtype(1.0),
        )

    return transform_compose


wp.func(compose(wp.float32), name="transform_compose")
wp.func(compose(wp.float16), name="transform_compose")
wp.func(compose(wp.float64), name="transform_compose")


def decompose(dtype):
    mat44 = wp._src.types.matrix((4, 4), dtype)
    vec3 = wp._src.types.vector(3, dtype)
    mat33 = wp._src.types.matrix((3, 3), dtype)
    zero = dtype(0.0)

    def transform_decompose(m: mat44):
        a, b, c = m[0, 0], m[0, 1], m[0, 2]
        d, e, f = m[1, 0], m[1, 1], m[1, 2]
        g, h, i = m[2, 0], m[2, 1], m[2, 2]
        x = wp.sqrt(a * a + d * d + g * g)
        y = wp.sqrt(b * b + e * e + h * h)
        z = wp.sqrt(c * c + f * f + i * i)
        if x != zero:
            a /= x
            d /= x
            g /= x
        if y != zero:
            b /= y
            e /= y
            h /= y
        if z != zero:
            c /= z
            f /= z
            i /= z
        rotation = wp.quat_from_matrix(mat33(a, b, c, d, e, f, g, h, i))
        return vec3(m[0, 3], m[1, 3], m[2, 3]), rotation, vec3(x, y, z)

    return transform_decompose


wp.func(decompose(wp.float32), name="transform_decompose")
wp.func(decompose(wp.float16), name="transform_decompose")
wp.func(decompose(wp.float64), name="transform_decompose")
