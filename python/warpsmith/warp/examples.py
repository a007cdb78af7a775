"""Where the files of Warp's example programs are, if Warp is installed."""

from __future__ import annotations

import importlib.util
import os


def _directory() -> str:
    # The wheel is found, not imported.
    found = importlib.util.find_spec("warp")
    if found is None or not found.submodule_search_locations:
        raise FileNotFoundError("the files of Warp's examples come with it: pip install warp-lang")
    return os.path.join(next(iter(found.submodule_search_locations)), "examples")


def get_source_directory() -> str:
    return _directory()


def get_asset_directory() -> str:
    return os.path.join(_directory(), "assets")
