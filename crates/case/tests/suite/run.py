#!/usr/bin/env python3
"""Counts what `warpsmith verify` finds: sixty wrong kernels, and false alarms on the ten right ones.

    python3 run.py [--seeds 50] [--inputs 3] [--jobs 8] [--races] [--warpsmith PROGRAM]

Needs `warpsmith` on the path, a GPU, NVRTC, and a Python with NumPy for the references. Several checks run
side by side. `--races` adds compute-sanitizer's racecheck, where it is installed. Ends with 0 where at least
58 mutants are found and no right kernel is accused. Every input has a seed of its own: `--seeds 5 --inputs 10`
gives every size of a right kernel fifty, in fewer processes than `--seeds 50`.
"""

import argparse
import concurrent.futures
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


def mutant_folder(folder, number, mutant):
    """A copy of the kernels in which one of them is wrong."""
    place = folder / f"mutant{number}"
    shutil.copytree(HERE / "kernels", place)
    file = place / f"{mutant['kernel']}.cu"
    # The last place: kernels of two parts repeat themselves.
    before, found, after = file.read_text().rpartition(mutant["from"])
    assert found, mutant
    file.write_text(before + mutant["to"] + after)
    return place / f"{mutant['kernel']}.toml"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=50)
    parser.add_argument("--inputs", type=int, default=3, help="inputs of a right kernel for each seed and size")
    parser.add_argument("--jobs", type=int, default=8)
    parser.add_argument("--races", action="store_true")
    parser.add_argument("--warpsmith", default="warpsmith")
    options = parser.parse_args()
    mutants = json.loads((HERE / "mutants.json").read_text())
    races = ["--races"] if options.races else []
    found = alarms = 0
    with tempfile.TemporaryDirectory() as name, concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        folder = pathlib.Path(name)
        shutil.copytree(HERE / "kernels", folder / "right")

        def check(case, seed, *more):
            return pool.submit(verify, options.warpsmith, case, "--seed", str(seed), *more, *races)

        wrong = [check(mutant_folder(folder, at, mutant), at) for at, mutant in enumerate(mutants)]
        cases = sorted((folder / "right").glob("*.toml"))
        inputs = ["--inputs", str(options.inputs)]
        right = [(case, seed, check(case, seed, *inputs)) for case in cases for seed in range(options.seeds)]
        for mutant, done in zip(mutants, wrong):
            codes, seconds, why = done.result()
            found += bool(codes)
            what = " ".join(codes) if codes else f"NOT FOUND {why}"
            print(f"{mutant['kernel']} ({mutant['kind']}): {what}, {seconds:.1f} s", flush=True)
        print(f"{found} of {len(mutants)} mutants found", flush=True)
        for case, seed, done in right:
            codes, seconds, why = done.result()
            if codes != []:
                alarms += 1
                print(f"ALARM {case.stem} seed {seed}: {codes} {why}", flush=True)
            if seed == 0:
                print(f"right {case.stem}: {seconds:.1f} s", flush=True)
    print(f"{found} of {len(mutants)} mutants found, {alarms} false alarms in {len(right)} runs of right kernels, "
          f"{options.seeds * options.inputs} inputs for each size")
    return 0 if found >= 58 and alarms == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
