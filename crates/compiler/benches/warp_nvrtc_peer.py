"""The peer of the `nvrtc_header` bench: NVRTC with Warp's header and its precompiled header.

    python warp_nvrtc_peer.py manifest.jsonl FOLDER

Each line of the manifest has `id` and `module` (Warp's whole CUDA text). Prints for each the least
CPU time of three compilations to PTX, after one that builds the precompiled header.
"""

import json
import sys
import time
from pathlib import Path

import warp as wp
import warp._src.build as build

REPEATS = 3

wp.config.log_level = getattr(wp, "LOG_ERROR", 40)
wp.init()
folder = Path(sys.argv[2])


def compile_once(case):
    source, output = folder / "kernel.cu", folder / "kernel.ptx"
    source.write_text(case["module"])
    start = time.process_time()
    build.build_cuda(str(source), 90, str(output), pch_dir=str(folder))
    return time.process_time() - start


cases = [json.loads(line) for line in open(sys.argv[1], encoding="utf-8")]
compile_once(cases[0])
for case in cases:
    print(json.dumps({"id": case["id"], "cpu_seconds": min(compile_once(case) for _ in range(REPEATS))}), flush=True)
