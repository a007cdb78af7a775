"""Asks Warp for the C++ and CUDA text that it generates for kernels given as source text.

Only the code generator runs: no GPU, no compiler and no kernel cache are involved. Names that depend on
a hash end in `HASH`, so that two texts can be compared byte for byte.
"""
import linecache
import math
import os
import sys
import types
from pathlib import Path
from typing import Any

import numpy as np
import warp as wp
import warp._src.context as context

# The file name that appears in the generated comments on functions.
FILE = "kernels.py"

wp.config.log_level = wp.LOG_ERROR
# With MathDx the generator runs a device linker for tile_matmul and its kin.
wp.config.enable_mathdx_gemm = False
wp.config.enable_mathdx_solver = False
wp.config.enable_mathdx_fft = False
# Constants of type float16 and the tile builtins call the native library.
wp.init()

# Comments on functions of Warp's own library name their file; where Warp is installed is not part of it.
_INSTALLED = f"{Path(wp.__file__).parent.parent}{os.sep}"
_FUNCTION_COUNTS = dict(context.function_key_counts)
_loaded = 0


class Program:
    """A source text that Warp has read."""

    def __init__(self, source):
        global _loaded
        _loaded += 1
        self.name = f"warp_text_{_loaded}"
        # Functions are numbered per process; a program of its own starts at zero.
        context.function_key_counts.clear()
        context.function_key_counts.update(_FUNCTION_COUNTS)
        lines = source.splitlines(keepends=True)
        # An entry without a modification time is kept, although there is no such file.
        linecache.cache[FILE] = (len(source), None, lines, FILE)
        self.module = types.ModuleType(self.name)
        self.module.__file__ = FILE
        self.module.__dict__.update(wp=wp, warp=wp, np=np, math=math, Any=Any)
        sys.modules[self.name] = self.module
        try:
            exec(compile(source, FILE, "exec", dont_inherit=True), self.module.__dict__)
        finally:
            del sys.modules[self.name]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        context.user_modules.pop(self.name, None)

    def kernels(self):
        """The program's kernels in the order of their lines, a generic one as its overloads."""
        found = {id(k): k for k in vars(self.module).values() if isinstance(k, context.Kernel)}
        own = context.user_modules.get(self.name)
        if own is not None:
            found.update((id(k), k) for k in own.kernels.values())
        ordered = sorted(found.values(), key=lambda k: (k.adj.fun_lineno, k.key))
        return [c for k in ordered for c in (k.overloads.values() if k.is_generic else [k])]


def module_text(kernel, device):
    """The text of a module that holds one kernel; `device` is `cuda` or `cpu`."""
    module = kernel.module
    # What a launch uses: blocks of 256 threads on a GPU, of one on a CPU.
    block_dim = 1 if device == "cpu" else module.options["block_dim"]
    options = module.resolve_options(wp.config, block_dim=block_dim)
    options["output_arch"] = None if device == "cpu" else 90
    hashed = {key: value for key, value in options.items() if key != "output_arch"}
    kernel.hash = None
    hasher = context.ModuleHasher([kernel], hashed)
    if kernel.adj.has_unresolved_static_expressions:
        # The value of a `wp.static` in a loop is known after a first build.
        context.ModuleBuilder(module, options, hasher)
        hasher = context.ModuleHasher([kernel], hashed)
    builder = context.ModuleBuilder(module, options, hasher, target=device)
    text = builder.codegen(device).replace(_INSTALLED, "")
    for kernel in builder.kernels:
        text = text.replace(kernel.get_mangled_name(), f"{kernel.key}_HASH")
    for struct in builder.structs:
        text = text.replace(struct.native_name, f"{struct.key}_HASH")
    return text


def first_kernel(source):
    """Name, CUDA text and CPU text of a program's first kernel; raises what Warp raises."""
    with Program(source) as program:
        kernels = program.kernels()
        if not kernels:
            raise ValueError("the source has no kernel that can be built")
        kernel = kernels[0]
        return kernel.key, module_text(kernel, "cuda"), module_text(kernel, "cpu")


def suite_row(ident, source):
    """A program as a row of a suite. Where Warp rejects it the texts are empty, so accepting it is wrong."""
    row = {"id": ident, "tier": "S0", "source": source, "cuda_module": "", "cpu_module": ""}
    try:
        row["kernel"], row["cuda_module"], row["cpu_module"] = first_kernel(source)
    except Exception as error:
        row["tier"], row["error"] = "S1", str(error)
    return row
