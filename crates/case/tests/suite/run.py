#!/usr/bin/env python3
"""Counts what `warpsmith verify` finds: sixty wrong kernels, and false alarms on the ten right ones.

    python3 run.py [--seeds 50] [--warpsmith PROGRAM]

Needs `warpsmith` on the path, a GPU, NVRTC, and a Python with NumPy for the references. Where
compute-sanitizer is installed, `--races` finds what no run shows. Ends with 0 where at least 58 mutants are
found and no right kernel is accused.
"""

import argparse
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent


def verify(program, case, *options):
    """The codes of the errors, and the seconds that it took; `None` where it could not be checked."""
    began = time.monotonic()
    done = subprocess.run([program, "verify", case, "--format", "json", *options], capture_output=True, text=True)
    seconds = time.monotonic() - began
    if done.returncode not in (0, 1):
        return None, seconds, done.stderr.strip().splitlines()[-1:]
    findings = json.loads(done.stdout)["findings"]
    return [one["code"] for one in findings if one["severity"] == "error"], seconds, []


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=50)
    parser.add_argument("--warpsmith", default="warpsmith")
    options = parser.parse_args()
    mutants = json.loads((HERE / "mutants.json").read_text())
    found = alarms = checked = 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        shutil.copytree(HERE / "kernels", folder, dirs_exist_ok=True)
        for case in sorted(folder.glob("*.toml")):
            for seed in range(options.seeds):
                races = ["--races"] if seed == 0 else []
                codes, seconds, why = verify(options.warpsmith, case, "--seed", str(seed), *races)
                checked += 1
                if codes != []:
                    alarms += 1
                    print(f"ALARM {case.stem} seed {seed}: {codes} {why}")
                if seed == 0:
                    print(f"right {case.stem}: {seconds:.1f} s")
        for number, mutant in enumerate(mutants):
            kernel = mutant["kernel"]
            text = (HERE / "kernels" / f"{kernel}.cu").read_text()
            # The last place: kernels of two parts repeat themselves.
            before, place, after = text.rpartition(mutant["from"])
            assert place, mutant
            (folder / f"{kernel}.cu").write_text(before + mutant["to"] + after)
            codes, seconds, why = verify(options.warpsmith, folder / f"{kernel}.toml", "--seed", str(number), "--races")
            found += bool(codes)
            what = " ".join(codes) if codes else f"NOT FOUND {why}"
            print(f"{kernel} ({mutant['kind']}): {what}, {seconds:.1f} s")
            (folder / f"{kernel}.cu").write_text(text)
    print(f"{found} of {len(mutants)} mutants found, {alarms} false alarms in {checked} checks of right kernels")
    return 0 if found >= 58 and alarms == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
