"""The Python blocks of the documentation run, page by page, and the reference is current."""

import pathlib
import re
import sys

import pytest

import reference_page

DOCS = pathlib.Path(__file__).parent.parent.parent / "docs"
BLOCK = re.compile(r"^```python\n(.*?)^```$(?:\n\n```text\n(.*?)^```$)?", re.MULTILINE | re.DOTALL)
PAGES = [path for path in sorted(DOCS.rglob("*.md")) if BLOCK.search(path.read_text("utf-8"))]


def without_numbers(text):
    """What is printed, up to numbers with their units, and to what a busy machine decides."""
    plain = re.sub(r"[-+]?\d[\d.]*(e[-+]?\d+)?( (ns|µs|ms|s)\b)?|–", "#", " ".join(text.split()))
    return re.sub(r"by (wall|CPU) time|\w+-reached|timed-out", "~", plain)


@pytest.mark.parametrize("page", PAGES, ids=[str(path.relative_to(DOCS)) for path in PAGES])
def test_the_examples_of_a_page_run_and_print_what_it_shows(page, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "page"}
    for number, (block, shown) in enumerate(BLOCK.findall(page.read_text("utf-8"))):
        capsys.readouterr()
        # A file, because kernels are read from the source of their functions.
        file = tmp_path / f"block_{number}.py"
        file.write_text(block, "utf-8")
        exec(compile(block, str(file), "exec"), names)
        if shown:
            assert without_numbers(capsys.readouterr().out) == without_numbers(shown)


def test_there_are_examples():
    assert any(page.name == "pytorch.md" for page in PAGES)


@pytest.mark.skipif(
    sys.version_info >= (3, 14), reason="annotations are printed differently since Python 3.14"
)
def test_the_reference_is_current():
    committed = (DOCS / "reference" / "python.md").read_text("utf-8")
    assert committed == reference_page.page(), "`cargo xtask docs` renews it"
