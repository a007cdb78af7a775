"""The `warpsmith` command that the wheel brings, and the report from Python."""

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
