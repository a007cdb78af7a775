"""Runs one program written for Warp, and stores the arrays that it leaves.

    python run_warp_program.py {warp,warpsmith,unfused,captured} PROGRAM.py OUT.npz [ARGUMENTS …]

With `warpsmith` the lines that import Warp import `warpsmith.warp` instead; nothing else is changed. With `unfused`
its kernels have the module option `fuse_fp` off; with `captured` it takes the CPU for a GPU, where it captures a graph.
"""

import re
import runpy
import sys
import tempfile
from pathlib import Path


def with_our_imports(text):
    """The program's text with other import lines."""
    text = re.sub(r"^import warp as wp$", "import warpsmith.warp as wp", text, flags=re.M)
    # All that the examples use of Warp's helpers for its own tests.
    text = re.sub(r"^from warp\.tests\.unittest_utils import \*$", "import numpy as np", text, flags=re.M)
    text = re.sub(r"^from warp\.(\w+) import ", r"from warpsmith.warp.\1 import ", text, flags=re.M)
    return re.sub(r"^import warp\.(\w+)$", r"from warpsmith import warp; import warpsmith.warp.\1", text, flags=re.M)


def arrays_of(value, name, found, depth=0):
    """Every array that a value leads to, by the way there."""
    if type(value).__name__ == "Tensor":
        value = value.detach().cpu()
    if type(value).__module__.startswith("cupy"):
        found[name] = value.get()
    elif hasattr(value, "numpy") and hasattr(value, "dtype") and hasattr(value, "shape"):
        found[name] = value.numpy().copy()
    elif isinstance(value, (list, tuple)) and len(value) < 64:
        for number, part in enumerate(value):
            arrays_of(part, f"{name}[{number}]", found, depth + 1)
    elif depth < 2 and type(value).__module__ == "__main__" or type(value).__name__ in ("Example",):
        for attribute, part in list(vars(value).items()):
            arrays_of(part, f"{name}.{attribute}", found, depth + 1)


def main():
    engine, program, out, *arguments = sys.argv[1:]
    import numpy as np

    if engine == "unfused":
        import warpsmith.warp

        for module in ("__main__", "warpsmith.warp.optim"):
            warpsmith.warp.set_module_options({"fuse_fp": False}, module)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, Path(program).name)
        text = Path(program).read_text()
        text = text if engine == "warp" else with_our_imports(text)
        path.write_text(text.replace(".is_cuda", ".is_cpu") if engine == "captured" else text)
        sys.argv = [str(path), *arguments]
        left = runpy.run_path(str(path), run_name="__main__")
    found = {}
    for name, value in left.items():
        arrays_of(value, name, found)
    np.savez(out, **found)


if __name__ == "__main__":
    main()
