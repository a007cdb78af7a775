"""The `warpsmith` command: the program's own library, inside this interpreter."""

from __future__ import annotations

import os
import signal
import sys

from . import _native


def main() -> None:
    """Runs the program with this process's arguments and ends the process with its exit code."""
    # Ctrl-C is the program's affair: Python would only take note of it.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    again = [sys.executable, "-m", "warpsmith"]
    code = _native.run_program(again, ["warpsmith", *sys.argv[1:]])
    sys.stdout.flush()
    # A kernel that never ends would keep the driver, and so the interpreter, from ending.
    os._exit(code)


if __name__ == "__main__":
    main()
