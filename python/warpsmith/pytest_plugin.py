"""A pytest fixture that fails on a significant slowdown against stored history.

    def test_sorting_is_fast(gpu_bench):
        gpu_bench(sorted, numbers)

`pytest --warpsmith-save` stores this run's samples as the new base; without a base nothing can fail. Exit codes as
everywhere: 0 same or faster, 1 slower, 4 undecided.
"""

from __future__ import annotations

import json
import os
import platform
import tempfile
from pathlib import Path
from typing import Any, Callable

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("warpsmith")
    group.addoption(
        "--warpsmith-history",
        default=".warpsmith-history.json",
        help="file of stored samples (default: .warpsmith-history.json)",
    )
    group.addoption(
        "--warpsmith-save", action="store_true", help="store this run's samples as the base"
    )
    group.addoption(
        "--warpsmith-margin",
        type=float,
        default=5.0,
        help="slowdowns up to this many percent do not matter (default: 5)",
    )


def _machine(device: str) -> str:
    return f"{platform.node()} {platform.machine()} {device}"


_UNDECIDED = pytest.StashKey[list[str]]()


@pytest.fixture
def gpu_bench(request: pytest.FixtureRequest) -> Callable[..., Any]:
    """Time a callable; fail where it is slower than the stored base of this machine."""
    from . import benchmark
    from .benchmarking import benchmark_beside_reference
    from .devices import CpuClock, clock_for

    config = request.config
    path = Path(config.getoption("--warpsmith-history"))
    percent = config.getoption("--warpsmith-margin")
    if not 0.0 <= percent <= 100_000.0:
        raise pytest.UsageError(f"--warpsmith-margin is {percent}; it is a number of percent, 0 or more")
    margin = percent / 100.0

    def run(fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        kwargs.setdefault("seconds", 2.0)
        device = kwargs.pop("device", "auto")
        plain = {"precision", "memory", "collect"} & kwargs.keys()
        if isinstance(clock_for(device, (fn, *args, *kwargs.values())), CpuClock) and not plain:
            result = benchmark_beside_reference(fn, *args, **kwargs)
        else:
            result = benchmark(fn, *args, device=device, **kwargs)
        key = f"{_machine(result.device)} {request.node.nodeid} {result.name}"
        stored = json.loads(path.read_text()) if path.exists() else {}
        base = stored.get(key)
        if config.getoption("--warpsmith-save"):
            stored[key] = result.measurement()
            _write(path, stored)
        elif base is not None:
            if isinstance(base, list):
                # Stored before measurements carried their conditions.
                base = {**result.measurement(), "seconds": base, "cpu_seconds": []}
                base.pop("preempted", None)
            _judge(config, result.name, compare_with_base(base, result.measurement(), margin), margin)
        return result

    return run


def compare_with_base(base: dict[str, Any], new: dict[str, Any], margin: float) -> dict[str, Any]:
    """The verdict on a result against a stored one: by the loop that ran beside both, where it did."""
    from . import _native

    first, second = base.get("relative", []), new.get("relative", [])
    if first and second:
        judged: dict[str, Any] = json.loads(_native.compare_relative(first, second, margin, 0.01))
        if judged["outcome"] == "judged":
            judged["clock"] = "relative"
            return judged
    answer: dict[str, Any] = json.loads(
        _native.compare_stored(json.dumps(base), json.dumps(new), margin, 0.01)
    )
    return answer


def _judge(config: pytest.Config, name: str, answer: dict[str, Any], margin: float) -> None:
    undecided = config.stash.setdefault(_UNDECIDED, [])
    if answer["outcome"] == "not-comparable":
        undecided.append(f"{name}: not comparable: {answer['reason']}")
        return
    seen = (
        f"{answer['ratio']:.3f} of its stored time ({answer['low']:.3f} to {answer['high']:.3f}, "
        f"margin {margin:.0%}, by {answer['clock'].replace('cpu', 'CPU')} time: {answer['reason']})"
    )
    if answer["verdict"] == "SLOWER":
        pytest.fail(f"{name} takes {seen}", pytrace=False)
    if answer["verdict"] == "UNDECIDED":
        undecided.append(f"{name}: {seen}")


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    undecided = config.stash.get(_UNDECIDED, [])
    if undecided:
        terminalreporter.section("warpsmith: undecided")
        for line in undecided:
            terminalreporter.line(line)


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    # As `warpsmith compare`: 0 same or faster, 1 slower (a failed test), 4 undecided.
    if exitstatus == 0 and session.config.stash.get(_UNDECIDED, []):
        session.exitstatus = 4


def _write(path: Path, stored: dict[str, Any]) -> None:
    handle, name = tempfile.mkstemp(dir=path.parent or ".", prefix=path.name)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        json.dump(stored, file)
    os.replace(name, path)
