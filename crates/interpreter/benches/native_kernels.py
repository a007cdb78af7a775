"""Twenty kernels for the comparison of native code with Warp's CPU build."""

import warp as wp


@wp.kernel
def saxpy(x: wp.array(dtype=float), y: wp.array(dtype=float), a: float):
    i = wp.tid()
    y[i] = a * x[i] + y[i]


@wp.kernel
def quotient_and_root(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    v = wp.abs(x[i]) + 0.5
    y[i] = 2.0 / v + wp.sqrt(v)


@wp.kernel
def horner(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    v = x[i]
    y[i] = ((((v * 0.3 + 0.7) * v - 1.1) * v + 0.2) * v - 0.9) * v + 0.4


@wp.kernel
def smooth_step(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    t = wp.clamp(x[i] * 0.5 + 0.5, 0.0, 1.0)
    y[i] = t * t * (3.0 - 2.0 * t)


@wp.kernel
def piecewise(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    v = x[i]
    if v < 0.0:
        y[i] = 0.1 * v
    else:
        y[i] = v * v + v


@wp.kernel
def soft_plus(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = wp.log(1.0 + wp.exp(x[i]))


@wp.kernel
def wave(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = wp.sin(x[i]) * wp.cos(0.5 * x[i])


@wp.kernel
def integrate(p: wp.array(dtype=wp.vec3), v: wp.array(dtype=wp.vec3), q: wp.array(dtype=wp.vec3), dt: float):
    i = wp.tid()
    q[i] = p[i] + v[i] * dt + wp.vec3(0.0, -4.9, 0.0) * (dt * dt)


@wp.kernel
def directions(p: wp.array(dtype=wp.vec3), q: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    q[i] = wp.normalize(p[i] + wp.vec3(3.0, 3.0, 3.0))


@wp.kernel
def cross_and_dot(p: wp.array(dtype=wp.vec3), q: wp.array(dtype=wp.vec3), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = wp.dot(wp.cross(p[i], q[i]), p[i] + q[i]) + wp.length_sq(p[i])


@wp.kernel
def products(m: wp.array(dtype=wp.mat33), y: wp.array(dtype=float)):
    i = wp.tid()
    a = m[i]
    y[i] = wp.determinant(wp.transpose(a) * a) + wp.trace(a)


@wp.kernel
def rotations(r: wp.array(dtype=wp.quat), p: wp.array(dtype=wp.vec3), q: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    q[i] = wp.quat_rotate(r[i], p[i])


@wp.kernel
def springs(
    p: wp.array(dtype=wp.vec3), ends: wp.array(dtype=int), f: wp.array(dtype=wp.vec3), stiffness: float
):
    i = wp.tid()
    a = ends[2 * i]
    b = ends[2 * i + 1]
    d = p[b] - p[a]
    force = d * (stiffness * (wp.length(d) - 0.5))
    wp.atomic_add(f, a, force)
    wp.atomic_sub(f, b, force)


@wp.kernel
def laplacian(u: wp.array2d(dtype=float), w: wp.array2d(dtype=float)):
    i, j = wp.tid()
    if i > 0 and j > 0 and i < u.shape[0] - 1 and j < u.shape[1] - 1:
        w[i, j] = u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1] - 4.0 * u[i, j]


@wp.kernel
def window(x: wp.array(dtype=float), y: wp.array(dtype=float), n: int):
    i = wp.tid()
    s = float(0.0)
    for k in range(n):
        s += x[(i + k) % x.shape[0]] * (1.0 / float(k + 1))
    y[i] = s


@wp.kernel
def neighbours(p: wp.array(dtype=wp.vec3), y: wp.array(dtype=float)):
    i = wp.tid()
    s = float(0.0)
    for k in range(16):
        d = p[i] - p[(i + k + 1) % p.shape[0]]
        s += 1.0 / (wp.dot(d, d) + 0.01)
    y[i] = s


@wp.kernel
def escape(c: wp.array(dtype=wp.vec2), counts: wp.array(dtype=int)):
    i = wp.tid()
    z = wp.vec2(0.0, 0.0)
    n = int(0)
    while n < 64:
        z = wp.vec2(z[0] * z[0] - z[1] * z[1] + c[i][0], 2.0 * z[0] * z[1] + c[i][1])
        if wp.dot(z, z) > 4.0:
            break
        n += 1
    counts[i] = n


@wp.kernel
def random_sums(y: wp.array(dtype=float), seed: int):
    i = wp.tid()
    state = wp.rand_init(seed, i)
    y[i] = wp.randf(state) + wp.randf(state) + wp.randf(state) + wp.randf(state)


@wp.kernel
def total(x: wp.array(dtype=float), s: wp.array(dtype=float)):
    i = wp.tid()
    wp.atomic_add(s, 0, x[i] * x[i])


@wp.kernel
def double_precision(x: wp.array(dtype=wp.float64), y: wp.array(dtype=wp.float64)):
    i = wp.tid()
    v = x[i]
    y[i] = v * v * v - wp.float64(2.0) * v + wp.sqrt(wp.abs(v))
