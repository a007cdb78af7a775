#!/usr/bin/env python3
"""Compares the occupancy that `warpsmith inspect` computes with Nsight Compute's, for thirty kernels.

    python3 occupancy.py [--arch sm_90] [--warpsmith PROGRAM]

The ten kernels of the suite as they are, with at most 24 registers, and with 20,000 bytes of dynamic shared
memory. Needs `warpsmith` and `ncu` on the path, a GPU and NVRTC. Ends with 0 where all are equal.
"""

import argparse
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
LIMITS = {
    "registers": "launch__occupancy_limit_registers",
    "shared_memory": "launch__occupancy_limit_shared_mem",
    "warps": "launch__occupancy_limit_warps",
    "blocks": "launch__occupancy_limit_blocks",
}
VARIANTS = {
    "plain": lambda text: text,
    "24 registers": lambda text: text + '\n[compile]\nflags = ["--maxrregcount=24"]\n',
    "20,000 B shared": lambda text: text.replace("[launch]\n", "[launch]\nshared = 20000\n"),
}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--warpsmith", default="warpsmith")
    parser.add_argument("--arch", default="sm_90", help="the GPU's")
    options = parser.parse_args()
    equal = total = 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        shutil.copytree(HERE / "kernels", folder, dirs_exist_ok=True)
        for case in sorted(folder.glob("*.toml")):
            text = case.read_text()
            for variant, change in VARIANTS.items():
                case.write_text(change(text))
                command = [options.warpsmith, "inspect", case, "--arch", options.arch, "--format", "json"]
                done = subprocess.run(command, capture_output=True, text=True)
                total += 1
                if done.returncode != 0:
                    print(f"{case.stem}, {variant}: {done.stderr.strip()}")
                    continue
                body = json.loads(done.stdout)["body"]
                counters = body.get("counters")
                if counters is None:
                    print(f"{case.stem}, {variant}: no counters: {done.stderr.strip()}")
                    continue
                theirs = {word: counters["values"][metric] for word, metric in LIMITS.items()}
                blocks = min(theirs.values())
                limiters = sorted(word for word, limit in theirs.items() if limit == blocks)
                registers = counters["values"]["launch__registers_per_thread"]
                (cost,) = body["costs"]
                ours = cost["occupancy"]
                same = (cost["registers"], ours["blocks"], sorted(ours["limiters"])) == (registers, blocks, limiters)
                equal += same
                word = "equal" if same else f"DIFFERS: {cost['registers']} registers, {ours}"
                print(f"{case.stem}, {variant}: ncu {blocks:.0f} blocks by {', '.join(limiters)}: {word}")
            case.write_text(text)
    print(f"{equal} of {total} equal")
    return 0 if equal == total else 1


if __name__ == "__main__":
    sys.exit(main())
