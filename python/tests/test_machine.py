import pytest

import warpsmith


def test_check_and_baseline_are_the_documents_of_the_program():
    report = warpsmith.check()
    assert report["schema"] == 1 and report["verb"] == "check"
    report = warpsmith.baseline(0.6)
    assert report["body"]["seconds"] > 0.5
    assert report["body"]["host"]["metrics"]


def test_an_audit_names_the_place(tmp_path):
    (tmp_path / "setup.py").write_text(
        "from setuptools import setup\n"
        "from torch.utils.cpp_extension import CUDAExtension\n"
        "setup(name='x', ext_modules=[CUDAExtension('x', ['a.cu'])])\n"
    )
    (tmp_path / "a.cu").write_text("__global__ void k() {}\nvoid f() { k<<<1, 1>>>(); }\n")
    report = warpsmith.audit(tmp_path)
    assert report["findings"]
    with pytest.raises(RuntimeError, match="nowhere"):
        warpsmith.audit(tmp_path / "nowhere")
