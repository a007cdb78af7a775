"""The package's type hints and its stub hold together."""

import pathlib
import subprocess
import sys

import pytest

PACKAGE = pathlib.Path(__file__).parent.parent / "warpsmith"


def test_the_hints_are_consistent(tmp_path):
    pytest.importorskip("mypy", reason="mypy is not installed")
    options = ["--strict", "--ignore-missing-imports", "--cache-dir", str(tmp_path), str(PACKAGE)]
    done = subprocess.run([sys.executable, "-m", "mypy", *options], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def test_the_stub_names_what_the_native_part_has():
    from warpsmith import _native

    stub = (PACKAGE / "_native.pyi").read_text("utf-8")
    missing = [name for name in dir(_native) if not name.startswith("__") and name not in stub]
    assert not missing
