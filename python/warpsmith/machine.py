"""The machine and the project, as plain dictionaries: the same documents that the program prints."""

from __future__ import annotations

import json
from os import PathLike

from . import _native


def check() -> dict:
    """What is wrong with this machine's CUDA environment, and how to fix it.

    >>> import warpsmith
    >>> warpsmith.check()["verb"]
    'check'
    """
    return json.loads(_native.check())


def audit(path: str | PathLike[str] = ".") -> dict:
    """What is wrong with the CUDA project at `path`, with evidence.

    >>> import pathlib, tempfile, warpsmith
    >>> project = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (project / "setup.py").write_text("from setuptools import setup; setup()")
    >>> warpsmith.audit(project)["verb"]
    'audit'
    """
    return json.loads(_native.audit(path))


def baseline(seconds: float = 60.0, expect_load: bool = False) -> dict:
    """GPUs and host sampled for `seconds`: percentiles, energy, throttling, and a verdict.

    >>> import warpsmith
    >>> warpsmith.baseline(0.5)["verb"]
    'baseline'
    """
    return json.loads(_native.baseline(seconds, expect_load))
