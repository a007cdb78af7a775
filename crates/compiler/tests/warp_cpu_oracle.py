"""Runs kernels twice on the same random arguments: as Warp compiles them for the CPU, and as the
Warpsmith runtime header compiles Warp's own text. Prints one verdict per kernel as a JSON line.

    python warp_cpu_oracle.py manifest.jsonl

Each line of the manifest has `id`, `source` (Python), `library` (shared object), `forward` and
`backward` (symbols in it; `backward` may be null) and `rank` (of the launch grid). Every array lies inside a larger buffer that is
filled and compared as a whole, so that an index out of range is seen rather than suffered. Each
kernel runs in a child process: one that crashes costs its own verdict.
"""

import ctypes
import json
import linecache
import math
import os
import signal
import sys
import types
import zlib
from typing import Any

import numpy as np
import warp as wp
import warp._src.context as context
import warp._src.types as wtypes
from warp._src.codegen import Struct

PAD = 4096  # bytes before and after each array
SHAPES = {1: (64,), 2: (16, 16), 3: (8, 8, 8), 4: (6, 6, 6, 6)}
THREADS = {1: (6,), 2: (3, 4), 3: (2, 3, 2), 4: (2, 2, 2, 2)}
DEADLINE_SECONDS = 20

# Relative to the value compared with, or to the buffer's median where that is larger. Both sides
# compute in the named type, in different orders of summation and with different mathematics
# libraries; the longest chains of the suite lose three decimal digits.
TOLERANCE = {"float16": 4e-2, "bfloat16": 1e-1, "float32": 5e-4, "float64": 1e-9}


def load(source, name):
    module = types.ModuleType(name)
    module.__file__ = f"{name}.py"
    module.__dict__.update(wp=wp, warp=wp, np=np, math=math, Any=Any)
    lines = source.splitlines(keepends=True)
    linecache.cache[module.__file__] = (len(source), None, lines, module.__file__)
    sys.modules[name] = module
    exec(compile(source, module.__file__, "exec", dont_inherit=True), module.__dict__)
    for value in module.__dict__.values():
        if isinstance(value, context.Kernel):
            return next(iter(value.overloads.values())) if value.is_generic else value
    raise LookupError("the source defines no kernel")


def is_plain_array(kind):
    """Whether a type is that of an array; as an annotation it is no instance of `wp.array`."""
    return wtypes.matches_array_class(kind, wp.array)


class Arguments:
    """Random arguments for a kernel, and the memory behind them."""

    def __init__(self, kernel, seed):
        self.random = np.random.default_rng(seed)
        self.buffers = []  # (label, dtype of Warp, bytes)
        self.values = [self.value(a.type, a.label) for a in kernel.adj.args]
        self.initial = self.snapshot()

    def value(self, kind, label):
        if is_plain_array(kind):
            return self.array(kind, label)
        if isinstance(kind, Struct):
            instance = kind()
            for name, field in kind.vars.items():
                setattr(instance, name, self.value(field.type, f"{label}.{name}"))
            return instance
        if wtypes.type_is_value(kind):
            if hasattr(kind, "_wp_scalar_type_"):
                shape = kind._shape_
                components = self.scalars(kind._wp_scalar_type_, int(np.prod(shape)))
                self.dominate_diagonal(kind, components)
                return kind(*[c.item() for c in components])
            return kind(self.scalars(kind, 1)[0].item())
        raise NotImplementedError(f"argument of type {kind}")

    def scalars(self, kind, count):
        if kind in (wp.float16, wp.float32, wp.float64, wp.bfloat16, float):
            return self.random.uniform(0.2, 1.2, count)
        if kind in (wp.bool, bool):
            return self.random.integers(0, 2, count).astype(bool)
        return self.random.integers(1, 4, count)

    @staticmethod
    def dominate_diagonal(kind, values):
        """Keeps square matrices far from singular: what an inverse amplifies is not what is tested."""
        shape = getattr(kind, "_shape_", ())
        if len(shape) == 2 and shape[0] == shape[1] and values.dtype == np.float64:
            rows = shape[0]
            matrices = values[: len(values) // rows**2 * rows**2].reshape(-1, rows, rows)
            matrices += 1.5 * np.eye(rows)

    def fill(self, kind, size):
        """Bytes for `size` bytes of elements of `kind`."""
        if isinstance(kind, Struct):
            numpy_type = np.dtype(kind.numpy_dtype())
            count = -(-size // numpy_type.itemsize)
            data = np.zeros(count, numpy_type)
            self.fill_struct(kind, data)
            return data.tobytes()[:size]
        scalar = getattr(kind, "_wp_scalar_type_", kind)
        width = wtypes.type_size_in_bytes(scalar)
        values = self.scalars(scalar, -(-size // width))
        self.dominate_diagonal(kind, values)
        if scalar is wp.bfloat16:
            return (values.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16).tobytes()[:size]
        return values.astype(wtypes.warp_type_to_np_dtype[scalar]).tobytes()[:size]

    def fill_struct(self, kind, data):
        for name, field in kind.vars.items():
            if isinstance(field.type, Struct):
                self.fill_struct(field.type, data[name])
            elif is_plain_array(field.type):
                raise NotImplementedError("array of structures that hold arrays")
            else:
                scalar = getattr(field.type, "_wp_scalar_type_", field.type)
                data[name] = self.scalars(scalar, data[name].size).reshape(data[name].shape)

    def allocate(self, kind, label):
        size = wtypes.type_size_in_bytes(kind.dtype) * int(np.prod(SHAPES[kind.ndim]))
        # Whole elements of padding keep the buffer one array of the element type.
        element = wtypes.type_size_in_bytes(kind.dtype)
        pad = -(-PAD // element) * element
        content = np.frombuffer(bytearray(self.fill(kind.dtype, size + 2 * pad)), np.uint8)
        self.buffers.append((label, kind.dtype, content))
        return content.ctypes.data + pad, content

    def array(self, kind, label):
        if kind.ndim not in SHAPES:
            raise NotImplementedError("an array of no dimension")
        pointer, _ = self.allocate(kind, label)
        gradient_pointer, _ = self.allocate(kind, f"grad of {label}")
        shape = SHAPES[kind.ndim]
        gradient = wp.array(ptr=gradient_pointer, dtype=kind.dtype, shape=shape, device="cpu")
        return wp.array(ptr=pointer, dtype=kind.dtype, shape=shape, device="cpu", grad=gradient)

    def snapshot(self):
        return [content.copy() for _, _, content in self.buffers]

    def restore(self):
        for (_, _, content), saved in zip(self.buffers, self.initial):
            content[:] = saved

    def adjoints(self, kernel):
        """Adjoints of the arguments: none for arrays, which carry their gradients themselves."""
        result = []
        for argument, value in zip(kernel.adj.args, self.values):
            if isinstance(argument.type, Struct):
                adjoint = argument.type()
                result.append(adjoint)
            else:
                result.append(None)
        return result


def difference(label, kind, ours, theirs):
    """None where two buffers agree, else what differs."""
    if isinstance(kind, Struct):
        a, b = (x.view(np.uint8)[: len(x) // np.dtype(kind.numpy_dtype()).itemsize * np.dtype(kind.numpy_dtype()).itemsize].view(kind.numpy_dtype()) for x in (ours, theirs))
        for name, field in kind.vars.items():
            found = difference(f"{label}.{name}", field.type, np.ascontiguousarray(a[name]).view(np.uint8).ravel(), np.ascontiguousarray(b[name]).view(np.uint8).ravel())
            if found:
                return found
        return None
    scalar = getattr(kind, "_wp_scalar_type_", kind)
    if scalar is wp.bfloat16:
        a, b = ((x.view(np.uint16).astype(np.uint32) << 16).view(np.float32) for x in (ours, theirs))
    else:
        a, b = (x.view(wtypes.warp_type_to_np_dtype[scalar]) for x in (ours, theirs))
    tolerance = TOLERANCE.get(getattr(scalar, "__name__", str(scalar)))
    if tolerance is None:
        wrong = np.flatnonzero(a != b)
    else:
        a, b = a.astype(np.float64), b.astype(np.float64)
        finite = np.isfinite(b)
        scale = np.maximum(np.abs(b), np.median(np.abs(b[finite])) if finite.any() else 1.0)
        with np.errstate(invalid="ignore"):
            same = (a == b) | (np.isnan(a) & np.isnan(b)) | (np.abs(a - b) <= tolerance * scale)
        wrong = np.flatnonzero(~same)
    if len(wrong) == 0:
        return None
    first = wrong[0]
    return f"{label}: {len(wrong)} of {len(a)} differ, at {first}: ours {a[first]!r}, Warp's {b[first]!r}"


def captured(action):
    """Runs the action; gives what it wrote to standard output."""
    import tempfile

    sys.stdout.flush()
    with tempfile.TemporaryFile() as sink:
        saved = os.dup(1)
        os.dup2(sink.fileno(), 1)
        try:
            action()
            ctypes.CDLL(None).fflush(None)
        finally:
            os.dup2(saved, 1)
            os.close(saved)
        sink.seek(0)
        return sink.read().decode(errors="replace")


def check(case, announce):
    kernel = load(case["source"], f"case_{case['id']}")
    arguments = Arguments(kernel, zlib.crc32(case["id"].encode()))
    dim = THREADS[case["rank"]]
    has_backward = case["backward"] is not None

    def launch(backward):
        extra = {}
        if backward:
            extra = {"adj_inputs": arguments.adjoints(kernel), "adjoint": True}
        wp.launch(kernel, dim, inputs=arguments.values, device="cpu", block_dim=1, **extra)

    def run():
        arguments.restore()
        outputs = [captured(lambda: launch(False))]
        states = [arguments.snapshot()]
        if has_backward:
            outputs.append(captured(lambda: launch(True)))
            states.append(arguments.snapshot())
        return outputs, states

    their_outputs, theirs = run()
    announce()
    # The hooks are the functions that a launch calls; the arguments are packed by Warp either way.
    library = ctypes.CDLL(case["library"])
    executable = kernel.module.load(wp.get_device("cpu"), 1)
    hooks = executable.get_kernel_hooks(kernel)
    hooks.forward = getattr(library, case["forward"])
    if has_backward:
        hooks.backward = getattr(library, case["backward"])
    our_outputs, ours = run()
    for phase, our_output, their_output in zip(("forward", "backward"), our_outputs, their_outputs):
        if ("rror" in our_output) != ("rror" in their_output):
            return {"verdict": "differs", "detail": f"{phase}: checks print {our_output[:200]!r}, Warp's {their_output[:200]!r}"}
    for phase, our_state, their_state in zip(("forward", "backward"), ours, theirs):
        for (label, kind, _), a, b in zip(arguments.buffers, our_state, their_state):
            found = difference(label, kind, a, b)
            if found:
                return {"verdict": "differs", "detail": f"{phase}: {found}"}
    written = any((a != b).any() for state in theirs for a, b in zip(state, arguments.initial))
    return {"verdict": "agrees", "detail": ("forward and backward" if has_backward else "forward") + ("" if written else ", writes nothing")}


def warm_up():
    """Compiles one kernel here, so that the children inherit Clang's precompiled header."""
    source = "import warp as wp\n@wp.kernel\ndef warm_up(x: wp.array(dtype=float)):\n    x[wp.tid()] = %r\n" % (os.getpid() * 1.0)
    wp.launch(load(source, "warm_up"), 1, inputs=[wp.zeros(1, dtype=float, device="cpu")], device="cpu")


def answers(work):
    """Each case of the manifest with what `work(case, pipe)` writes to the pipe in a child process of its own, and
    how that process ended."""
    wp.config.quiet = True
    wp.config.log_level = getattr(wp, "LOG_ERROR", 40)
    wp.config.kernel_cache_dir = os.environ["WARP_KERNEL_CACHE"]
    wp.init()
    warm_up()
    for line in open(sys.argv[1], encoding="utf-8"):
        case = json.loads(line)
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reader)
            signal.alarm(DEADLINE_SECONDS)
            with os.fdopen(writer, "wb") as pipe:
                work(case, pipe)
            # Leaving in any other way would delete the precompiled header that all children share.
            os._exit(0)
        os.close(writer)
        with os.fdopen(reader, "rb") as pipe:
            answer = pipe.read()
        yield case, answer, os.waitpid(child, 0)[1]


def judge(case, pipe):
    def announce():
        # Whoever crashes after this was run.
        pipe.write(b"\n")
        pipe.flush()

    try:
        result = check(case, announce)
    except NotImplementedError as reason:
        result = {"verdict": "not run", "detail": str(reason)}
    except BaseException as error:
        result = {"verdict": "not run", "detail": f"{type(error).__name__}: {error}"[:300]}
    pipe.write(json.dumps(result).encode())


def main():
    for case, answer, status in answers(judge):
        if answer.strip():
            result = json.loads(answer)
        elif answer:
            result = {"verdict": "crashed", "detail": f"status {status}"}
        else:
            result = {"verdict": "not run", "detail": f"Warp's own run ends with status {status}"}
        print(json.dumps({"id": case["id"], **result}), flush=True)


if __name__ == "__main__":
    main()
