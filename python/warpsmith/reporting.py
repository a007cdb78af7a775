"""The report: one page about this machine, as the program writes it."""

from __future__ import annotations

import html
import json
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Report:
    """A report: its document, its page, and its text. A notebook shows the page."""

    document: dict[str, Any]
    """`report.json`: the envelope with `body`, `machine` and `findings`."""
    page: str
    """The HTML page; it needs nothing else."""
    text: str
    """The same as Markdown."""

    @property
    def verdict(self) -> str:
        """Is the machine well? In one sentence."""
        return str(self.document["body"]["verdict"]["headline"])

    @property
    def findings(self) -> list[dict[str, Any]]:
        """What follows, the gravest first."""
        return list(self.document["findings"])

    def save(self, folder: str | PathLike[str]) -> Path:
        """Writes `report.json`, `report.md` and `report.html`; returns the page's path."""
        place = Path(folder)
        place.mkdir(parents=True, exist_ok=True)
        (place / "report.json").write_text(json.dumps(self.document), encoding="utf-8")
        (place / "report.md").write_text(self.text, encoding="utf-8")
        (place / "report.html").write_text(self.page, encoding="utf-8")
        return place / "report.html"

    def __repr__(self) -> str:
        subject = self.document["body"]["subject"]
        return f"<Report of {subject['title']}, {subject['started']}: {self.verdict}>"

    def _repr_html_(self) -> str:
        # A frame of its own: the page's styles must not touch the notebook.
        source = html.escape(self.page, quote=True)
        return (
            f'<iframe srcdoc="{source}" title="Warpsmith report" '
            'style="width: 100%; height: 900px; border: 0"></iframe>'
        )


def report(
    *,
    full: bool = False,
    device: str = "auto",
    compare: str | PathLike[str] | None = None,
) -> Report:
    """Measures this machine, within a minute or with `full` within ten.

    `compare` is the `report.json` of an older one; the first chapter then says what changed.
    The program runs in a process of its own, so that Ctrl-C and a lost GPU leave this one alone.
    """
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "warpsmith", "report", "--quiet", "--out", folder]
        command += ["--device", device]
        if full:
            command.append("--full")
        if compare is not None:
            command += ["--compare", str(compare)]
        done = subprocess.run(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        )
        if done.returncode not in (0, 1):
            raise RuntimeError(done.stderr.strip() or f"exit code {done.returncode}")
        place = Path(folder)
        return Report(
            document=json.loads((place / "report.json").read_text(encoding="utf-8")),
            page=(place / "report.html").read_text(encoding="utf-8"),
            text=(place / "report.md").read_text(encoding="utf-8"),
        )
