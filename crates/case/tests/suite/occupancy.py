#!/usr/bin/env python3
"""Compares the occupancy that `warpsmith inspect` computes with Nsight Compute's, for thirty kernels.

    python3 occupancy.py [--arch sm_90] [--warpsmith PROGRAM] [--static]

The ten kernels of the suite as they are, with at most 24 registers, and with 50,000 bytes of dynamic shared
memory, each with a name of its own. All of them run under one `ncu`, which reads what it knows of a launch and
repeats none. Needs `warpsmith` and `ncu` on the path, a GPU and NVRTC; `--static` prints our half and needs
neither GPU nor ncu. Ends with 0 where all are equal.

Equal means: as many blocks on a multiprocessor, and every limiter that we name is one of ncu's. ncu may name
shared memory beside another limiter: the driver gives a launch no more of it than the other limits leave use
for. Registers are not compared: ncu shows what is allocated, in steps, and we show what the code needs.
"""

import argparse
import csv
import json
import pathlib
import re
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
    "registers24": lambda text: text + '\n[compile]\nflags = ["--maxrregcount=24"]\n',
    "shared50000": lambda text: text.replace("[launch]\n", "[launch]\nshared = 50000\n"),
}


def write_variants(folder):
    """The thirty cases: a kernel's name says which variant it is."""
    cases = []
    for case in sorted((HERE / "kernels").glob("*.toml")):
        text = case.read_text()
        source = case.with_suffix(".cu").read_text()
        for variant, change in VARIANTS.items():
            name = f"{case.stem}_{variant}"
            renamed, count = re.subn(rf"\bvoid {case.stem}\(", f"void {name}(", source)
            assert count == 1, case
            (folder / f"{name}.cu").write_text(renamed)
            # Without a reference no Python starts under ncu: launches are all that is looked at.
            lines = [line for line in text.splitlines() if not line.startswith("reference")]
            text_of = "\n".join(lines).replace(f'"{case.stem}.cu"', f'"{name}.cu"')
            text_of = text_of.replace(f'kernel = "{case.stem}"', f'kernel = "{name}"')
            place = folder / f"{name}.toml"
            place.write_text(change(text_of + "\n"))
            cases.append(place)
    return cases


def ours(program, arch, case):
    """What we say of a case: blocks and limiters; text where it cannot be said."""
    command = [program, "inspect", case, "--arch", arch, "--no-counters", "--format", "json"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        return done.stderr.strip()
    (cost,) = json.loads(done.stdout)["body"]["costs"]
    return cost["occupancy"]["blocks"], sorted(cost["occupancy"]["limiters"])


def theirs(program, folder, cases):
    """What ncu says of every kernel's first launch, by name."""
    script = folder / "launch.sh"
    # One check of the smallest size: the launch's occupancy does not depend on it.
    lines = [f"'{program}' verify '{case}' --inputs 1 --seed 1 --worker 0,1 > /dev/null" for case in cases]
    script.write_text("\n".join(lines) + "\n")
    command = ["ncu", "--csv", "--page=raw", "--print-units=base", "--target-processes=all", "--clock-control=none"]
    command += ["--metrics", ",".join(LIMITS.values()), "bash", script]
    done = subprocess.run(command, capture_output=True, text=True)
    lines = [line for line in done.stdout.splitlines() if line.startswith('"')]
    if not lines:
        sys.exit(f"ncu counted no launch:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    found = {}
    for row in csv.DictReader(lines):
        name = re.split(r"[(<]", row.get("Kernel Name") or "")[0]
        values = [row.get(metric) for metric in LIMITS.values()]
        if name and all(values) and name not in found:
            found[name] = dict(zip(LIMITS, (float(value.replace(",", "")) for value in values)))
    return found


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--warpsmith", default="warpsmith")
    parser.add_argument("--arch", default="sm_90", help="the GPU's")
    parser.add_argument("--static", action="store_true", help="print our half alone")
    options = parser.parse_args()
    program = shutil.which(options.warpsmith) or options.warpsmith
    equal = 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        cases = write_variants(folder)
        counted = {} if options.static else theirs(program, folder, cases)
        for case in cases:
            mine = ours(program, options.arch, case)
            if isinstance(mine, str):
                print(f"{case.stem}: {mine}")
                continue
            blocks, limiters = mine
            words = f"{case.stem}: {blocks} blocks by {', '.join(limiters)}"
            if options.static:
                print(words)
                continue
            limits = counted.get(case.stem)
            if limits is None:
                print(f"{words}: ncu saw no launch")
                continue
            least = min(limits.values())
            named = sorted(word for word, limit in limits.items() if limit == least)
            extra = set(named) - set(limiters)
            same = blocks == least and set(limiters) <= set(named) and extra <= {"shared_memory"}
            equal += same
            print(f"{words}; ncu {least:.0f} by {', '.join(named)}: {'equal' if same else 'DIFFERS'}")
    if options.static:
        return 0
    print(f"{equal} of {len(cases)} equal")
    return 0 if equal == len(cases) else 1


if __name__ == "__main__":
    sys.exit(main())
