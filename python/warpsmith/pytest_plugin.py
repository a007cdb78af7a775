"""A pytest fixture that fails on a significant slowdown against stored history.

    def test_sorting_is_fast(gpu_bench):
        gpu_bench(sorted, numbers)

`pytest --warpsmith-save` stores this run's samples as the new base; without a base nothing can fail.
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


@pytest.fixture
def gpu_bench(request: pytest.FixtureRequest) -> Callable[..., Any]:
    """Time a callable; fail where it is slower than the stored base of this machine."""
    from . import _native, benchmark

    path = Path(request.config.getoption("--warpsmith-history"))
    margin = request.config.getoption("--warpsmith-margin") / 100.0

    def run(fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        kwargs.setdefault("seconds", 2.0)
        result = benchmark(fn, *args, **kwargs)
        key = f"{_machine(result.device)} {request.node.nodeid} {result.name}"
        stored = json.loads(path.read_text()) if path.exists() else {}
        base = stored.get(key)
        if request.config.getoption("--warpsmith-save"):
            stored[key] = result.samples
            _write(path, stored)
        elif base is not None:
            verdict = json.loads(_native.compare_apart(base, result.samples, margin, 0.01))
            if verdict["verdict"] == "SLOWER":
                pytest.fail(
                    f"{result.name} takes {verdict['ratio']:.3f} of its stored time "
                    f"({verdict['low']:.3f} to {verdict['high']:.3f}, margin {margin:.0%})",
                    pytrace=False,
                )
        return result

    return run


def _write(path: Path, stored: dict) -> None:
    handle, name = tempfile.mkstemp(dir=path.parent or ".", prefix=path.name)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        json.dump(stored, file)
    os.replace(name, path)
