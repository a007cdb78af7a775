"""Peers of the lattice workloads on the CPU: NumPy, Numba, SciPy. Prints CPU time per cell and step.

Each is left out, and said to be, where it is not installed. The first call is not timed: it may
compile."""

import sys
import time

import numpy as np


def best(work):
    work()
    cpu = float("inf")
    begun = time.perf_counter()
    runs = 0
    while runs < 3 or (time.perf_counter() - begun < 1.5 and runs < 50):
        start = time.process_time()
        work()
        cpu = min(cpu, time.process_time() - start)
        runs += 1
    return cpu


def start(n):
    u = np.random.default_rng(1234).random((n, n, n), dtype=np.float32)
    return u, np.zeros_like(u)


def rd_numpy(u, e, steps):
    one = np.float32
    for _ in range(steps):
        p = np.pad(u, 1)
        lap = p[2:, 1:-1, 1:-1] + p[:-2, 1:-1, 1:-1] + p[1:-1, 2:, 1:-1] + p[1:-1, :-2, 1:-1]
        lap = lap + p[1:-1, 1:-1, 2:] + p[1:-1, 1:-1, :-2] - one(6) * u
        r = one(0.05) * u * (1 - u) * (u - one(0.3))
        r = np.where(e > 0.5, one(0.8) * r, r)
        u = np.clip(u + one(0.1) * lap + r, 0, 1)
        e = one(0.9) * e + one(0.1) * np.abs(lap)
    return u, e


def numba_step():
    import numba

    @numba.njit(fastmath=True)
    def step(u, e, v, f):
        n = u.shape[0]
        for i in range(n):
            for j in range(n):
                for k in range(n):
                    c = u[i, j, k]
                    s = np.float32(-6) * c
                    if i > 0:
                        s += u[i - 1, j, k]
                    if i < n - 1:
                        s += u[i + 1, j, k]
                    if j > 0:
                        s += u[i, j - 1, k]
                    if j < n - 1:
                        s += u[i, j + 1, k]
                    if k > 0:
                        s += u[i, j, k - 1]
                    if k < n - 1:
                        s += u[i, j, k + 1]
                    r = np.float32(0.05) * c * (np.float32(1) - c) * (c - np.float32(0.3))
                    x = e[i, j, k]
                    if x > np.float32(0.5):
                        r *= np.float32(0.8)
                    w = c + np.float32(0.1) * s + r
                    v[i, j, k] = min(np.float32(1), max(np.float32(0), w))
                    f[i, j, k] = np.float32(0.9) * x + np.float32(0.1) * abs(s)

    return step


def rd():
    for n, steps in [(64, 50), (100, 10), (128, 30)]:
        u, e = start(n)
        cells = n**3 * steps
        seconds = best(lambda: rd_numpy(u, e, steps))
        print(f"  numpy {np.__version__}: {n}^3 x{steps}: {seconds / cells * 1e9:.3f} ns, {seconds:.4f} s")
        try:
            step = numba_step()
        except ImportError:
            print("  numba: skipped: not installed")
            continue
        v, f = np.empty_like(u), np.empty_like(e)

        def run():
            a, b, c, d = u, e, v, f
            for _ in range(steps):
                step(a, b, c, d)
                a, b, c, d = c, d, a, b

        seconds = best(run)
        print(f"  numba, one thread: {n}^3 x{steps}: {seconds / cells * 1e9:.3f} ns, {seconds:.4f} s")


def bfs():
    try:
        from scipy.sparse import coo_matrix
        from scipy.sparse.csgraph import breadth_first_order
    except ImportError:
        print("  scipy: skipped: not installed")
        return
    n = 128
    blocked = np.random.default_rng(7).random((n, n, n)) < 0.3
    blocked[0, 0, 0] = False
    begun = time.process_time()
    index = np.arange(n**3, dtype=np.int32).reshape(n, n, n)
    pairs = []
    for axis in range(3):
        low, high = [slice(None)] * 3, [slice(None)] * 3
        low[axis], high[axis] = slice(0, n - 1), slice(1, n)
        low, high = tuple(low), tuple(high)
        free = ~blocked[low] & ~blocked[high]
        pairs.append(np.stack([index[low][free], index[high][free]], 1))
    edges = np.concatenate(pairs)
    both = np.r_[edges[:, 0], edges[:, 1]], np.r_[edges[:, 1], edges[:, 0]]
    graph = coo_matrix((np.ones(2 * len(edges), np.int8), both), shape=(n**3, n**3)).tocsr()
    build = time.process_time() - begun
    seconds = best(lambda: breadth_first_order(graph, 0, directed=False))
    print(f"  scipy: {n}^3, 30 % blocked: {seconds * 1e3:.1f} ms, and {build * 1e3:.1f} ms to build the graph")


print(f"\npeers, python {sys.version.split()[0]}, CPU time")
rd()
bfs()
