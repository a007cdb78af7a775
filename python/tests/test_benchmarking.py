import json
import math
import subprocess
import sys
import textwrap
import time

import pytest

import warpsmith
from warpsmith.adjacent_calls import adjacent_calls
from warpsmith.pytest_plugin import compare_with_base
from warpsmith.timing_loop import Samples, compiled_loop, take


def busy(count):
    total = 0
    for i in range(count):
        total += i
    return total


def test_a_sleep_is_read_as_long_as_it_is():
    result = warpsmith.benchmark(time.sleep, 0.002, seconds=0.6)
    assert 0.0019 < result.median < 0.004
    low, high = result.interval
    assert low <= result.median <= high


def test_short_calls_are_repeated_inside_a_sample():
    result = warpsmith.benchmark(abs, -1, seconds=0.2)
    assert result.inner > 1
    assert result.median < 1e-6


def test_a_call_that_does_nothing_costs_what_timeit_says():
    def nothing():
        pass

    import timeit

    ours = warpsmith.benchmark(nothing, seconds=0.5)
    theirs = min(timeit.repeat(nothing, number=20_000, repeat=20)) / 20_000
    # timeit leaves its loop in the figure, and a busy machine slows either.
    assert ours.median < 3 * theirs + 15e-9
    assert 0 < ours.overhead < 1e-6 and ours.overhead_uncertainty < ours.overhead


def test_names_that_only_unpacking_can_pass_are_passed():
    seen = []

    def keep(*args, **kwargs):
        seen.append((args, kwargs))

    warpsmith.benchmark(keep, 1, seconds=0.05, **{"a b": 2, "class": 3})
    assert seen[0] == seen[-1] == ((1,), {"a b": 2, "class": 3})


def test_a_call_that_sleeps_has_no_cpu_twin():
    assert warpsmith.benchmark(time.sleep, 0.001, seconds=0.2).cpu_samples is None
    busy_result = warpsmith.benchmark(busy, 3000, seconds=0.2)
    assert len(busy_result.cpu_samples) == len(busy_result.samples)


def test_a_saved_result_can_be_read_again(tmp_path):
    result = warpsmith.benchmark(busy, 300, seconds=0.1)
    result.save(tmp_path / "result.json")
    stored = json.loads((tmp_path / "result.json").read_text())["body"][0]
    assert stored["seconds"] == result.samples and stored["conditions"]["inner_count"] == result.inner


def test_absurd_budgets_are_refused():
    for seconds in (-1.0, 0.0, math.nan, math.inf):
        with pytest.raises(ValueError, match="seconds"):
            warpsmith.benchmark(busy, 10, seconds=seconds)
    with pytest.raises(ValueError, match="margin"):
        warpsmith.compare({"a": busy, "b": busy}, 10, margin=math.nan)


def test_a_temporary_shows_in_the_peak():
    with warpsmith.track_memory() as use:
        bytearray(b"x" * (200 << 20))
    if use.kind == "process":
        assert use.peak > 150 << 20 and use.delta < 100 << 20


def test_a_quantile_that_the_samples_do_not_support_is_refused():
    result = warpsmith.benchmark(time.sleep, 0.001, seconds=0.1, precision=0.0)
    assert result.quantile(0.99) is None
    assert "P99 –" in result.summary()


def test_results_are_plain_values_and_a_picture():
    result = warpsmith.benchmark(busy, 100, seconds=0.1, memory=True)
    # Samples that the scheduler interrupted are kept and left out of the summary.
    undisturbed = len(result.samples) - len(result.preempted)
    assert undisturbed <= result.to_dict()["summary"]["count"] <= len(result.samples)
    assert "<svg" in result._repr_html_()
    assert math.isclose(result.throughput, 1 / result.median)
    assert result.memory is not None


def test_a_difference_is_found_and_sameness_is_not_called_one():
    verdicts = warpsmith.compare(
        {"base": lambda: busy(2000), "same": lambda: busy(2000), "slow": lambda: busy(3000)},
        seconds=1.5,
        margin=0.05,
    ).verdicts
    assert verdicts["slow"]["verdict"] == "SLOWER"
    assert verdicts["slow"]["low"] > 1.2
    assert verdicts["same"]["verdict"] in ("SAME", "UNDECIDED")


def test_a_trajectory_that_keeps_memory_leaks_and_one_that_does_not_is_not_said_to():
    kept = []
    assert warpsmith.benchmark_trajectory(lambda: kept.append(bytearray(1 << 16)), 800).leaking
    kept.clear()
    assert not warpsmith.benchmark_trajectory(lambda: bytearray(1 << 16), 800).leaking
    steps = warpsmith.benchmark_trajectory(busy, [10, 20, 30])
    assert len(steps.latency.samples) == 3
    with pytest.raises(ValueError, match="at least one step"):
        warpsmith.benchmark_trajectory(busy, [])


def test_keeping_books_is_not_taken_for_a_leak():
    def nothing():
        pass

    verdicts = [warpsmith.check_leak(nothing, steps=4000).verdict for _ in range(2)]
    verdicts.append(warpsmith.benchmark_trajectory(nothing, 4000).leaks["resident"].verdict)
    assert "LEAK" not in verdicts


def test_two_samples_have_no_interval_and_say_so():
    result = warpsmith.benchmark_trajectory(busy, [10, 20]).latency
    assert result.interval == (0.0, math.inf)
    assert "too few samples" in result.summary()


def test_a_device_that_is_not_there_is_an_error_that_says_so():
    with pytest.raises(ValueError, match="'auto', 'cpu' or 'cuda'"):
        warpsmith.benchmark(abs, -1, device="gpu")
    if "torch" not in sys.modules and "cupy" not in sys.modules:
        with pytest.raises(RuntimeError, match="needs PyTorch"):
            warpsmith.benchmark(abs, -1, device="cuda")


def test_importing_costs_little_and_not_numpy():
    code = "import sys, warpsmith; assert 'numpy' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_fixture_fails_on_a_slowdown_and_on_nothing_else(tmp_path):
    history = tmp_path / "history.json"
    test = tmp_path / "test_speed.py"
    test.write_text(
        textwrap.dedent("""
        def work():
            return sum(range(3000))

        def test_speed(gpu_bench):
            gpu_bench(work, seconds=0.3)
        """)
    )

    def run(*options):
        command = [sys.executable, "-m", "pytest", "-q", "--rootdir", str(tmp_path)]
        command += ["-p", "no:cacheprovider", "--warpsmith-history", str(history)]
        # Tenfold: a neighbour on a shared machine may well make the second run twice as slow.
        command += ["--warpsmith-margin", "900", str(test), *options]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)

    def pretend_the_base_took(factor):
        stored = json.loads(history.read_text())
        for result in stored.values():
            for clock in ("seconds", "cpu_seconds"):
                result[clock] = [factor * time for time in result.get(clock, [])]
            result["relative"] = [value + math.log(factor) for value in result["relative"]]
        history.write_text(json.dumps(stored))

    assert run().returncode == 0
    assert run("--warpsmith-save").returncode == 0
    assert run().returncode == 0
    pretend_the_base_took(1e-3)
    slow = run()
    assert slow.returncode == 1, slow.stdout
    assert "of its stored time" in slow.stdout
    pretend_the_base_took(1e6)
    assert run().returncode == 0


def test_a_leak_report_has_every_kind_of_memory(monkeypatch):
    report = warpsmith.check_leak(busy, 10, steps=200)
    assert list(report.parts) == ["resident"] and report.kind == "resident"
    for steps in (0, -1, 1.5, math.nan):
        with pytest.raises(ValueError, match="steps"):
            warpsmith.check_leak(busy, 10, steps=steps)

    # A library whose pool is still while the device fills, as a leak below the pool looks.
    import types

    class Tensor:
        is_cuda = True

    used = [1 << 30]
    cuda = types.SimpleNamespace(
        is_available=lambda: True,
        get_device_name=lambda: "X",
        Event=None,
        synchronize=lambda: None,
        memory_allocated=lambda: 5 << 20,
        memory_reserved=lambda: 8 << 20,
        mem_get_info=lambda: ((80 << 30) - used[0], 80 << 30),
    )
    nn = types.SimpleNamespace(Module=type("Module", (), {}))
    monkeypatch.setitem(sys.modules, "torch", types.SimpleNamespace(Tensor=Tensor, cuda=cuda, nn=nn))

    def below_the_pool(_):
        used[0] += 4 << 20

    report = warpsmith.check_leak(below_the_pool, Tensor(), steps=2000)
    assert set(report.parts) == {"resident", "allocated", "reserved", "device"}
    assert (report.verdict, report.kind) == ("LEAK", "device")
    assert report.parts["allocated"].verdict != "LEAK"


def test_a_margin_that_is_none_is_a_mistake_of_the_command_line(tmp_path):
    test = tmp_path / "test_speed.py"
    test.write_text("def test_speed(gpu_bench):\n    gpu_bench(abs, -1, seconds=0.1)\n")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(test)]
    done = subprocess.run([*command, "--warpsmith-margin=nan"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode != 0 and "--warpsmith-margin" in done.stdout + done.stderr


def test_a_stored_result_is_compared_by_the_loop_that_ran_beside_it():
    from warpsmith.benchmarking import benchmark_beside_reference

    result = benchmark_beside_reference(busy, 2000, seconds=0.4).measurement()
    assert len(result["relative"]) >= 8

    # The machine of the second day is twice as slow for everything: no news about the call.
    slow_day = {**result, "seconds": [2 * value for value in result["seconds"]]}
    assert compare_with_base(result, slow_day, 0.05)["verdict"] in ("SAME", "UNDECIDED")
    slower = {**result, "relative": [value + 0.5 for value in result["relative"]]}
    answer = compare_with_base(result, slower, 0.05)
    assert (answer["verdict"], answer["clock"]) == ("SLOWER", "relative")
    # Stored before there was such a loop.
    old = {key: value for key, value in result.items() if key != "relative"}
    assert compare_with_base(old, result, 0.05)["clock"] != "relative"
    # A call that waits has no rate that a loop could be compared with.
    assert not benchmark_beside_reference(time.sleep, 0.001, seconds=0.1).relative


def _calls(seconds: list[float], first_turn: int, switches: set[int], wall: float = 1.0) -> Samples:
    turns = [2 * index + (index + first_turn) % 2 for index in range(len(seconds))]
    return Samples(
        seconds=[wall * value for value in seconds],
        cpu_seconds=list(seconds),
        preempted=sorted(switches),
        interrupted=sorted(switches),
        after_switch=[index in switches for index in range(len(seconds))],
        turns=turns,
    )


def test_calls_that_followed_one_another_know_their_order_and_what_came_before() -> None:
    base = _calls([1.0, 1.0, 1.0, 1.0], 0, {2}, wall=3.0)
    other = _calls([1.1, 1.1, 1.1, 1.1], 1, set())
    paired = adjacent_calls(base, other)
    assert paired is not None and paired.by_cpu_time
    ratios, base_first, earlier, later = zip(*paired.pairs)
    assert ratios == (math.log(1.1),) * 4
    assert base_first == (True, False, True, False)
    # In the third pair the base came first, and after a switch.
    assert earlier == (False, False, True, False) and later == (False,) * 4
    assert paired.levels(2) == [math.log(1.1)] * 2


def test_on_a_quiet_machine_the_wall_decides_and_interrupted_calls_are_left_out() -> None:
    count = 400
    base, other = _calls([1.0] * count, 0, {7}), _calls([1.2] * count, 1, set())
    paired = adjacent_calls(base, other)
    assert paired is not None and not paired.by_cpu_time
    assert len(paired.pairs) == count - 1
    # A GPU's samples do not say when they were taken.
    assert adjacent_calls(Samples([1.0]), Samples([1.0])) is None


def test_every_sample_says_when_it_was_taken() -> None:
    loop = compiled_loop(abs, (-1,), {}, 10)
    first, second = take(loop, 10, 3), take(loop, 10, 2)
    assert first.turns < second.turns and len(first.after_switch) == 3
    first.extend(second)
    assert len(first.turns) == len(first.seconds) == 5


def test_results_of_two_processes_are_judged_by_how_much_their_parts_differ() -> None:
    steady = {"relative": [0.001 * (part % 3) for part in range(8)]}
    slower = {"relative": [0.2 + 0.001 * (part % 3) for part in range(8)]}
    wanders = {"relative": [0.1 + 0.1 * (part % 3) for part in range(8)]}
    assert compare_with_base(steady, slower, 0.05)["verdict"] == "SLOWER"
    assert compare_with_base(steady, wanders, 0.05)["verdict"] == "UNDECIDED"


def test_quiet_moments_are_those_at_which_the_base_was_fast() -> None:
    # In two of three turns a neighbour slows the base by 30 % and the other call by 10 %.
    slowed = [index % 3 != 0 for index in range(300)]
    base = _calls([1.3 if slow else 1.0 for slow in slowed], 0, set())
    other = _calls([2.2 if slow else 2.0 for slow in slowed], 1, set())
    paired = adjacent_calls(base, other)
    assert paired is not None and len(paired.pairs) == 300
    assert max(paired.levels(4)) < math.log(1.9)
    quiet = paired.quiet()
    assert len(quiet.pairs) == 100
    assert all(math.isclose(level, math.log(2.0)) for level in quiet.levels(4))
    # Fewer than 64 quiet moments are not picked out.
    few = adjacent_calls(_calls([1.0] * 60, 0, set()), _calls([2.0] * 60, 1, set()))
    assert few is not None and few.quiet() is few


def test_a_single_wait_does_not_make_work_that_waits() -> None:
    once = Samples(seconds=[1.0] * 100, cpu_seconds=[1.0] * 100, waits=1)
    assert once.cpu() is not None
    often = Samples(seconds=[1.0] * 100, cpu_seconds=[0.5] * 100, waits=50)
    assert often.cpu() is None
