"""Who watches is told how far a measurement is; nobody else is."""

import sys
import types

from warpsmith.progress import Progress


class Shown:
    def __init__(self):
        self.lines = []

    def display(self, html, display_id):
        assert display_id
        self.lines.append(html)
        return self

    def update(self, html):
        self.lines.append(html)


def notebook(monkeypatch):
    """What a Jupyter kernel puts into place, as far as it is looked at."""
    shown = Shown()

    class ZMQInteractiveShell:
        pass

    ipython = types.ModuleType("IPython")
    ipython.get_ipython = ZMQInteractiveShell
    display = types.ModuleType("IPython.display")
    display.HTML = str
    display.display = shown.display
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    monkeypatch.delenv("WARPSMITH_PROGRESS", raising=False)
    return shown


def test_a_notebook_has_one_line_that_changes_and_goes(monkeypatch):
    shown = notebook(monkeypatch)
    with Progress("measuring a<b", 5.0) as progress:
        progress.update(0.5)
        assert shown.lines == []
        progress.update(1.1)
        progress.update(1.2)
        progress.update(1.5)
    assert shown.lines == [
        "<small>measuring a&lt;b: 1 of 5 s</small>",
        "<small>measuring a&lt;b: 2 of 5 s</small>",
        "<small></small>",
    ]


def test_what_is_over_soon_and_what_nobody_watches_is_silent(monkeypatch, capfd):
    shown = notebook(monkeypatch)
    with Progress("short", 0.5) as progress:
        progress.update(0.4)
    assert shown.lines == []
    monkeypatch.setenv("WARPSMITH_PROGRESS", "0")
    with Progress("long", 5.0) as progress:
        progress.update(3.0)
    assert shown.lines == []
    monkeypatch.delitem(sys.modules, "IPython")
    monkeypatch.delenv("WARPSMITH_PROGRESS")
    with Progress("piped", 5.0) as progress:
        progress.update(3.0)
    assert capfd.readouterr() == ("", "")
