"""Programs import `warp.render` even where they do not render; what draws is not here."""

from __future__ import annotations

from typing import Any


def _missing(name: str) -> Any:
    def refuse(*_: Any, **__: Any) -> Any:
        raise NotImplementedError(f"render.{name} is not in warpsmith.warp: run the program headless")

    return refuse


UsdRenderer = _missing("UsdRenderer")
OpenGLRenderer = _missing("OpenGLRenderer")
