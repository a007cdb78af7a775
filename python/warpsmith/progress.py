"""A line that says how far a measurement is, where somebody watches: a terminal or a notebook."""

from __future__ import annotations

import os
import sys
from types import TracebackType
from typing import Any

#: Nobody waits for a line about what is over sooner.
_PATIENCE = 1.0
_PERIOD = 0.25


class Progress:
    """Shows `text` and the seconds that have passed; nothing before a second is over, and nothing at the end.

    `WARPSMITH_PROGRESS=0` keeps it silent.
    """

    def __init__(self, text: str, seconds: float):
        self._text = text
        self._seconds = seconds
        self._next = _PATIENCE
        self._display: Any = None
        self._shown = False

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._shown:
            self._show("")

    def update(self, elapsed: float) -> None:
        """Say that `elapsed` seconds have passed; cheap until something is to be shown."""
        if elapsed >= self._next:
            self._next = elapsed + _PERIOD
            self._shown = True
            self._show(f"{self._text}: {elapsed:.0f} of {self._seconds:.0f} s")

    def _show(self, line: str) -> None:
        if os.environ.get("WARPSMITH_PROGRESS") == "0":
            return
        if _in_notebook():
            self._show_in_notebook(line)
        elif sys.stderr is not None and sys.stderr.isatty():
            print(f"\r\x1b[K{line}", end="", file=sys.stderr, flush=True)

    def _show_in_notebook(self, line: str) -> None:
        from IPython.display import HTML, display

        from .benchmarking import html_escape

        shown = HTML(f"<small>{html_escape(line)}</small>")
        if self._display is None:
            self._display = display(shown, display_id=True)
        else:
            self._display.update(shown)


def _in_notebook() -> bool:
    """Whether a notebook's kernel runs this; IPython is not imported to find out."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return shell is not None and type(shell).__name__ == "ZMQInteractiveShell"
