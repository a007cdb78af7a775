"""Warp's own way from kernels to PTX, in units of 100, in CPU-seconds a kernel.

    python warp_batches.py SOURCES.json ARCHITECTURE

SOURCES.json is a list of Python sources, one kernel each. The first unit is compiled twice and counted
once: the first time makes the precompiled header.
"""

import importlib.util
import json
import pathlib
import sys
import tempfile
import time

import warp as wp

BATCH = 100


def units(sources, folder):
    """Modules of at most BATCH kernels; those with a name that is there already open a new one."""
    module, names = None, set()
    for number, source in enumerate(sources):
        name = source[source.index("@wp.kernel") :].split("def ", 1)[1].split("(", 1)[0]
        if module is None or name in names or len(names) == BATCH:
            if module is not None:
                yield module, len(names)
            module, names = wp.get_module(f"unit_{number}"), set()
        names.add(name)
        path = folder / f"pair_{number}.py"
        path.write_text(source.replace("@wp.kernel\n", "@wp.kernel(module=UNIT)\n"))
        spec = importlib.util.spec_from_file_location(path.stem, path)
        loaded = importlib.util.module_from_spec(spec)
        loaded.UNIT = module
        spec.loader.exec_module(loaded)
    if module is not None:
        yield module, len(names)


def main():
    sources = json.loads(pathlib.Path(sys.argv[1]).read_text())
    architecture = int(sys.argv[2])
    wp.config.quiet = True
    wp.init()
    seconds, kernels = 0.0, 0
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        for number, (module, count) in enumerate(units(sources, folder)):
            for turn in range(2 if number == 0 else 1):
                out = folder / f"ptx_{number}_{turn}"
                out.mkdir()
                start = time.process_time()
                wp.compile_aot_module(
                    module, device=None, arch=architecture, module_dir=str(out), use_ptx=True
                )
                taken = time.process_time() - start
            seconds += taken
            kernels += count
    print(json.dumps({"kernels": kernels, "seconds": seconds}))


main()
