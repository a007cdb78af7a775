# Times the peers of `warpsmith lattice speeds` on the same problem: one JSON line to a backend.
# What is not installed is left out. The first call is not timed: it may compile.
import json
import sys
import time

n, steps = int(sys.argv[1]), int(sys.argv[2])


def say(backend, work):
    work()
    best, begun, runs = float("inf"), time.perf_counter(), 0
    while runs < 3 or (time.perf_counter() - begun < 1.0 and runs < 100):
        start = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - start)
        runs += 1
    print(json.dumps({"backend": backend, "seconds": best}), flush=True)


def slices(xp, pad, where, clip, u, e):
    for _ in range(steps):
        p = pad(u)
        lap = p[2:, 1:-1, 1:-1] + p[:-2, 1:-1, 1:-1] + p[1:-1, 2:, 1:-1] + p[1:-1, :-2, 1:-1]
        lap = lap + p[1:-1, 1:-1, 2:] + p[1:-1, 1:-1, :-2] - 6 * u
        r = 0.05 * u * (1 - u) * (u - 0.3)
        r = where(e > 0.5, 0.8 * r, r)
        u = clip(u + 0.1 * lap + r, 0, 1)
        e = 0.9 * e + 0.1 * abs(lap)
    return u, e


try:
    import numpy as np

    u = np.random.default_rng(1234).random((n, n, n), dtype=np.float32)
    e = np.zeros_like(u)
    say(f"NumPy {np.__version__}", lambda: slices(np, lambda a: np.pad(a, 1), np.where, np.clip, u, e))
except ImportError:
    sys.exit()

try:
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

    v, f = np.empty_like(u), np.empty_like(e)
    for parallel in (False, True):
        compiled = numba.njit(parallel=parallel, fastmath=True)(step)

        def run():
            a, b, c, d = u, e, v, f
            for _ in range(steps):
                compiled(a, b, c, d)
                a, b, c, d = c, d, a, b

        threads = f"{numba.get_num_threads()} threads" if parallel else "one thread"
        say(f"Numba {numba.__version__}, {threads}", run)
except ImportError:
    pass

try:
    import torch

    places = ["cpu"] + (["cuda"] if torch.cuda.is_available() else [])
    for place in places:
        tu, te = torch.from_numpy(u).to(place), torch.from_numpy(e).to(place)

        def pad(a):
            return torch.nn.functional.pad(a, (1, 1, 1, 1, 1, 1))

        def run():
            with torch.no_grad():
                slices(torch, pad, torch.where, torch.clamp, tu, te)
            if place == "cuda":
                torch.cuda.synchronize()

        say(f"PyTorch {torch.__version__}, {place}", run)
except ImportError:
    pass
