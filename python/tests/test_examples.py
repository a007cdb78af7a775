"""The scripts of `python/examples` run; what needs a package that is not installed is skipped."""

import importlib.util
import json
import pathlib
import subprocess
import sys

import pytest

EXAMPLES = pathlib.Path(__file__).parent.parent / "examples"


def run(name, *options, code=0):
    command = [sys.executable, str(EXAMPLES / name), *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout


def needs(package):
    if importlib.util.find_spec(package) is None:
        pytest.skip(f"{package} is not installed")


def test_quick_benchmark():
    output = run("quick_benchmark.py")
    assert "force field on" in output and "calls a second" in output


def test_md_trajectory_is_stable_and_a_leak_is_found():
    # Over few steps, what the interpreter itself takes in its first ones can look like growth.
    assert "LEAKING" not in run("md_trajectory.py", "--steps", "1000")
    leak = run("md_trajectory.py", "--steps", "400", "--leak", code=1)
    assert "LEAKING" in leak


def test_compare_implementations():
    assert "(the base)" in run("compare_implementations.py", "--seconds", "0.5")


def test_memory_scaling():
    lines = run("memory_scaling.py", "--sizes", "50,100", "--seconds", "0.2").splitlines()
    assert lines[1].split()[0] == "atoms" and len(lines) == 4


def test_check_cuda(tmp_path):
    path = tmp_path / "machine.json"
    command = [sys.executable, str(EXAMPLES / "check_cuda.py"), "--verbose", "--export-json", path]
    done = subprocess.run(command, capture_output=True, text=True)
    # 1 says that something is wrong with this machine, which is not for this test to judge.
    assert done.returncode in (0, 1), done.stderr
    assert path.exists() and "cores" in done.stdout


def test_kernel_on_arrays():
    output = run("kernel_on_arrays.py")
    assert "host: largest difference" in output and "one thread too many" in output


def test_torch_profile(tmp_path):
    needs("torch")
    path = tmp_path / "trace.json"
    run("torch_profile.py", "--trace", str(path))
    assert path.exists()


def test_benchmark_overhead():
    needs("torch")
    assert "warpsmith / torch.utils.benchmark" in run("benchmark_overhead.py")


@pytest.mark.parametrize("config", ["default", "instructions", "preferences"])
def test_finetune(tmp_path, config):
    needs("torch")
    needs("datasets")
    if config == "default":
        from warpsmith import corpus

        corpus.generate(tmp_path / "set", 100)
    else:
        command = [sys.executable, "-m", "warpsmith", "corpus", "tasks", "--count", "88", "--quiet"]
        subprocess.run([*command, "--output", tmp_path / "set"], check=True)
    output = run("finetune.py", str(tmp_path / "set"), config, "--steps", "20", "--context", "512")
    assert "step 20: loss" in output and "the loss fell" in output


def test_corpus_ray(tmp_path):
    needs("ray")
    output = run("corpus_ray.py", "--out", str(tmp_path / "pairs"), "--count", "60", "--shares", "3")
    assert "60 of 60 pairs" in output and "60 distinct shapes" in output
    from warpsmith import corpus

    # The cluster's files are those of one process.
    corpus.generate(tmp_path / "one", 60, shard_pairs=20, verify=["executed"])
    for path in (tmp_path / "one").rglob("*.parquet"):
        twin = tmp_path / "pairs" / path.relative_to(tmp_path / "one")
        assert path.read_bytes() == twin.read_bytes()


def test_judge_ray(tmp_path):
    needs("ray")
    (tmp_path / "reference.py").write_text("def double(x):\n    return x + x\n")
    lines = ['source = "reference.py:double"', 'reference = "reference.py:double"', "[sizes]", "n = [1000]"]
    for name, direction in (("x", "in"), ("out", "out")):
        lines += ["[[arguments]]", f'name = "{name}"', f'direction = "{direction}"', 'type = "f32"', 'shape = "n"']
    (tmp_path / "double.toml").write_text("\n".join(lines))
    candidates = [("right", "2 * x"), ("wrong", "3 * x"), ("more", "x * 2"), ("less", "x")]
    text = [json.dumps({"id": id, "source": f"def double(x):\n    return {body}\n"}) for id, body in candidates]
    (tmp_path / "candidates.jsonl").write_text("\n".join(text))
    output = run("judge_ray.py", str(tmp_path / "candidates.jsonl"), "--case", str(tmp_path / "double.toml"))
    assert "right correct" in output and "wrong wrong" in output and "more correct" in output
