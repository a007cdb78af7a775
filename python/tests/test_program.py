"""The `warpsmith` command that the wheel brings, and the report from Python."""

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

import warpsmith


def run(*words):
    command = [sys.executable, "-m", "warpsmith", *words]
    return subprocess.run(command, capture_output=True, text=True)


def test_the_module_is_the_program():
    done = run("--version")
    assert done.returncode == 0
    assert done.stdout.split() == ["warpsmith", warpsmith.__version__]


def test_the_command_is_installed():
    command = Path(sysconfig.get_path("scripts")) / "warpsmith"
    done = subprocess.run([command, "devices", "--device", "cpu"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "cpu" in done.stdout


def test_exit_codes_and_errors_are_the_programs():
    done = run("bench", "nothing/such")
    assert done.returncode == 2
    assert "nothing/such" in done.stderr


def test_functions_of_cases_run_where_the_wheel_is(tmp_path):
    other = tmp_path / "bin" / "python3"
    other.parent.mkdir()
    other.write_text("#!/bin/sh\necho not this one >&2\nexit 3\n")
    other.chmod(0o755)
    (tmp_path / "double.py").write_text("def double(x):\n    return x + x\n")
    lines = ['source = "double.py:double"', 'reference = "double.py:double"', "[sizes]", "n = [100]"]
    for name, direction in (("x", "in"), ("out", "out")):
        lines += ["[[arguments]]", f'name = "{name}"', f'direction = "{direction}"', 'type = "f32"', 'shape = "n"']
    (tmp_path / "double.toml").write_text("\n".join(lines))
    hidden = ("VIRTUAL_ENV", "CONDA_PREFIX", "WARPSMITH_PYTHON")
    environment = {name: value for name, value in os.environ.items() if name not in hidden}
    environment["PATH"] = f"{other.parent}:{environment['PATH']}"
    command = [sys.executable, "-m", "warpsmith", "verify", str(tmp_path / "double.toml"), "--device", "cpu"]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr


def test_a_report_shows_itself(tmp_path):
    report = warpsmith.report(device="cpu")
    assert report.document["verb"] == "report"
    assert report.verdict and report.verdict in repr(report)
    assert len(report.document["body"]["numbers"]) == 5
    shown = report._repr_html_()
    assert shown.startswith("<iframe srcdoc=") and "<script" not in shown
    page = report.save(tmp_path / "report")
    assert page.read_text(encoding="utf-8") == report.page
    assert report.page.startswith("<!doctype html>")


def test_a_wrong_older_report_is_refused_at_once(tmp_path):
    old = tmp_path / "old.json"
    old.write_text("{}")
    with pytest.raises(RuntimeError, match="not written by `warpsmith report`"):
        warpsmith.report(device="cpu", compare=old)
