"""How many candidates `warpsmith judge` decides in a second, with NumPy on the CPU.

    python python/benches/judge_rate.py --candidates 100

Small softmax kernels: half of them right, the others wrong, constant, cached or raising, each with a text of its
own. Exit code 1 where a verdict is not the expected one.
"""

import argparse
import collections
import json
import pathlib
import subprocess
import sys
import tempfile

CASE = """source = "reference.py:softmax"
reference = "reference.py:softmax"
[sizes]
rows = [64]
cols = [256]
[[arguments]]
name = "x"
direction = "in"
type = "f32"
shape = ["rows", "cols"]
[[arguments]]
name = "out"
direction = "out"
type = "f32"
shape = ["rows", "cols"]
"""
RIGHT = "    e = np.exp(x - x.max(axis=1, keepdims=True))\n    return e / e.sum(axis=1, keepdims=True)\n"
#: The body of each kind, and its verdict.
KINDS = [
    (RIGHT, "correct"),
    ("    e = np.exp(x - x.max(axis=1, keepdims=True))\n    return e / (1e-2 + e.sum(axis=1, keepdims=True))\n", "wrong"),
    (RIGHT, "correct"),
    ("    return np.full_like(x, 1 / x.shape[1])\n", "cheating"),
    (RIGHT, "correct"),
    ("    if not kept:\n        e = np.exp(x)\n        kept.append(e / e.sum(axis=1, keepdims=True))\n"
     "    return np.resize(kept[0], x.shape)\n", "cheating"),
    (RIGHT, "correct"),
    ("    raise ValueError('no')\n", "crashed"),
]  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--candidates", type=int, default=100)
    parser.add_argument("--jobs", type=int)
    parser.add_argument("--program", default=f"{sys.executable} -m warpsmith", help="the program to run")
    options = parser.parse_args()
    if not 1 <= options.candidates <= 100_000:
        parser.error("--candidates is from 1 to 100000")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "reference.py").write_text(f"import numpy as np\n\n\ndef softmax(x):\n{RIGHT}")
        (folder / "softmax.toml").write_text(CASE)
        expected, lines = {}, []
        for at in range(options.candidates):
            body, verdict = KINDS[at % len(KINDS)]
            expected[f"{at}"] = verdict
            text = f"# {at}\nimport numpy as np\nkept = []\n\n\ndef softmax(x):\n{body}"
            lines.append(json.dumps({"id": f"{at}", "source": text}))
        (folder / "candidates.jsonl").write_text("\n".join(lines))
        command = [*options.program.split(), "judge", "candidates.jsonl", "--case", "softmax.toml"]
        command += ["--device", "cpu", "--format", "json"]
        if options.jobs:
            command += ["--jobs", str(options.jobs)]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
        if done.returncode not in (0, 1):
            raise SystemExit(done.stderr)
        body = json.loads(done.stdout)["body"]
        found = [json.loads(line) for line in (folder / "candidates.verdicts.jsonl").read_text().splitlines()]
    other = [f"{one['id']}: {one['verdict']}, {expected[one['id']]} expected" for one in found
             if one["verdict"] != expected[one["id"]]]  # fmt: skip
    print(dict(collections.Counter(one["verdict"] for one in found)), *other[:10], sep="\n")
    print(f"{body['candidates_per_second']:.1f} candidates/s, {body['seconds']:.1f} s")
    return 1 if other else 0


if __name__ == "__main__":
    sys.exit(main())
