"""Times Warp's launches on the CPU of the kernels in a manifest: one JSON line each, in seconds.

    python interpret_peer.py manifest.jsonl
"""

import json
import os
import signal
import sys
import time
from pathlib import Path

import warp as wp

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
import warp_cpu_oracle as oracle

RUNS = 5


def measure(case):
    kernel = oracle.load(case["source"], f"case_{case['id']}")
    dim = case["dim"]
    inner = min(16, *dim)
    oracle.SHAPES = {rank: tuple((dim + [inner] * 4)[:rank]) for rank in range(1, 5)}
    arguments = oracle.Arguments(kernel, 1)
    adjoints = arguments.adjoints(kernel)

    def launch(**extra):
        wp.launch(kernel, dim, inputs=arguments.values, device="cpu", block_dim=1, **extra)

    def both():
        launch()
        launch(adj_inputs=adjoints, adjoint=True)

    start = time.perf_counter()
    both()
    compiling = time.perf_counter() - start
    best = float("inf")
    for _ in range(RUNS):
        start = time.perf_counter()
        both()
        best = min(best, time.perf_counter() - start)
    return {"id": case["id"], "warp": best, "compiling": compiling, "ours": case["ours"], "whole": case["whole"]}


def main():
    wp.config.quiet = True
    wp.config.log_level = getattr(wp, "LOG_ERROR", 40)
    wp.config.kernel_cache_dir = os.environ["WARP_KERNEL_CACHE"]
    wp.init()
    oracle.warm_up()
    for line in open(sys.argv[1], encoding="utf-8"):
        case = json.loads(line)
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            signal.alarm(oracle.DEADLINE_SECONDS)
            try:
                result = []
                # What kernels print stays out of the report.
                oracle.captured(lambda: result.append(measure(case)))
                os.write(writer, json.dumps(result[0]).encode())
            finally:
                os._exit(0)
        os.close(writer)
        with os.fdopen(reader) as pipe:
            answer = pipe.read()
        os.waitpid(child, 0)
        if answer:
            print(answer, flush=True)


if __name__ == "__main__":
    main()
