"""How well Python's cold timing agrees with the program's own, on one GPU.

    python python/benches/cold_timing.py

One kernel, `add` of 1 Mi float32, is compiled by NVRTC on both sides: the program times it as a case, and
`warpsmith.bench` times the same source as `torch.cuda._compile_kernel` launches it. Beside them stand
`triton.testing.do_bench` and two events around each call. Targets: within 3 % of the program, repeats within 1 %.
"""

import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

import torch

import warpsmith

N = 1 << 20
SOURCE = """
extern "C" __global__ void add(const float *a, const float *b, float *c, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = a[i] + b[i];
}
"""
CASE = f"""source = "add.cu"
[sizes]
n = [{N}]
[[arguments]]
name = "a"
direction = "in"
type = "f32"
shape = "n"
[[arguments]]
name = "b"
direction = "in"
type = "f32"
shape = "n"
[[arguments]]
name = "c"
direction = "out"
type = "f32"
shape = "n"
[[arguments]]
name = "n"
type = "i32"
value = "n"
[launch]
grid = "ceil_div(n, 256)"
block = 256
"""


def program_times(repeats):
    with tempfile.TemporaryDirectory() as folder:
        place = pathlib.Path(folder)
        (place / "add.cu").write_text(SOURCE)
        (place / "add.toml").write_text(CASE)
        medians = []
        for _ in range(repeats):
            command = [sys.executable, "-m", "warpsmith", "bench", str(place / "add.toml"), "--mode", "cold"]
            done = subprocess.run([*command, "--device", "cuda", "--format", "json"], capture_output=True, text=True)
            if done.returncode not in (0, 1):
                raise SystemExit(done.stderr)
            body = json.loads(done.stdout)["body"]
            medians.append(body[0]["figures"]["interval"]["median"])
    return medians


def record_call_record(call):
    times = []
    for _ in range(200):
        start, stop = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        torch.cuda.synchronize()
        start.record()
        call()
        stop.record()
        torch.cuda.synchronize()
        times.append(start.elapsed_time(stop) * 1e-3)
    return statistics.median(times)


def row(name, medians, base):
    middle = statistics.median(medians)
    spread = (max(medians) - min(medians)) / middle
    beside = "" if base is None else f"{100 * (middle / base - 1):+8.1f} %"
    print(f"{name:<44} {middle * 1e6:8.2f} µs  repeats {100 * spread:5.2f} %  {beside}")
    return middle, spread


def main():
    a, b = (torch.randn(N, device="cuda") for _ in range(2))
    c = torch.empty_like(a)
    kernel = torch.cuda._compile_kernel(SOURCE, "add")

    def same_kernel():
        kernel(grid=((N + 255) // 256, 1, 1), block=(256, 1, 1), args=[a, b, c, N])

    def torch_add():
        torch.add(a, b, out=c)

    same_kernel()
    assert torch.equal(c, a + b)
    base, _ = row("warpsmith bench add.toml --mode cold", program_times(5), None)
    cold = lambda call: warpsmith.bench(call, device="cuda", mode="cold", seconds=1.0).median  # noqa: E731
    own, spread = row("warpsmith.bench, the same kernel, cold", [cold(same_kernel) for _ in range(8)], base)
    row("warpsmith.bench, torch.add, cold", [cold(torch_add) for _ in range(8)], base)
    row("two events around each call, idle GPU", [record_call_record(torch_add) for _ in range(8)], base)
    try:
        import triton.testing

        bench = lambda: triton.testing.do_bench(torch_add, return_mode="median") * 1e-3  # noqa: E731
        row("triton.testing.do_bench, torch.add", [bench() for _ in range(8)], base)
    except ImportError:
        print("triton is not installed: left out")
    good = abs(own / base - 1) <= 0.03 and spread <= 0.01
    print("within 3 % of the program, repeats within 1 %" if good else "MISSED: 3 % of the program, repeats 1 %")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
