"""The `warpsmith` command: the program's own library, inside this interpreter."""

from __future__ import annotations

import os
import signal
import sys

from . import _native


def run_functions_here() -> None:
    """Functions of cases run in the active environment, else in this one: `python3` may lack NumPy."""
    if not os.environ.get("VIRTUAL_ENV") and not os.environ.get("CONDA_PREFIX"):
        os.environ.setdefault("WARPSMITH_PYTHON", sys.executable)


def main() -> None:
    """Runs the program with this process's arguments and ends the process with its exit code."""
    # Ctrl-C is the program's affair: Python would only take note of it.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    run_functions_here()
    again = [sys.executable, "-m", "warpsmith"]
    code = _native.run_program(again, ["warpsmith", *sys.argv[1:]])
    sys.stdout.flush()
    # A kernel that never ends would keep the driver, and so the interpreter, from ending.
    os._exit(code)


if __name__ == "__main__":
    main()
