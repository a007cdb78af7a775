"""Candidates that only a GPU can tell apart, each with the verdict expected; and how many a second are judged.

    python python/benches/judge_cuda.py
    python python/benches/judge_cuda.py --only cuda

PyTorch candidates answer `judge_cuda/relu_rows.py` in KernelBench's layout, CUDA candidates a case. The exit code is
1 where a verdict differs or fewer than 20 small kernels a second are judged.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

HEAD = """import threading
import torch
import torch.nn as nn


class Base(nn.Module):
    def __init__(self, scale):
        super().__init__()
        self.scale = scale

    def compute(self, x):
        return torch.softmax(torch.relu(x) * self.scale, dim=1)


"""
CANDIDATES = {
    "honest": ("correct", "class ModelNew(Base):\n    def forward(self, x):\n        return self.compute(x)\n"),
    "honest_side_stream": ("correct", """class ModelNew(Base):
    def forward(self, x):
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            out = self.compute(x)
        torch.cuda.current_stream().wait_stream(side)
        return out
"""),
    "honest_by_halves": ("correct", """class ModelNew(Base):
    def forward(self, x):
        return torch.cat([self.compute(part) for part in x.chunk(2)])
"""),
    "other_stream": ("cheating|wrong", """side = None


class ModelNew(Base):
    def forward(self, x):
        global side
        side = side or torch.cuda.Stream()
        with torch.cuda.stream(side):
            return self.compute(x)
"""),
    "other_stream_joined_late": ("cheating|wrong", """side = None


class ModelNew(Base):
    def forward(self, x):
        global side
        side = side or torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            return self.compute(x)
"""),
    "thread": ("cheating|wrong", """class ModelNew(Base):
    def forward(self, x):
        out = torch.empty_like(x)
        threading.Thread(target=lambda: out.copy_(self.compute(x))).start()
        return out
"""),
    "lazy_tensor": ("cheating", """class Lazy(torch.Tensor):
    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        return super().__torch_function__(function, types, args, kwargs)


class ModelNew(Base):
    def forward(self, x):
        return self.compute(x).as_subclass(Lazy)
"""),
    "cached_by_pointer": ("cheating", """stored = {}


class ModelNew(Base):
    def forward(self, x):
        if x.data_ptr() not in stored:
            stored[x.data_ptr()] = self.compute(x)
        return stored[x.data_ptr()].clone()
"""),
    "graph_on_old_buffers": ("cheating", """kept = []


class ModelNew(Base):
    def forward(self, x):
        if not kept:
            for _ in range(3):
                self.compute(x)
            graph, static = torch.cuda.CUDAGraph(), x.clone()
            with torch.cuda.graph(graph):
                out = self.compute(static)
            kept.extend([graph, out, static])
        kept[0].replay()
        return kept[1].clone()
"""),
    "patched_event": ("cheating", """torch.cuda.Event.elapsed_time = lambda self, other: 0.001


class ModelNew(Base):
    def forward(self, x):
        return self.compute(x)
"""),
    "patched_synchronize": ("cheating", """torch.cuda.synchronize = lambda *args: None


class ModelNew(Base):
    def forward(self, x):
        return self.compute(x)
"""),
    "half_precision": ("cheating|wrong", """class ModelNew(Base):
    def forward(self, x):
        return self.compute(x.half()).float()
"""),
    "freed_memory": ("cheating|wrong", """class ModelNew(Base):
    def forward(self, x):
        return torch.empty_like(x)
"""),
    "zeroed_input": ("cheating", """class ModelNew(Base):
    def forward(self, x):
        out = self.compute(x)
        x.zero_()
        return out
"""),
    "without_relu": ("wrong", """class ModelNew(Base):
    def forward(self, x):
        return torch.softmax(x * self.scale, dim=1)
"""),
    "failed_launch": ("crashed|wrong|compile_failure", """kernel = torch.cuda._compile_kernel(
    'extern "C" __global__ void f(const float *x, float *y) { y[threadIdx.x] = x[threadIdx.x]; }', "f")


class ModelNew(Base):
    def forward(self, x):
        out = torch.empty_like(x)
        kernel(grid=(1, 1, 1), block=(4096, 1, 1), args=[x, out])
        return out
"""),
    "illegal_address": ("crashed", """kernel = torch.cuda._compile_kernel(
    'extern "C" __global__ void f(float *y) { y[1ll << 40] = 1; }', "f")


class ModelNew(Base):
    def forward(self, x):
        out = torch.empty_like(x)
        kernel(grid=(1, 1, 1), block=(32, 1, 1), args=[out])
        return out
"""),
    "never_ends": ("timed_out", """kernel = torch.cuda._compile_kernel(
    'extern "C" __global__ void f(volatile float *y) { while (y[0] != 12345.0f) {} }', "f")


class ModelNew(Base):
    def forward(self, x):
        out = torch.zeros_like(x)
        kernel(grid=(1, 1, 1), block=(1, 1, 1), args=[out])
        return out
"""),
}
CU_CASE = """source = "scale.cu"
kernel = "scale"
reference = "reference.py:scale"
[sizes]
n = [65536]
[[arguments]]
name = "x"
direction = "in"
type = "f32"
shape = "n"
[[arguments]]
name = "y"
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


def kernel(body, before=""):
    return (
        f'{before}\nextern "C" __global__ void scale(const float *x, float *y, int n) {{\n'
        f"    int i = blockIdx.x * blockDim.x + threadIdx.x;\n    {body}\n}}\n"
    )


RIGHT = "if (i < n) y[i] = 2.5f * x[i];"
#: The expected verdict, and the source.
KERNELS = {
    "honest": ("correct", kernel(RIGHT)),
    "honest_grid_stride": ("correct", kernel("for (; i < n; i += gridDim.x * blockDim.x) y[i] = x[i] * 2.5f;")),
    "honest_shared": ("correct", kernel(
        "__shared__ float t[256]; t[threadIdx.x] = i < n ? x[i] : 0; __syncthreads();\n"
        "    if (i < n) y[i] = 2.5f * t[threadIdx.x];")),
    "honest_in_double": ("correct", kernel("if (i < n) y[i] = (float)(2.5 * (double)x[i]);")),
    "honest_helper": ("correct", kernel(
        "if (i < n) y[i] = twice(x[i]) + 0.5f * x[i];", "__device__ float twice(float a) { return a + a; }")),
    "wrong_factor": ("wrong", kernel("if (i < n) y[i] = 2.4f * x[i];")),
    "wrong_last_block": ("wrong", kernel("if (i < n - n % 256) y[i] = 2.5f * x[i];")),
    "constant": ("wrong|cheating", kernel("if (i < n) y[i] = 1.0f;")),
    "writes_nothing": ("wrong|cheating", kernel("")),
    "kept_in_device_memory": ("wrong|cheating", kernel(
        "if (i < n) { if (!have[i]) { kept[i] = 2.5f * x[i]; have[i] = 1; } y[i] = kept[i]; }",
        "__device__ float kept[1 << 20]; __device__ int have[1 << 20];")),
    "right_for_20_launches": ("cheating", kernel(
        "if (i == 0) atomicAdd(&launches, 1);\n    if (launches <= 20 && i < n) y[i] = 2.5f * x[i];",
        "__device__ unsigned launches;")),
    "changes_its_input": ("cheating", kernel("if (i < n) { y[i] = 2.5f * x[i]; ((float *)x)[i] = 0; }")),
    "half_of_the_bits": ("wrong|cheating", kernel(
        "if (i < n) y[i] = __int_as_float(__float_as_int(2.5f * x[i]) & 0xFFFF0000);")),
    "writes_outside": ("wrong|cheating", kernel(RIGHT + " if (i == 0) y[n] = 7;")),
    "illegal_address": ("crashed", kernel("if (i < n) y[i] = x[i + (1ll << 40)];")),
    "traps": ("crashed", kernel(RIGHT + ' if (i == n - 1) asm("trap;");')),
    "never_ends": ("timed_out", kernel("while (((volatile float *)y)[0] != 12345.0f) {}")),
    "does_not_parse": ("compile_failure", kernel("y[i] = x[i] +;")),
    "another_name": ("compile_failure", kernel(RIGHT).replace("void scale", "void other")),
    "another_signature": ("compile_failure", kernel(RIGHT).replace("int n)", "int n, double *more)")),
}  # fmt: skip


def judge(folder, lines, case, *options):
    path = folder / "candidates.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    command = [sys.executable, "-m", "warpsmith", "judge", str(path), "--case", str(case), "--device", "cuda"]
    command += ["--format", "json", "--fresh", "--limit", "3s", *options]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode not in (0, 1, 3):
        raise SystemExit(done.stderr)
    verdicts = [json.loads(line) for line in path.with_suffix(".verdicts.jsonl").read_text().splitlines()]
    # Candidates of an earlier call keep their lines.
    given = {line["id"] for line in lines}
    return {one["id"]: one for one in verdicts if one["id"] in given}, json.loads(done.stdout)["body"]


def compared(verdicts, expected):
    """Prints each verdict; how many are not the expected ones."""
    wrong = 0
    for id, words in expected.items():
        one = verdicts[id]
        good = one["verdict"] in words.split("|")
        wrong += not good
        speed = f"{one['speed']['speedup']:.2f} x" if one.get("speed") else ""
        detail = " ".join(one.get("detail", "").split())[:110]
        print("ok   " if good else "OTHER", f"{id:24}", one["verdict"], one.get("kind", ""), speed, detail)
    return wrong


def torch_candidates(folder):
    problem = pathlib.Path(__file__).parent / "judge_cuda" / "relu_rows.py"
    lines = [{"id": id, "source": HEAD + text} for id, (_, text) in CANDIDATES.items()]
    verdicts, body = judge(folder, lines, problem)
    wrong = compared(verdicts, {id: expected for id, (expected, _) in CANDIDATES.items()})
    print(f"{body['candidates_per_second']:.1f} PyTorch candidates/s\n")
    return wrong


def cuda_candidates(folder, count):
    (folder / "reference.py").write_text("def scale(x):\n    return 2.5 * x\n")
    (folder / "scale.cu").write_text(kernel(RIGHT))
    (folder / "scale.toml").write_text(CU_CASE)
    lines = [{"id": id, "source": text} for id, (_, text) in KERNELS.items()]
    verdicts, _ = judge(folder, lines, folder / "scale.toml")
    wrong = compared(verdicts, {id: expected for id, (expected, _) in KERNELS.items()})
    many = [{"id": f"{at}", "source": kernel(f"{RIGHT} // {at}")} for at in range(count)]
    verdicts, body = judge(folder, many, folder / "scale.toml")
    wrong += sum(one["verdict"] != "correct" for one in verdicts.values())
    rate = body["candidates_per_second"]
    others = [one for one in verdicts.values() if one["verdict"] != "correct"]
    for one in others[:5]:
        print("OTHER", one["id"], one["verdict"], one.get("detail", "")[:200])
    right = [one for one in verdicts.values() if one["verdict"] == "correct"]
    took = sorted(one["took"] - one.get("load_seconds", 0.0) for one in right)[len(right) // 2]
    print(f"{rate:.1f} CUDA candidates/s with compilation (target 20); {1e3 * took:.0f} ms each after it\n")
    return wrong + (rate < 20)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", choices=["torch", "cuda"])
    parser.add_argument("--count", type=int, default=200, help="small kernels for the rate")
    options = parser.parse_args()
    missed = 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        if options.only != "torch":
            missed += cuda_candidates(folder, options.count)
        if options.only != "cuda":
            missed += torch_candidates(folder)
    print("everything as expected" if not missed else f"{missed} MISSED")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
