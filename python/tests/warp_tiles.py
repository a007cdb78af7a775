"""Kernels with tiles, forward and backward: a program for Warp, which leaves values and gradients.

`test_warp_examples.py` runs it with Warp and with `warpsmith.warp`.
"""

import numpy as np
import warp as wp

N = wp.constant(8)
M = wp.constant(6)
rng = np.random.default_rng(7)


@wp.func
def bend(x: float, y: float):
    return x * x * y + wp.sin(x)


@wp.func
def three(x: float, y: float, z: float):
    if x > 0.0:
        return x * y + z
    return y * z - x


@wp.func
def bigger(a: float, b: float):
    return wp.where(a > b, a, b)


@wp.kernel
def k_load_store(a: wp.array2d[float], b: wp.array2d[float]):
    t = wp.tile_load(a, shape=(N, M), offset=(1, 2))
    wp.tile_store(b, t, offset=(0, 1))


@wp.kernel
def k_map1(a: wp.array2d[float], b: wp.array2d[float]):
    t = wp.tile_load(a, shape=(N, M))
    wp.tile_store(b, wp.tile_map(wp.sin, t))


@wp.kernel
def k_map2(a: wp.array2d[float], b: wp.array2d[float]):
    t = wp.tile_load(a, shape=(N, M))
    s = wp.tile_load(a, shape=(N, M), offset=(0, 1))
    wp.tile_store(b, wp.tile_map(bend, t, s))


@wp.kernel
def k_map3(a: wp.array2d[float], b: wp.array2d[float]):
    t = wp.tile_load(a, shape=(N, M))
    s = wp.tile_load(a, shape=(N, M), offset=(1, 0))
    x = a[1, 1]
    wp.tile_store(b, wp.tile_map(three, t, s, x))


@wp.kernel
def k_operators(a: wp.array2d[float], b: wp.array2d[float]):
    t = wp.tile_load(a, shape=(N, M))
    s = wp.tile_load(a, shape=(N, M), offset=(1, 1))
    u = (t + s) * (t - s) * 0.5
    v = -u / (s * s + wp.tile_ones(shape=(N, M), dtype=float))
    w = 2.0 * v
    w += t
    w -= s
    wp.tile_store(b, w)


@wp.kernel
def k_assign_element(a: wp.array2d[float], b: wp.array2d[float]):
    t = wp.tile_load(a, shape=(N, M))
    x = t[2, 3]
    t[1, 1] = x * x
    t[0, 0] += x
    t[4, 4] -= t[0, 1]
    wp.tile_store(b, t)


@wp.kernel
def k_transpose(a: wp.array2d[float], b: wp.array2d[float]):
    t = wp.tile_load(a, shape=(N, M))
    wp.tile_store(b, wp.tile_transpose(t))


@wp.kernel
def k_sum(a: wp.array2d[float], b: wp.array2d[float]):
    t = wp.tile_load(a, shape=(N, M))
    s = wp.tile_sum(t)
    r = wp.tile_sum(t, axis=0)
    c = wp.tile_sum(t, axis=1)
    b[0, 0] = s[0]
    wp.tile_store(b[1], r)
    wp.tile_store(b[2], c)


@wp.kernel
def k_reduce(a: wp.array2d[float], b: wp.array2d[float]):
    t = wp.tile_load(a, shape=(N, M))
    b[0, 0] = wp.tile_reduce(wp.max, t)[0]
    b[0, 1] = wp.tile_reduce(bigger, t)[0]
    b[0, 2] = wp.tile_min(t)[0]
    b[0, 3] = wp.tile_max(t)[0]
    b[0, 4] = float(wp.tile_argmin(t)[0])
    b[0, 5] = float(wp.tile_argmax(t)[0])
    b[0, 6] = wp.tile_reduce(wp.mul, t)[0]
    wp.tile_store(b[1], wp.tile_reduce(wp.min, t, axis=0))
    wp.tile_store(b[2], wp.tile_reduce(bigger, t, axis=1))


@wp.kernel
def k_view(a: wp.array2d[float], b: wp.array2d[float]):
    t = wp.tile_load(a, shape=(N, M))
    v = wp.tile_view(t, offset=(2, 1), shape=(3, 4))
    w = v * 2.0
    z = wp.tile_zeros(shape=(N, M), dtype=float)
    wp.tile_assign(z, w, offset=(1, 1))
    r = t[3]
    q = t[1:7:2, 2:]
    wp.tile_assign(z, q, offset=(4, 2))
    wp.tile_store(b, z)
    wp.tile_store(b[7], r)


@wp.kernel
def k_broadcast(a: wp.array2d[float], b: wp.array2d[float]):
    t = wp.tile_load(a[0], shape=M)
    u = wp.tile_broadcast(t, shape=(N, M))
    s = wp.tile_load(a, shape=(N, M))
    wp.tile_store(b, u * s)


@wp.kernel
def k_reshape(a: wp.array2d[float], b: wp.array2d[float]):
    t = wp.tile_load(a, shape=(N, M))
    u = wp.tile_reshape(t, shape=(M, N))
    v = wp.tile_reshape(t, shape=(N, 1, M))
    w = wp.tile_squeeze(v)
    wp.tile_store(b, u + wp.tile_transpose(w))


@wp.kernel
def k_atomic(a: wp.array2d[float], b: wp.array2d[float]):
    t = wp.tile_load(a, shape=(N, M))
    old = wp.tile_atomic_add(b, t, offset=(1, 0))
    wp.tile_store(b, old, offset=(0, 2))


@wp.kernel
def k_matmul(a: wp.array2d[float], b: wp.array2d[float]):
    x = wp.tile_load(a, shape=(N, M))
    y = wp.tile_load(a, shape=(M, N), offset=(1, 0))
    z = wp.tile_matmul(x, y)
    s = wp.tile_load(a, shape=(N, N), offset=(0, 0))
    wp.tile_matmul(x, y, s, alpha=-0.5, beta=2.0)
    wp.tile_store(b, z + s)


@wp.kernel
def k_matmul_loop(a: wp.array2d[float], b: wp.array2d[float]):
    s = wp.tile_zeros(shape=(4, 4), dtype=float)
    for k in range(wp.tid() + 2):
        x = wp.tile_load(a, shape=(4, 3), offset=(0, k * 3))
        y = wp.tile_load(a, shape=(3, 4), offset=(k * 3, 0))
        wp.tile_matmul(x, y, s)
    wp.tile_store(b, s)


@wp.kernel
def k_cholesky(a: wp.array2d[float], b: wp.array2d[float]):
    m = wp.tile_load(a, shape=(N, M))
    s = wp.tile_matmul(wp.tile_transpose(m), m)
    d = wp.tile_ones(shape=M, dtype=float)
    p = wp.tile_diag_add(s, d)
    l = wp.tile_cholesky(p)
    r = wp.tile_load(a[0], shape=M)
    x = wp.tile_cholesky_solve(l, r)
    z = wp.tile_upper_solve(wp.tile_transpose(l), r)
    wp.tile_store(b, l)
    wp.tile_store(b[6], x)
    wp.tile_store(b[8], z)


@wp.kernel
def k_fft(a: wp.array2d[wp.vec2], b: wp.array2d[wp.vec2]):
    t = wp.tile_load(a, shape=(2, 256))
    wp.tile_fft(t)
    wp.tile_store(b, t)


@wp.kernel
def k_ifft(a: wp.array2d[wp.vec2], b: wp.array2d[wp.vec2]):
    t = wp.tile_load(a, shape=(2, 256))
    wp.tile_ifft(t)
    wp.tile_store(b, t)


@wp.kernel
def k_sort(a: wp.array2d[float], b: wp.array2d[float]):
    k = wp.tile_load(a[0], shape=8)
    v = wp.tile_load(a[1], shape=8)
    wp.tile_sort(k, v)
    wp.tile_store(b[0], k)
    wp.tile_store(b[1], v)


@wp.kernel
def k_scan(a: wp.array2d[float], b: wp.array2d[float]):
    k = wp.tile_load(a[0], shape=8)
    wp.tile_store(b[0], wp.tile_scan_inclusive(k))
    wp.tile_store(b[1], wp.tile_scan_exclusive(k))
    wp.tile_store(b[2], wp.tile_scan_max_inclusive(k))
    wp.tile_store(b[3], wp.tile_scan_min_inclusive(k))


@wp.kernel
def k_threads(a: wp.array2d[float], b: wp.array2d[float]):
    i = wp.tid()
    x = a[i, 0] * a[i, 1]
    t = wp.tile(x)
    s = wp.tile_sum(t)
    y = wp.untile(t)
    b[i, 0] = y * 2.0
    wp.tile_atomic_add(b[9], s)
    v = wp.vec3(a[i, 0], a[i, 1], a[i, 2])
    w = wp.tile(v)
    z = wp.untile(w * 2.0)
    b[i, 1] = z[0] + z[1] * z[2]


@wp.kernel
def k_make(a: wp.array2d[float], b: wp.array2d[float]):
    r = wp.tile_arange(2, 10, 2, dtype=float)
    f = wp.tile_full(shape=4, value=a[0, 0], dtype=float)
    o = wp.tile_ones(shape=4, dtype=float)
    wp.tile_store(b[0], r + f + o)
    h = wp.tile_astype(wp.tile_arange(5, dtype=int), dtype=float)
    wp.tile_store(b[1], h)


@wp.kernel
def k_dot(a: wp.array2d[float], b: wp.array2d[float]):
    x = wp.tile_load(a[0], shape=8)
    y = wp.tile_load(a[1], shape=8)
    d = wp.tile_dot(x, y)
    b[0, 0] = d[0]
    z = wp.tile_load(a[2], shape=8)
    wp.tile_axpy(a[3, 3], x, z)
    wp.tile_store(b[1], z)


@wp.kernel
def k_loop(a: wp.array2d[float], b: wp.array2d[float]):
    s = wp.tile_zeros(shape=(N, M), dtype=float)
    for k in range(3 + wp.tid()):
        t = wp.tile_load(a, shape=(N, M), offset=(k, 0))
        s += t * 0.5
    wp.tile_store(b, s)


@wp.kernel
def k_reassign(a: wp.array2d[float], b: wp.array2d[float]):
    s = wp.tile_load(a, shape=(N, M))
    for k in range(2 + wp.tid()):
        t = wp.tile_load(a, shape=(N, M), offset=(k, 0))
        s = s + t
    wp.tile_store(b, s)


@wp.kernel
def k_indexed(a: wp.array2d[float], b: wp.array2d[float]):
    i = wp.tile_arange(1, 7, 2, dtype=int)
    t = wp.tile_load_indexed(a, i, shape=(3, M), offset=(0, 1), axis=0)
    wp.tile_store_indexed(b, i, t, offset=(1, 0), axis=0)
    wp.tile_atomic_add_indexed(b, i, t, offset=(2, 3), axis=0)


@wp.kernel
def k_edges(a: wp.array2d[float], b: wp.array2d[float]):
    i = wp.tid()
    t = wp.tile_load(a, shape=(5, 5), offset=(i * 5 + 4, i * 5))
    wp.tile_store(b, t, offset=(i * 5 + 7, i * 5 + 1))


@wp.kernel
def k_out_twice(a: wp.array2d[float], b: wp.array2d[float]):
    t = wp.tile_load(a, shape=(N, M))
    wp.tile_store(b, t)
    wp.tile_store(b, t * 2.0, offset=(1, 0))

@wp.kernel
def k_sum_scaled(a: wp.array2d[float], b: wp.array2d[float]):
    t = wp.tile_load(a, shape=(N, M))
    s = wp.tile_sum(t) * 0.25
    wp.tile_store(b[0], s, offset=(2,))


@wp.kernel
def k_assign_overlap(a: wp.array2d[float], b: wp.array2d[float]):
    t = wp.tile_load(a, shape=(4, 4))
    z = wp.tile_load(a, shape=(N, M), offset=(2, 2))
    wp.tile_assign(z, t, offset=(0, 0))
    wp.tile_assign(z, t, offset=(2, 1))
    wp.tile_store(b, z)


@wp.kernel
def k_spd_cholesky(a: wp.array2d[float], b: wp.array2d[float]):
    p = wp.tile_load(a, shape=(M, M))
    lower = wp.tile_cholesky(p)
    wp.tile_store(b, lower)


@wp.kernel
def k_spd_upper(a: wp.array2d[float], b: wp.array2d[float]):
    p = wp.tile_load(a, shape=(M, M))
    u = wp.tile_cholesky(p, fill_mode="upper")
    r = wp.tile_load(a, shape=(M, 2), offset=(0, 7))
    wp.tile_store(b, u)
    wp.tile_store(b, wp.tile_cholesky_solve(u, r, fill_mode="upper"), offset=(0, 8))


@wp.kernel
def k_spd_lower_solve(a: wp.array2d[float], b: wp.array2d[float]):
    p = wp.tile_load(a, shape=(M, M))
    r = wp.tile_load(a, shape=(M, 2), offset=(0, 7))
    wp.tile_store(b, wp.tile_lower_solve(p, r))


@wp.kernel
def k_spd_in_place(a: wp.array2d[float], b: wp.array2d[float]):
    p = wp.tile_load(a, shape=(M, M))
    r = wp.tile_load(a, shape=(M, 2), offset=(0, 7))
    wp.tile_cholesky_inplace(p)
    wp.tile_lower_solve_inplace(p, r)
    wp.tile_upper_solve_inplace(wp.tile_transpose(p), r)
    wp.tile_store(b, p)
    wp.tile_store(b, r, offset=(0, 8))


@wp.kernel
def k_vectors(a: wp.array2d[wp.vec2], b: wp.array2d[wp.vec2]):
    t = wp.tile_load(a, shape=(3, 5))
    s = wp.tile_sum(t)
    u = t * 2.0 + t
    v = u[1, 2]
    u[0, 0] = v * v[0]
    wp.tile_store(b, u)
    b[7, 7] = s[0]


@wp.kernel
def k_mixed(a: wp.array2d[float], b: wp.array2d[float]):
    x = wp.tile_astype(wp.tile_load(a, shape=(3, 4)), dtype=wp.float64)
    y = wp.tile_load(a, shape=(4, 3), offset=(0, 5))
    z = wp.tile_zeros(shape=(3, 3), dtype=wp.float64)
    wp.tile_matmul(x, y, z)
    wp.tile_store(b, wp.tile_astype(z, dtype=float))


# What each kernel leaves: results, and the gradients of what went in and of what came out.
names, results, gradients, result_gradients = [], [], [], []
for name, kernel in sorted(list(globals().items())):
    if not name.startswith("k_"):
        continue
    pairs = "fft" in name or "vectors" in name
    kind = wp.vec2 if pairs else float
    shape = (2, 256, 2) if "fft" in name else (12, 16, 2) if pairs else (12, 16)
    threads = 3 if name in ("k_threads", "k_edges") else 1
    given = rng.random(shape).astype(np.float32)
    if "spd" in name:
        given[:12, :12] = given[:12, :12] @ given[:12, :12].T + np.eye(12, dtype=np.float32)
    a = wp.array(given, dtype=kind, requires_grad=True, device="cpu")
    b = wp.array(rng.random(shape).astype(np.float32), dtype=kind, requires_grad=True, device="cpu")
    with wp.Tape() as tape:
        wp.launch(kernel, dim=threads, inputs=[a], outputs=[b], block_dim=1, device="cpu")
    b.grad.assign(rng.random(shape).astype(np.float32))
    tape.backward()
    names.append(name)
    results.append(b)
    gradients.append(a.grad)
    result_gradients.append(b.grad)
