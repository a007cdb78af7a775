#!/usr/bin/env python3
"""Holds the telemetry against a real GPU, in about five minutes on one with PyTorch.

    python3 crates/telemetry/verify/h200.py --warpsmith target/release/warpsmith --out OUT

Records the reference recordings (idle, matmul, stencil, copy), compares our values with
`nvidia-smi -q -x` of the same second, measures the CPU time of sampling, the exporter's start and
memory, matrix multiplication with sampling on and off, and energy from samples against the counter.
Writes `verify.json` and the recordings to OUT; exit code 1 when a check fails. Checks whose facts
are missing are skipped.
"""

import argparse
import inspect
import json
import os
import random
import resource
import signal
import statistics
import subprocess
import sys
import time
import urllib.request
import xml.etree.ElementTree as ElementTree

# What a load does until its deadline; run by a child process, so that its CPU time is its own.
LOADS = {
    "matmul": """
a = torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16)
b = torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16)
def step():
    for _ in range(20): torch.matmul(a, b)
""",
    "stencil": """
u = torch.rand(1, 1, 256, 256, 256, device="cuda")
def step():
    global u
    for _ in range(20):
        v = u.clone()
        v[..., 1:-1, 1:-1, 1:-1] = (u[..., 2:, 1:-1, 1:-1] + u[..., :-2, 1:-1, 1:-1]
            + u[..., 1:-1, 2:, 1:-1] + u[..., 1:-1, :-2, 1:-1]
            + u[..., 1:-1, 1:-1, 2:] + u[..., 1:-1, 1:-1, :-2]) / 6
        u = v
""",
    "copy": """
a = torch.empty(1 << 30, device="cuda", dtype=torch.uint8)
b = torch.empty_like(a)
def step():
    for _ in range(20): b.copy_(a)
""",
}

HARNESS = """
import sys, time, torch
{body}
for _ in range(3): step()
torch.cuda.synchronize()
print("ready", flush=True)
deadline = time.monotonic() + float(sys.argv[1])
steps = 0
start = time.perf_counter()
while time.monotonic() < deadline:
    step(); torch.cuda.synchronize(); steps += 1
print(steps / (time.perf_counter() - start), flush=True)
"""

# Runs matmul in slices and starts and stops the sampler in between, all in one process, so that
# both sides see the same allocation and the same clocks.
PERTURBATION = """
import json, signal, subprocess, sys, time, torch
{body}
def rate(seconds):
    torch.cuda.synchronize()
    start = time.perf_counter(); n = 0
    while time.perf_counter() - start < seconds:
        step(); torch.cuda.synchronize(); n += 1
    return n / (time.perf_counter() - start)
rate(4)
pairs = []
for n in range(int(sys.argv[3])):
    both = {{}}
    for on in ([False, True] if n % 2 else [True, False]):
        sampler = subprocess.Popen([sys.argv[1], "record", "-q", sys.argv[2]]) if on else None
        time.sleep(0.3)
        both[on] = rate(2.0)
        if sampler:
            sampler.send_signal(signal.SIGINT); sampler.wait()
    pairs.append((both[False], both[True]))
print(json.dumps(pairs))
"""


def run(command, **options):
    return subprocess.run(command, capture_output=True, text=True, **options)


def start_load(name, seconds):
    program = HARNESS.format(body=LOADS[name])
    child = subprocess.Popen([sys.executable, "-c", program, str(seconds)],
                             stdout=subprocess.PIPE, text=True)
    if child.stdout.readline().strip() != "ready":
        raise RuntimeError(f"the load `{name}` did not start")
    return child


def number(text):
    """The number at the start of `53 C`, `16x`, `700.00 W`; None of `N/A`."""
    if text is None:
        return None
    digits = ""
    for c in text.strip():
        if c.isdigit() or c in ".-":
            digits += c
        else:
            break
    try:
        return float(digits)
    except ValueError:
        return None


def first(element, *paths):
    for path in paths:
        value = number(element.findtext(path))
        if value is not None:
            return value
    return None


def conformance(warpsmith, label):
    """Our snapshot between two of nvidia-smi's: a value agrees when it lies between theirs, give
    or take what the sensor moves in a second."""
    before = ElementTree.fromstring(run(["nvidia-smi", "-q", "-x"]).stdout)
    ours = json.loads(run([warpsmith, "watch", "--once", "--format", "json"]).stdout)
    after = ElementTree.fromstring(run(["nvidia-smi", "-q", "-x"]).stdout)
    rows = []
    for index, (a, b) in enumerate(zip(before.findall("gpu"), after.findall("gpu"))):
        identity = ours["body"]["inventory"]["gpus"][index]
        gpu = ours["body"]["gpus"][index]
        state, steady, slow = gpu["state"], gpu["steady"], gpu["slow"]
        for name, own, tag in [("name", identity["name"], "product_name"),
                               ("uuid", identity["uuid"], "uuid")]:
            rows.append((label, index, name, own, a.findtext(tag), own == a.findtext(tag)))
        scaled = lambda value, factor: None if value is None else value * factor
        memory = "fb_memory_usage/"
        power = "gpu_power_readings/"
        link = "pci/pci_gpu_link_info/"
        checks = [
            ("temperature_c", state.get("temperature_c"), ["temperature/gpu_temp"], 2),
            ("memory_temperature_c", state.get("memory_temperature_c"), ["temperature/memory_temp"], 2),
            ("margin_c", steady.get("margin_c"), ["temperature/gpu_temp_tlimit"], 2),
            ("power_w", scaled(state.get("power_mw"), 1e-3),
             [power + "average_power_draw", power + "power_draw"], 25),
            ("power_limit_w", scaled(slow.get("power_limit_mw"), 1e-3),
             [power + "current_power_limit"], 0.5),
            ("sm_clock_mhz", state.get("sm_clock_mhz"), ["clocks/sm_clock"], 120),
            ("memory_clock_mhz", state.get("memory_clock_mhz"), ["clocks/mem_clock"], 10),
            ("busy_percent", state.get("busy_percent"), ["utilization/gpu_util"], 10),
            ("memory_total_mib", scaled(identity.get("memory_total_bytes"), 2 ** -20),
             [memory + "total"], 1),
            ("memory_reserved_mib", scaled(state.get("memory_reserved_bytes"), 2 ** -20),
             [memory + "reserved"], 1),
            ("memory_used_mib", scaled(state.get("memory_used_bytes"), 2 ** -20),
             [memory + "used"], 16),
            ("pcie_generation", slow.get("pcie_generation"),
             [link + "pcie_gen/current_link_gen"], 0),
            ("pcie_width", slow.get("pcie_width"), [link + "link_widths/current_link_width"], 0),
            ("power_cap_us", scaled(state.get("power_cap_ns"), 1e-3),
             ["clocks_event_reasons_counters/clocks_event_reasons_counters_sw_power_cap"], 3e6),
            ("hardware_thermal_us", scaled(state.get("hardware_thermal_ns"), 1e-3),
             ["clocks_event_reasons_counters/clocks_event_reasons_counters_hw_therm_slowdown"], 3e6),
        ]
        for name, own, paths, slack in checks:
            low_high = [first(a, *paths), first(b, *paths)]
            if own is None or None in low_high:
                both_absent = own is None and low_high == [None, None]
                rows.append((label, index, name, own, low_high, None if not both_absent else True))
                continue
            fits = min(low_high) - slack <= own <= max(low_high) + slack
            rows.append((label, index, name, own, low_high, fits))
    return rows


def cpu_seconds(command):
    """User and system time of a command."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime + after.ru_stime) - (before.ru_utime + before.ru_stime)


def resident_mb(pid="self"):
    """Resident memory of a process."""
    with open(f"/proc/{pid}/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmRSS")) / 1000


def exporter_start(warpsmith):
    """Seconds from the start of the exporter to a GPU's first metric, and its memory 3 s later."""
    begun = time.perf_counter()
    exporter = subprocess.Popen([warpsmith, "export", "-q", "--listen", "127.0.0.1:9879"])
    try:
        while True:
            try:
                with urllib.request.urlopen("http://127.0.0.1:9879/metrics", timeout=1) as answer:
                    if b"warpsmith_gpu_power_watts{" in answer.read():
                        break
            except OSError:
                pass
            if time.perf_counter() > begun + 10 or exporter.poll() is not None:
                return None
            time.sleep(0.002)
        seconds = time.perf_counter() - begun
        time.sleep(3)
        return seconds, resident_mb(exporter.pid)
    finally:
        exporter.terminate()
        exporter.wait()


def initialisation_mb():
    """Memory that the driver's own library takes to initialise, in a process that does nothing else."""
    name = os.environ.get("WARPSMITH_NVML_LIBRARY", "libnvidia-ml.so.1")
    program = f"""
import ctypes
{inspect.getsource(resident_mb)}
library = ctypes.CDLL({name!r})
before = resident_mb()
library.nvmlInit_v2()
print(resident_mb() - before)
"""
    return float(run([sys.executable, "-c", program]).stdout)


def interval(values):
    """Mean with a 95 % bootstrap interval."""
    draw = random.Random(1)
    means = sorted(statistics.fmean(draw.choices(values, k=len(values))) for _ in range(2000))
    return statistics.fmean(values), means[50], means[1949]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--warpsmith", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--seconds", type=float, default=30, help="length of each recording")
    parser.add_argument("--parts", default="recordings,cpu,exporter,perturbation,baselines",
                        help="what to do, by name")
    parser.add_argument("--loads", default="matmul,stencil,copy", help="which loads to record")
    parser.add_argument("--cpu-seconds", type=int, default=60, help="length of the CPU measurement")
    parser.add_argument("--pairs", type=int, default=12, help="matmul slices with sampling on and off")
    options = parser.parse_args()
    parts = options.parts.split(",")
    warpsmith = os.path.abspath(options.warpsmith)
    os.makedirs(options.out, exist_ok=True)
    out = lambda name: os.path.join(options.out, name)
    seconds = options.seconds
    results, failed = {}, []

    def verdict(name, passed, shown):
        results[name] = {"passed": passed, "seen": shown}
        word = "skipped" if passed is None else "pass" if passed else "FAIL"
        print(f"{word:8} {name}: {shown}", flush=True)
        if passed is False:
            failed.append(name)

    try:
        import torch  # noqa: F401
        loads = options.loads.split(",") if torch.cuda.is_available() else []
    except ImportError:
        loads = []

    if "recordings" in parts:
        rows = conformance(warpsmith, "idle")
        record = lambda name: run([warpsmith, "record", "-q", out(name + ".wsrec"),
                                   "--duration", f"{seconds}s"])
        record("idle")
        for name in loads:
            child = start_load(name, seconds + 6)
            time.sleep(2)
            record(name)
            if name == "matmul":
                rows += conformance(warpsmith, "matmul")
            child.wait()
        for label, gpu, name, own, theirs, fits in rows:
            verdict(f"conformance {label} GPU {gpu} {name}", fits, f"ours {own}, nvidia-smi {theirs}")
        for name in ["idle", *loads]:
            path = out(name + ".wsrec")
            if not os.path.exists(path):
                verdict(f"recording {name}", False, "was not written")
                continue
            rate = os.path.getsize(path) / seconds
            verdict(f"recording {name}", rate <= 2000, f"{rate:.0f} B/s")
            judged = [warpsmith, "baseline", "--from", path, "--format", "json"]
            report = json.loads(run(judged + (["--expect-load"] if name != "idle" else [])).stdout)
            codes = sorted(finding["code"] for finding in report["findings"])
            verdict(f"verdict {name}", report["body"]["fitness"] == "fit",
                    f"{report['body']['fitness']} {codes}")
            energy = report["body"]["gpus"][0].get("energy") or {}
            if energy.get("sampled_joules"):
                off = energy["sampled_joules"] / energy["counter_joules"] - 1
                verdict(f"energy {name}", abs(off) <= 0.005,
                        f"counter {energy['counter_joules']:.1f} J, samples {off * 100:+.2f} %")
            else:
                verdict(f"energy {name}", None, "no energy counter")

    if "cpu" in parts:
        # The difference of a long and a short run leaves start-up out.
        short = cpu_seconds([warpsmith, "record", "-q", out("cpu.wsrec"), "--duration", "2s"])
        whole = f"{options.cpu_seconds + 2}s"
        long = cpu_seconds([warpsmith, "record", "-q", out("cpu.wsrec"), "--duration", whole])
        os.remove(out("cpu.wsrec"))
        share = (long - short) / options.cpu_seconds
        query = ["nvidia-smi", "--query-gpu=utilization.gpu,power.draw,temperature.gpu,clocks.sm,memory.used",
                 "--format=csv"]
        peer = statistics.median(cpu_seconds(query) for _ in range(5))
        verdict("sampling CPU, full schedule", share <= 0.0013,
                f"{share * 100:.3f} % of a core (recording included); nvidia-smi --query at 1 Hz {peer * 100:.1f} %")

    if "exporter" in parts:
        starts = [exporter_start(warpsmith) for _ in range(3)]
        if None in starts:
            verdict("exporter", None, "no GPU's metrics within 10 s")
        else:
            own = initialisation_mb()
            slowest, most = (max(column) for column in zip(*starts))
            verdict("exporter, start to first metric", slowest <= 0.05, f"at most {slowest * 1e3:.1f} ms of 3 starts")
            verdict("exporter, memory", most <= 10,
                    f"{most:.1f} MB, of which NVML's initialisation takes {own:.1f}")

    if "perturbation" in parts and "matmul" in loads:
        program = PERTURBATION.format(body=LOADS["matmul"])
        answer = run([sys.executable, "-c", program, warpsmith, out("perturb.wsrec"), str(options.pairs)])
        if os.path.exists(out("perturb.wsrec")):
            os.remove(out("perturb.wsrec"))
        ratios = [on / off - 1 for off, on in json.loads(answer.stdout)]
        mean, low, high = interval(ratios)
        verdict("matmul with sampling on against off", low <= 0.001 and high >= -0.001 and abs(mean) <= 0.001,
                f"{mean * 100:+.3f} % [{low * 100:+.3f}, {high * 100:+.3f}], {len(ratios)} pairs")
    elif "perturbation" in parts:
        verdict("matmul with sampling on against off", None, "no PyTorch with CUDA here")

    if "baselines" in parts:
        reports = []
        for name in ["first", "second"]:
            path = out(name + ".json")
            run([warpsmith, "baseline", "-q", "--duration", "20s", "--json", path])
            reports.append(path)
        compared = run([warpsmith, "compare", *reports, "--format", "json"])
        said = json.loads(compared.stdout)["body"]["verdict"] if compared.stdout else compared.stderr
        verdict("two idle baselines", said == "same", said)

    with open(out("verify.json"), "w") as file:
        json.dump(results, file, indent=1)
    print(f"{len(failed)} of {len(results)} checks failed")
    return 1 if failed else 0


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.exit(main())
