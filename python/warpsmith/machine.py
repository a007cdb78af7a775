"""The machine and the project, as plain dictionaries: the same documents that the program prints."""

from __future__ import annotations

import json
from os import PathLike
from typing import Any

from . import _native


def check() -> dict[str, Any]:
    """What is wrong with this machine's CUDA environment, and how to fix it.

    >>> import warpsmith
    >>> warpsmith.check()["verb"]
    'check'
    """
    return _document(_native.check())


def audit(path: str | PathLike[str] = ".") -> dict[str, Any]:
    """What is wrong with the CUDA project at `path`, with evidence.

    >>> import pathlib, tempfile, warpsmith
    >>> project = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (project / "setup.py").write_text("from setuptools import setup; setup()")
    >>> warpsmith.audit(project)["verb"]
    'audit'
    """
    return _document(_native.audit(path))


def baseline(seconds: float = 60.0, expect_load: bool = False) -> dict[str, Any]:
    """GPUs and host sampled for `seconds`: percentiles, energy, throttling, and a verdict.

    >>> import warpsmith
    >>> warpsmith.baseline(0.5)["verb"]
    'baseline'
    """
    return _document(_native.baseline(seconds, expect_load))


def _document(text: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(text)
    return document
