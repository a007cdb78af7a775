"""Peers of the lattice workloads: `peers.py rd N STEPS` or `peers.py bfs N`.

One JSON line to a peer: `name`, wall `seconds` and `cpu_seconds`, best of several after one call
that may compile. What is not installed is left out."""

import json
import sys
import time

import numpy as np

n = int(sys.argv[2])


def say(name, work):
    work()
    wall = cpu = float("inf")
    begun, runs = time.perf_counter(), 0
    while runs < 3 or (time.perf_counter() - begun < 1.0 and runs < 100):
        start, spent = time.perf_counter(), time.process_time()
        work()
        wall = min(wall, time.perf_counter() - start)
        cpu = min(cpu, time.process_time() - spent)
        runs += 1
    print(json.dumps({"name": name, "seconds": wall, "cpu_seconds": cpu}), flush=True)


def react(u, e, lap, where, clip):
    r = 0.05 * u * (1 - u) * (u - 0.3)
    r = where(e > 0.5, 0.8 * r, r)
    return clip(u + 0.1 * lap + r, 0, 1), 0.9 * e + 0.1 * abs(lap)


def slices(steps, pad, where, clip, u, e):
    for _ in range(steps):
        p = pad(u)
        lap = p[2:, 1:-1, 1:-1] + p[:-2, 1:-1, 1:-1] + p[1:-1, 2:, 1:-1] + p[1:-1, :-2, 1:-1]
        lap = lap + p[1:-1, 1:-1, 2:] + p[1:-1, 1:-1, :-2] - 6 * u
        u, e = react(u, e, lap, where, clip)
    return u, e


def with_numpy(steps, u, e):
    say(f"NumPy {np.__version__}", lambda: slices(steps, lambda a: np.pad(a, 1), np.where, np.clip, u, e))


def with_scipy(steps, u, e):
    import scipy
    from scipy.ndimage import convolve

    weights = np.zeros((3, 3, 3), np.float32)
    weights[1, 1, :] = weights[1, :, 1] = weights[:, 1, 1] = 1
    weights[1, 1, 1] = -6

    def run():
        v, f = u, e
        for _ in range(steps):
            v, f = react(v, f, convolve(v, weights, mode="constant"), np.where, np.clip)

    say(f"SciPy {scipy.__version__}", run)


def with_numba(steps, u, e):
    import numba

    def step(u, e, v, f):
        for i in numba.prange(u.shape[0]):
            for j in range(u.shape[1]):
                for k in range(u.shape[2]):
                    c = u[i, j, k]
                    s = np.float32(-6) * c
                    if i > 0:
                        s += u[i - 1, j, k]
                    if i < u.shape[0] - 1:
                        s += u[i + 1, j, k]
                    if j > 0:
                        s += u[i, j - 1, k]
                    if j < u.shape[1] - 1:
                        s += u[i, j + 1, k]
                    if k > 0:
                        s += u[i, j, k - 1]
                    if k < u.shape[2] - 1:
                        s += u[i, j, k + 1]
                    r = np.float32(0.05) * c * (np.float32(1) - c) * (c - np.float32(0.3))
                    x = e[i, j, k]
                    if x > np.float32(0.5):
                        r *= np.float32(0.8)
                    w = c + np.float32(0.1) * s + r
                    v[i, j, k] = min(np.float32(1), max(np.float32(0), w))
                    f[i, j, k] = np.float32(0.9) * x + np.float32(0.1) * abs(s)

    for parallel in (False, True):
        compiled = numba.njit(parallel=parallel, fastmath=True)(step)
        first, other = (u.copy(), e.copy()), (np.empty_like(u), np.empty_like(e))

        def run():
            a, b = first, other
            for _ in range(steps):
                compiled(*a, *b)
                a, b = b, a

        threads = f"{numba.get_num_threads()} threads" if parallel else "one thread"
        say(f"Numba {numba.__version__}, {threads}", run)


def with_torch(steps, u, e):
    import torch

    for place in ["cpu"] + (["cuda"] if torch.cuda.is_available() else []):
        tu, te = torch.from_numpy(u).to(place), torch.from_numpy(e).to(place)

        def run():
            with torch.no_grad():
                pad = lambda a: torch.nn.functional.pad(a, (1,) * 6)
                slices(steps, pad, torch.where, torch.clamp, tu, te)
            if place == "cuda":
                torch.cuda.synchronize()

        threads = f", {torch.get_num_threads()} threads" if place == "cpu" else ""
        say(f"PyTorch {torch.__version__}, {place}{threads}", run)


def rd(steps):
    u = np.random.default_rng(1234).random((n, n, n), dtype=np.float32)
    for peer in (with_numpy, with_scipy, with_numba, with_torch):
        try:
            peer(steps, u, np.zeros_like(u))
        except ImportError:
            pass


def bfs():
    try:
        import scipy
        from scipy.sparse import coo_matrix
        from scipy.sparse.csgraph import breadth_first_order
    except ImportError:
        return
    blocked = np.random.default_rng(7).random((n, n, n)) < 0.3
    blocked[0, 0, 0] = False
    graph = []

    def build():
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
        ones = np.ones(2 * len(edges), np.int8)
        graph[:] = [coo_matrix((ones, both), shape=(n**3, n**3)).tocsr()]

    say(f"SciPy {scipy.__version__}, building the graph", build)
    say(f"SciPy {scipy.__version__}", lambda: breadth_first_order(graph[0], 0, directed=False))


if sys.argv[1] == "rd":
    rd(int(sys.argv[3]))
else:
    bfs()
