"""How often comparisons of Python callables are wrong on this machine, beside pytest-benchmark.

    python python/benches/callable_rates.py --pairs 40 --load 2 --load 12
    python python/benches/callable_rates.py --device cuda --pairs 20 --load 2 --load 12

Identical callables, and callables of which one does 3 % more work, while `--load` processes spin. Three judges see
the same pairs in the same minutes: `warpsmith.compare` (both sides in turns), two `warpsmith.benchmark` results as
`gpu_bench` compares them with its history, and the medians of pytest-benchmark, where it is installed, as its
`--benchmark-compare-fail=median:1%` reads them. With `--device cuda` the callables are PyTorch's on a GPU, which
pytest-benchmark cannot time.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any, Callable

import warpsmith
from warpsmith.pytest_plugin import compare_with_base

MARGIN = 0.01
EFFECT = 0.03


def adds(count: int) -> int:
    total = 0
    for i in range(count):
        total += i
    return total


def joins(count: int) -> int:
    return len(",".join([str(i) for i in range(count)]))


def fills(count: int) -> int:
    table: dict[int, int] = {}
    for i in range(count):
        table[i & 255] = i
    return len(table)


WORKS: dict[str, Callable[[int], int]] = {"adds": adds, "joins": joins, "fills": fills}


def on_cuda() -> dict[str, Callable[[int], Any]]:
    """PyTorch's functions over as many times 8,192 elements as they are told: some 20 to 400 µs of an H200."""
    import torch

    source = torch.rand(6200 << 13, device="cuda")
    target = torch.empty_like(source)

    def over(function: Callable[..., Any]) -> Callable[[int], Any]:
        return lambda count: function(source[: count << 13], out=target[: count << 13])

    return {"adds": over(torch.neg), "joins": over(torch.sin), "fills": over(torch.erfinv)}


def pairs_of(count: int, seed: int) -> list[tuple[str, int, int]]:
    """Work, its length and that of the other side; every second pair differs."""
    chance = random.Random(seed)
    made = []
    for pair in range(2 * count):
        steps = chance.randrange(300, 6000)
        other = round(steps * (1 + EFFECT)) if pair % 2 else steps
        made.append((chance.choice(list(WORKS)), steps, other))
    return made


def spin() -> None:
    x = 1
    while True:
        x = x * 3 & 0xFFFF


def in_turns(work: str, steps: int, other: int, seconds: float, device: str = "cpu") -> str:
    fn = WORKS[work]
    # The same function on both sides: only its argument may differ.
    sides = {"a": lambda: fn(steps), "b": lambda: fn(other)}
    judged = warpsmith.compare(sides, seconds=seconds, margin=MARGIN, device=device)
    return str(judged.verdicts["b"]["verdict"])


MEASURE = """
import json, sys
sys.path.insert(0, sys.argv[1])
from callable_rates import WORKS
from warpsmith.benchmarking import benchmark_beside_reference
result = benchmark_beside_reference(WORKS[sys.argv[2]], int(sys.argv[3]), seconds=float(sys.argv[4]))
print(json.dumps(result.measurement()))
"""


def stored(work: str, steps: int, other: int, seconds: float) -> str:
    """Two processes, as today's run and the one that was stored are."""
    results = []
    for n in (steps, other):
        words = [str(Path(__file__).parent), work, str(n), str(seconds)]
        command = [sys.executable, "-c", MEASURE, *words]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        results.append(json.loads(done.stdout))
    return str(compare_with_base(*results, MARGIN).get("verdict", "NOT COMPARABLE"))


def stored_on_device(made: list[tuple[str, int, int]], seconds: float) -> list[str]:
    """All of one run, then all of the other, as a suite of today and the one that was stored are."""

    def run(side: int) -> list[dict[str, Any]]:
        measured = []
        for pair in made:
            fn, steps = WORKS[pair[0]], int(pair[side])
            result = warpsmith.benchmark(lambda: fn(steps), seconds=seconds, device="cuda")
            measured.append(result.measurement())
        return measured

    both = zip(run(1), run(2))
    return [str(compare_with_base(a, b, MARGIN).get("verdict", "NOT COMPARABLE")) for a, b in both]


TESTS = """
import sys
sys.path.insert(0, {folder!r})
import pytest
from callable_rates import WORKS

@pytest.mark.parametrize("case", {cases!r})
def test_work(benchmark, case):
    work, steps = case.split()
    benchmark(WORKS[work], int(steps))
"""


def pytest_benchmark(made: list[tuple[str, int, int]], seconds: float) -> list[str]:
    """The verdicts that its medians give; empty where it is not installed."""
    medians = []
    for side in (1, 2):
        with tempfile.TemporaryDirectory() as folder:
            cases = [f"{pair[0]} {pair[side]}" for pair in made]
            # A case may be there twice: numbers keep the ids apart.
            here = str(Path(__file__).parent)
            Path(folder, "test_pairs.py").write_text(TESTS.format(folder=here, cases=cases))
            command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", folder]
            command += [f"--benchmark-max-time={seconds / 2}", "--benchmark-json=out.json"]
            done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
            if done.returncode != 0:
                print(f"(pytest-benchmark did not run: {done.stdout[-200:].strip()})")
                return []
            results = json.loads(Path(folder, "out.json").read_text())["benchmarks"]
            medians.append([result["stats"]["median"] for result in results])
    verdicts = []
    for a, b in zip(*medians):
        verdicts.append("SLOWER" if b > a * 1.01 else "FASTER" if a > b * 1.01 else "SAME")
    return verdicts


def show(judge: str, made: list[tuple[str, int, int]], verdicts: list[str], each: float) -> dict[str, Any]:
    same = Counter(v for pair, v in zip(made, verdicts) if pair[1] == pair[2])
    slow = Counter(v for pair, v in zip(made, verdicts) if pair[1] != pair[2])
    wrong = same["SLOWER"] + same["FASTER"]
    print(
        f"  {judge:18} identical: {wrong} false of {sum(same.values())}, {same['SAME']} proven the same; "
        f"+3 %: {slow['SLOWER']} of {sum(slow.values())} found, {slow['FASTER'] + slow['SAME']} wrong; "
        f"{each:.1f} s each",
        flush=True,
    )
    return {"judge": judge, "identical": dict(same), "slowed": dict(slow), "seconds": each}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=40)
    parser.add_argument("--load", type=int, action="append")
    parser.add_argument("--seconds", type=float, default=2.0, help="for one comparison")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", choices=["compare", "stored", "pytest-benchmark"])
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    options = parser.parse_args()
    if not 1 <= options.pairs <= 10_000 or any(not 0 <= n <= 256 for n in options.load or []):
        parser.error("--pairs is from 1 to 10000, --load from 0 to 256")
    on_device = options.device == "cuda"
    if on_device:
        WORKS.update(on_cuda())
    for load in options.load or [0]:
        others = [multiprocessing.Process(target=spin, daemon=True) for _ in range(load)]
        for other in others:
            other.start()
        try:
            print(f"{load} busy processes, {options.pairs} identical and as many slowed pairs")
            made = pairs_of(options.pairs, options.seed)
            judges: dict[str, Callable[[], list[str]]] = {
                "compare": lambda: [in_turns(*pair, options.seconds, options.device) for pair in made],
                "stored": lambda: (
                    stored_on_device(made, options.seconds)
                    if on_device
                    else [stored(*pair, options.seconds) for pair in made]
                ),
                "pytest-benchmark": lambda: [] if on_device else pytest_benchmark(made, options.seconds),
            }
            for name, judge in judges.items():
                if options.only not in (None, name):
                    continue
                begun = time.perf_counter()
                if verdicts := judge():
                    show(name, made, verdicts, (time.perf_counter() - begun) / len(made))
        finally:
            for other in others:
                other.terminate()


if __name__ == "__main__":
    main()
