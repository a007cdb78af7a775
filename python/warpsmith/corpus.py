"""Data sets of Python kernels with their CUDA and CPU C++, forward and backward."""

from __future__ import annotations

import json
from os import PathLike
from typing import Any, Callable, Iterable

from . import _native


def generate(
    folder: str | PathLike[str],
    count: int = 1000,
    *,
    seed: int = 0,
    categories: Iterable[str] = (),
    difficulties: Iterable[int] = (),
    verify: Iterable[str] = (),
    format: str = "parquet",
    compression: str | None = None,
    shard_pairs: int = 5000,
    share: tuple[int, int] = (0, 1),
    progress: Callable[[int, int], object] | None = None,
) -> dict[str, Any]:
    """Make a data set in `folder`, or go on with one that was stopped; returns its manifest.

    Pair i of a seed is the same bytes whatever the shares and threads. `share=(i, n)` makes one of n
    shares, for clusters. `compression="none"` leaves the texts of Parquet files as they are. `progress`
    is called with the pairs that are there and those that are to be. What it raises stops the run, and
    the same call goes on from there.

    >>> import tempfile
    >>> from warpsmith import corpus
    >>> manifest = corpus.generate(tempfile.mkdtemp(), 20, seed=7, format="jsonl")
    >>> manifest["tally"]["pairs"]
    20
    """
    manifest: dict[str, Any] = json.loads(
        _native.corpus_generate(
            folder,
            count,
            seed,
            list(categories),
            list(difficulties),
            list(verify),
            format,
            compression,
            shard_pairs,
            share,
            progress,
        )
    )
    return manifest


def statistics(folder: str | PathLike[str]) -> dict[str, Any]:
    """What the data set in `folder` is made of: categories, splits, distributions.

    >>> import tempfile
    >>> from warpsmith import corpus
    >>> folder = tempfile.mkdtemp()
    >>> _ = corpus.generate(folder, 20, seed=7)
    >>> corpus.statistics(folder)["pairs"]
    20
    """
    found: dict[str, Any] = json.loads(_native.corpus_statistics(folder))
    return found
