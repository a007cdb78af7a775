"""The calls of this package under the name that librosa has for them, `librosa.core`."""

from __future__ import annotations

import sys
from typing import Any


def __getattr__(name: str) -> Any:
    package = sys.modules[__package__ or "warpsmith.voice"]
    try:
        return getattr(package, name)
    except AttributeError:
        raise AttributeError(f"warpsmith.voice has no `{name}`") from None
