"""A user's own callables: verified, measured, compared, tuned and judged."""

import json
import subprocess
import sys

import pytest

import warpsmith

np = pytest.importorskip("numpy")


def rows(shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape, dtype=np.float32)


def softmax(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def test_another_way_to_round_is_right():
    def by_rows(x):
        return np.stack([softmax(row[None])[0] for row in x])

    found = warpsmith.verify(by_rows, softmax, rows((33, 100)))
    assert found.ok, found.problems
    assert 0.2 < found.error_over_plain < 5


@pytest.mark.parametrize(
    "wrong, said",
    [
        (lambda x: np.exp(x) / np.exp(x).sum(axis=1, keepdims=True) + 1e-3, "every element"),
        (lambda x: softmax(x.astype(np.float16)).astype(np.float32), "elements of result are wrong"),
        (lambda x: np.where(np.arange(x.shape[1]) == x.shape[1] - 1, 0, softmax(x)), "the last of axis1"),
    ],
)
def test_what_is_wrong_is_said_with_its_pattern(wrong, said):
    found = warpsmith.verify(wrong, softmax, rows((32, 100)))
    assert not found.ok
    assert said in found.summary()
    assert "WRONG" in found._repr_html_()


def test_a_changed_input_is_found():
    def destroys(x):
        out = softmax(x)
        x[0, 0] = 0
        return out

    assert any("was changed" in problem for problem in warpsmith.verify(destroys, softmax, rows((4, 8))).problems)


def test_whole_numbers_are_compared_exactly():
    values = np.arange(1000, dtype=np.int64)
    assert warpsmith.verify(np.cumsum, lambda x: np.add.accumulate(x), values).ok
    assert not warpsmith.verify(lambda x: np.cumsum(x) + (x == 3), np.cumsum, values).ok


def test_a_stated_tolerance_decides():
    near = lambda x: softmax(x) + np.float32(1e-4)  # noqa: E731
    assert not warpsmith.verify(near, softmax, rows((8, 8))).ok
    assert warpsmith.verify(near, softmax, rows((8, 8)), tolerance=(1e-3, 0.0)).ok


def test_what_cannot_be_verified_is_refused():
    with pytest.raises(TypeError, match="arrays and numbers"):
        warpsmith.verify(softmax, softmax, object())
    with pytest.raises(ValueError, match="shape"):
        warpsmith.verify(lambda x: x[:1], softmax, rows((4, 4)))


def test_torch_tensors_stay_tensors():
    torch = pytest.importorskip("torch")
    seen = []

    def own(x):
        seen.append(type(x))
        return torch.softmax(x, dim=1)

    assert warpsmith.verify(own, softmax, torch.randn(16, 16)).ok
    assert set(seen) == {torch.Tensor}


def test_bench_and_compare_save_what_the_program_reads(tmp_path):
    one = warpsmith.bench(softmax, rows((64, 64)), seconds=0.2)
    one.save(tmp_path / "one.json")
    both = warpsmith.compare({"a": softmax, "b": lambda x: softmax(softmax(x))}, rows((64, 64)), seconds=0.3)
    both.save(tmp_path / "both.json")
    stored = json.loads((tmp_path / "both.json").read_text())
    assert [row["name"] for row in stored["body"]] == ["a", "b"]
    command = [sys.executable, "-m", "warpsmith", "compare", str(tmp_path / "one.json"), str(tmp_path / "one.json")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode in (0, 4), done.stderr


def test_an_unknown_mode_is_refused():
    with pytest.raises(ValueError, match="mode is 'hot'"):
        warpsmith.bench(softmax, rows((4, 4)), mode="hot", seconds=0.1)


def test_tune_finds_the_fastest_and_refuses_what_is_wrong():
    def make(block, broken):
        def total(x):
            sums = [x[at : at + block].sum() for at in range(0, len(x), block)]
            return np.array([np.float32(np.sum(sums)) + broken])

        return total

    x = rows(20_000)
    tuned = warpsmith.tune(
        make,
        {"block": [20, 20_000], "broken": [0, 1]},
        x,
        reference=lambda x: np.array([x.sum()]),
        constraint=lambda block, broken: not (block == 20 and broken),
    )
    assert tuned.best == {"block": 20_000, "broken": 0}
    assert tuned.points == 3 and len(tuned.refused) == 1
    assert "elements of result are wrong" in tuned.refused[0][1]
    assert tuned.importance and "block" in tuned._repr_html_()


def test_tune_needs_something_to_choose():
    with pytest.raises(ValueError, match="space"):
        warpsmith.tune(lambda: abs, {}, 1)
    with pytest.raises(ValueError, match="no choice"):
        warpsmith.tune(lambda n: abs, {"n": [1]}, 1, constraint=lambda n: False)


def test_candidates_are_judged_in_processes_of_their_own(tmp_path):
    head = "import numpy as np\n\n\ndef softmax(x):\n"
    compute = "    e = np.exp(x - x.max(axis=1, keepdims=True))\n    return e / e.sum(axis=1, keepdims=True)\n"
    found = warpsmith.judge(
        {
            "right": head + compute,
            "zeros": head + "    return np.zeros_like(x)\n",
            "raises": head + "    raise KeyError('no')\n",
            "broken": "def softmax(x:\n",
            "ends": "import os\nos._exit(3)\n",
            "function": softmax,
        },
        reference=softmax,
        arrays={"x": rows((64, 128))},
    )
    assert [one.id for one in found][:2] == ["right", "zeros"]
    assert found["right"].verdict == "correct" and found["right"].speedup is not None
    assert (found["zeros"].verdict, found["zeros"].kind) == ("cheating", "constant")
    assert found["raises"].verdict == "crashed" and "KeyError" in found["raises"].detail
    assert found["broken"].verdict == "compile_failure" and found["broken"].line["line"] == 1
    assert found["ends"].verdict == "crashed"
    found.save(tmp_path / "verdicts.jsonl")
    assert len((tmp_path / "verdicts.jsonl").read_text().splitlines()) == 6
    assert "constant" in found.summary() and "<table>" in found._repr_html_()
