"""Times Warp's CPU build, and NumPy where it has the operation, of the kernels in `native_kernels.py`.

    python native_peer.py THREADS ROUNDS

Reads the name of a kernel from each line and answers with a line of JSON: the least seconds of a launch
forward, of one backward, and of NumPy.
"""

import importlib.util
import json
import os
import sys
import time
from pathlib import Path

import numpy as np
import warp as wp

SIDE = 1024


def load():
    path = Path(__file__).resolve().parent / "native_kernels.py"
    spec = importlib.util.spec_from_file_location("native_kernels", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def arguments(kernel, threads, dim):
    """Random arguments: the values matter for loops alone, which all count to the same limits."""
    random = np.random.default_rng(1)
    made = []
    for argument in kernel.adj.args:
        kind = argument.type
        if isinstance(kind, wp.array):
            shape = dim if kind.ndim == 2 else (2 * threads if argument.label == "ends" else threads,)
            if kind.dtype is wp.int32:
                made.append(wp.array(random.integers(0, threads, shape), dtype=kind.dtype, device="cpu"))
                continue
            inner = getattr(kind.dtype, "_shape_", ())
            values = random.uniform(-2.0, 2.0, (*shape, *inner))
            made.append(wp.array(values, dtype=kind.dtype, device="cpu", requires_grad=True))
        else:
            made.append(16 if argument.label == "n" else 2)
    return made


def least(function, rounds):
    best = float("inf")
    for _ in range(rounds):
        start = time.perf_counter()
        function()
        best = min(best, time.perf_counter() - start)
    return best


def numpy_saxpy(threads):
    x, y = (np.ones(threads, np.float32) for _ in range(2))

    def run():
        y[...] = np.float32(2.0) * x + y

    return run


def prepare(kernel, name, threads):
    """What is timed, by name; the kernel is compiled and was launched once."""
    dim = (threads // SIDE, SIDE) if name == "laplacian" else (threads,)
    given = arguments(kernel, threads, dim)
    gradients = [value.grad if isinstance(value, wp.array) else None for value in given]
    command = wp.launch(kernel, dim, inputs=given, device="cpu", record_cmd=True)
    back = wp.launch(kernel, dim, inputs=given, adj_inputs=gradients, adjoint=True, device="cpu", record_cmd=True)
    timed = {"forward": command.launch, "backward": back.launch}
    if name == "saxpy":
        timed["numpy"] = numpy_saxpy(threads)
    for run in timed.values():
        run()
    return timed


def main():
    threads, rounds = int(sys.argv[1]), int(sys.argv[2])
    wp.config.quiet = True
    if "WARP_KERNEL_CACHE" in os.environ:
        wp.config.kernel_cache_dir = os.environ["WARP_KERNEL_CACHE"]
    wp.init()
    module = load()
    prepared = {}
    for line in sys.stdin:
        name = line.strip()
        if name not in prepared:
            prepared[name] = prepare(getattr(module, name), name, threads)
        times = {what: least(run, rounds) for what, run in prepared[name].items()}
        print(json.dumps(times), flush=True)


main()
