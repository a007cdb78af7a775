"""What a launch costs: `warpsmith.warp` beside CuPy's RawKernel, in microseconds.

    python python/benches/warp_launches.py

Needs a CUDA GPU; CuPy's rows are left out where it is missing. `queued` is the host's time for one launch while the
GPU works on, `done` the time from the first launch of a series to the end of the last, divided by their number.
Each is the least of several series, taken in turns.
"""

import time

import numpy as np

import warpsmith.warp as wp

SIZE = 1 << 20
LAUNCHES = 1000
SERIES = 7


@wp.kernel
def saxpy(x: wp.array(dtype=float), y: wp.array(dtype=float), a: float):
    i = wp.tid()
    y[i] = a * x[i] + y[i]


@wp.kernel
def nothing():
    i = wp.tid()


def series(launch, count, wait):
    wait()
    begun = time.perf_counter()
    for _ in range(count):
        launch()
    queued = time.perf_counter() - begun
    wait()
    return queued / LAUNCHES * 1e6, (time.perf_counter() - begun) / LAUNCHES * 1e6


def ours():
    x, y = wp.ones(SIZE, dtype=float), wp.zeros(SIZE, dtype=float)
    kept = wp.launch(saxpy, dim=SIZE, inputs=[x, y, 1e-3], record_cmd=True)
    kept_nothing = wp.launch(nothing, dim=1, record_cmd=True)
    graphs = {}
    for name, one in (("saxpy", kept), ("nothing", kept_nothing)):
        with wp.ScopedCapture() as capture:
            for _ in range(100):
                one.launch()
        graphs[name] = capture.graph
    yield "saxpy", "launch", lambda: wp.launch(saxpy, dim=SIZE, inputs=[x, y, 1e-3]), LAUNCHES
    yield "saxpy", "Launch.launch", kept.launch, LAUNCHES
    yield "saxpy", "graph of 100", lambda: wp.capture_launch(graphs["saxpy"]), LAUNCHES // 100
    yield "nothing", "launch", lambda: wp.launch(nothing, dim=1), LAUNCHES
    yield "nothing", "Launch.launch", kept_nothing.launch, LAUNCHES
    yield "nothing", "graph of 100", lambda: wp.capture_launch(graphs["nothing"]), LAUNCHES // 100


def cupys():
    import cupy

    text = """extern "C" __global__ void saxpy(const float* x, float* y, float a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
}
extern "C" __global__ void nothing() {}"""
    module = cupy.RawModule(code=text)
    theirs, empty = module.get_function("saxpy"), module.get_function("nothing")
    x, y = cupy.ones(SIZE, cupy.float32), cupy.zeros(SIZE, cupy.float32)
    arguments = (x, y, np.float32(1e-3), np.int32(SIZE))
    yield "saxpy", "CuPy RawKernel", lambda: theirs((SIZE // 256,), (256,), arguments), LAUNCHES
    yield "nothing", "CuPy RawKernel", lambda: empty((1,), (256,), ()), LAUNCHES


def main():
    rows = list(ours())
    try:
        rows += list(cupys())
    except ImportError:
        print("CuPy is missing: its rows are left out")
    for _, _, launch, _ in rows:
        launch()
    best = {}
    for _ in range(SERIES):
        for kernel, how, launch, count in rows:
            found = series(launch, count, wp.synchronize)
            best[kernel, how] = tuple(map(min, best.get((kernel, how), found), found))
    print("| kernel | how | queued, µs | done, µs |\n|---|---|---|---|")
    for (kernel, how), (queued, done) in sorted(best.items()):
        print(f"| {kernel} | {how} | {queued:.2f} | {done:.2f} |")


main()
