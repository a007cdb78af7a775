#!/usr/bin/env python3
"""Makes the compiler's conformance suite from the tests and examples inside the warp-lang wheel.

    target/oracle/warp/bin/python crates/compiler/tools/conformance_suite.py SUITE.jsonl.gz

`cargo xtask conformance` calls this. Every module is imported in a process of its own; the unit tests then
run with launches and assertions switched off, because many kernels are made inside tests. Each kernel
becomes one self-contained text (`kernel_slice.py`), and a row has that text and Warp's text for it.
"""
import collections
import contextlib
import gzip
import hashlib
import importlib
import importlib.abc
import importlib.machinery
import inspect
import io
import json
import multiprocessing
import multiprocessing.connection
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path
from unittest import mock

import numpy as np
import warp as wp
import warp._src.context as context

import kernel_slice
import warp_text

# Seconds of processor time: a test that needs more works on data, and makes no further kernels.
TEST_SECONDS = 2
# Seconds of wall time for a whole module, for tests that wait; a busy machine takes long for the largest.
MODULE_SECONDS = 300
MEMORY = 6 << 30
# Kernels made from one function, which differ in a type or a size; one test makes hundreds of them.
VARIANTS = 64
# Bytes of a kernel's text; a few unrolled ones would be half of the suite.
LONGEST_TEXT = 400_000

# What a kernel needs beyond the tier before it, tested from the last tier to the first, on the source and
# on the generated text.
TIERS = [
    (15, r"\btile_(?!shared_storage|mem)\w+|wp\.tile\b", r"wp::(adj_)?(un)?tile(?!_shared_storage)"),
    (14, r"texture|entry_point_abi|deterministic", r"texture"),
    (13, r"indexedarray|fabric", r"indexedarray|fabric"),
    (12, r"\bvolume_\w+\(", r"wp::volume_"),
    (11, r"\b(mesh|bvh|hash_grid|intersect|closest_point)_\w+|wp\.Mesh", r"wp::(mesh|bvh|hash_grid|intersect|closest_point)_"),
    (10, r"func_native|func_grad|func_replay|wp\.ref\b|wp\.grad\(|wp\.adjoint|address_of|Callable", r"$^"),
    (9, r"wp\.static\(", r"$^"),
    (8, r"\bAny\b|wp\.overload", r"$^"),
    (7, r"\.shape\b|wp\.zeros\(|wp\.empty\(|Tuple\[|tuple\[", r"wp::view|fixedarray|slice_t|tuple_t|wp::len\("),
    (6, r"\b(rand|noise|curlnoise|pnoise|sample_|poisson)\w*\(", r"wp::(rand|noise|curlnoise|pnoise|sample_|poisson)"),
    (5, r"@wp\.struct", r"$^"),
    (4, r"@wp\.func", r"$^"),
    (3, r"\b(wp\.)?(quat|transform|spatial)\w*", r"quat_t|transform_t|spatial_"),
    (2, r"$^", r"vec_t|mat_t"),
    (1, r"$^", r"wp::(float16|float64|bfloat16|int8|int16|int64|uint8|uint16|uint32|uint64|half)"),
]


def tier(source, cuda):
    text = cuda[cuda.rfind("#define adj_int(") :]
    return next((n for n, in_source, in_text in TIERS if re.search(in_source, source) or re.search(in_text, text)), 0)


class OutOfTime(BaseException):
    """Raised by the timers; no `except Exception` of a test swallows it."""


class Missing(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Stands in for third-party packages, which the tests import and the kernels do not need."""

    def find_spec(self, name, path=None, target=None):
        root = name.partition(".")[0]
        if root in ("warp", "numpy") or root in sys.stdlib_module_names:
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec):
        module = mock.MagicMock(name=spec.name)
        module.__name__, module.__path__, module.__spec__ = spec.name, [], spec
        return module

    def exec_module(self, module):
        pass


def launch(kernel, dim=None, inputs=(), outputs=(), *_, **__):
    """Makes the overload that a launch would make."""
    if isinstance(kernel, context.Kernel) and kernel.is_generic:
        kernel.add_overload(kernel.infer_argument_types([*inputs, *outputs]))


def nothing(*_, **__):
    return None


def refuse(*_, **__):
    raise OSError("tests start no programs here")


def switch_off():
    """Keeps tests from compiling, launching, comparing and starting programs."""
    wp.launch = context.launch = launch
    wp.launch_tiled = context.launch_tiled = launch
    wp.force_load = wp.load_module = context.Module.load = nothing
    subprocess.run = subprocess.Popen = subprocess.check_output = refuse
    for name in dir(unittest.TestCase):
        if name.startswith("assert") and not re.match("assert(Raises|Warns|Logs|NoLogs)", name):
            setattr(unittest.TestCase, name, nothing)
    for name in dir(np.testing):
        if name.startswith("assert") and inspect.isfunction(getattr(np.testing, name)):
            setattr(np.testing, name, nothing)
    tools = importlib.import_module("warp.tests.unittest_utils")
    tools.assert_np_equal = tools.assert_array_equal = nothing
    # A captured stream is a file descriptor of the whole process.
    tools.CheckOutput = lambda *_: contextlib.nullcontext()


def out_of_time(*_):
    raise OutOfTime


def kernels_of(name):
    """Imports a module, runs its tests, and gives the kernels that were made."""
    made = []
    original = context.Kernel.__init__

    def remember(self, *arguments, **options):
        original(self, *arguments, **options)
        made.append(self)

    context.Kernel.__init__ = remember
    signal.signal(signal.SIGPROF, out_of_time)
    signal.signal(signal.SIGALRM, out_of_time)
    signal.alarm(MODULE_SECONDS)
    try:
        signal.setitimer(signal.ITIMER_PROF, 5 * TEST_SECONDS)
        module = importlib.import_module(name)
        suite = unittest.defaultTestLoader.loadTestsFromModule(module)
        for test in flat(suite):
            signal.setitimer(signal.ITIMER_PROF, TEST_SECONDS)
            # A test's failure is of no interest, nor is its time.
            with contextlib.suppress(Exception, OutOfTime, SystemExit):
                getattr(test, test._testMethodName)()
    except (Exception, OutOfTime, SystemExit):
        pass
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.alarm(0)
        context.Kernel.__init__ = original
    return [k for k in made if k.func.__module__ == name]


def flat(suite):
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            yield from flat(test)
        elif hasattr(test, "_testMethodName"):
            yield test


def rows_of(name):
    """The rows of one module, and why kernels have none."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    silence = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silence, 1)
    os.dup2(silence, 2)
    sys.meta_path.append(Missing())
    rows, refused, variants = {}, [], collections.Counter()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        switch_off()
        live = kernels_of(name)
        for kernel in (c for k in live for c in (list(k.overloads.values()) if k.is_generic else [k])):
            try:
                source = kernel_slice.slice_kernel(kernel)
                variants[kernel.func.__code__] += source not in rows
                if source in rows or variants[kernel.func.__code__] > VARIANTS:
                    continue
                key, cuda, cpu = warp_text.first_kernel(source)
            except (Exception, SystemExit) as error:
                # Tests have programs that Warp rejects on purpose.
                refused.append(f"{name} {kernel.key}: {type(error).__name__}: {error}")
                continue
            if len(cuda) > LONGEST_TEXT:
                refused.append(f"{name} {kernel.key}: a text of {len(cuda)} bytes")
                continue
            rows[source] = {
                "id": hashlib.sha256(source.encode()).hexdigest()[:16],
                "origin": name,
                "kernel": key,
                "tier": f"S{tier(source, cuda)}",
                "source": source,
                "cuda_module": cuda,
                "cpu_module": cpu,
            }
        os.chdir("/")
    return list(rows.values()), refused


def modules():
    """Every test and example of the wheel, as names to import."""
    folder = Path(wp.__file__).parent
    for part in ("tests", "examples"):
        for path in sorted((folder / part).rglob("*.py")):
            name = ".".join(["warp", *path.relative_to(folder).with_suffix("").parts])
            if not name.endswith(("__init__", "__main__", "unittest_utils", "unittest_suites", "run_coverage_serial")):
                yield name


def all_rows(names, folder):
    """What `rows_of` says for each module, in order; nothing for a module whose process died."""
    fork = multiprocessing.get_context("fork")
    waiting, running = list(reversed(names)), {}
    while waiting or running:
        while waiting and len(running) < os.cpu_count():
            name = waiting.pop()
            # A process per module: tests change Warp's state, and may end the process.
            process = fork.Process(target=write_rows, args=(name, folder / name))
            process.start()
            running[process.sentinel] = process, name, time.monotonic() + MODULE_SECONDS
        for sentinel in multiprocessing.connection.wait(list(running), timeout=1):
            running.pop(sentinel)[0].join()
        for process, name, deadline in running.values():
            if time.monotonic() > deadline:
                print(f"stopped after {MODULE_SECONDS} s: {name}", file=sys.stderr)
                process.kill()
    for name in names:
        try:
            yield json.loads((folder / name).read_text())
        except FileNotFoundError:
            yield [], [f"{name}: the process ended"]


def write_rows(name, path):
    path.with_suffix(".unfinished").write_text(json.dumps(rows_of(name)))
    path.with_suffix(".unfinished").rename(path)
    # Threads and atexit handlers of the tests are of no interest.
    os._exit(0)


def main():
    out = Path(sys.argv[1])
    names = list(modules())
    rows, refused = {}, []
    with tempfile.TemporaryDirectory() as folder:
        os.environ["WARP_CACHE_PATH"] = folder
        for made, why in all_rows(names, Path(folder)):
            refused += why
            for row in made:
                rows.setdefault(row["source"], row)
    if "--refused" in sys.argv:
        print("\n".join(refused), file=sys.stderr)
    unfinished = out.with_suffix(".unfinished")
    with unfinished.open("wb") as file:
        # No time and no name in the header: the same suite is the same file.
        with gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0) as packed:
            with io.TextIOWrapper(packed, encoding="utf-8") as text:
                for row in rows.values():
                    text.write(json.dumps(row, ensure_ascii=False) + "\n")
    unfinished.replace(out)
    print(f"{len(rows)} kernels of {len(names)} modules; {len(refused)} have no text of their own")


if __name__ == "__main__":
    main()
