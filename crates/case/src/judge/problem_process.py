"""A KernelBench problem: its inputs, its weights and its right answers, in a process that no candidate sees."""

import importlib.util
import os
import sys
import traceback


class Refused(Exception):
    """What is wrong with the problem's file, in words."""


def load(file):
    spec = importlib.util.spec_from_file_location("problem", file)
    module = importlib.util.module_from_spec(spec)
    sys.modules["problem"] = module
    spec.loader.exec_module(module)
    for name in ("Model", "get_inputs", "get_init_inputs"):
        if not hasattr(module, name):
            raise Refused(f"`{file}` has no `{name}`: it is no problem in KernelBench's layout")
    return module


def available_memory():
    try:
        with open("/proc/meminfo") as file:
            lines = [line.split() for line in file]
        return next(int(line[1]) << 10 for line in lines if line[0] == "MemAvailable:")
    except (OSError, StopIteration):
        return 8 << 30


class Problem:
    def __init__(self, file, seed, numbers):
        import copy

        import torch

        self.torch = torch
        self.module = load(file)
        for name, value in numbers.items():
            if not isinstance(vars(self.module).get(name), (int, float)):
                raise Refused(f"`{file}` has no number `{name}` to set")
            setattr(self.module, name, value)
        # Some problems change their arguments in `__init__`: each model gets its own.
        self.init = self.module.get_init_inputs()
        torch.manual_seed(seed)
        self.model = self.module.Model(*copy.deepcopy(self.init)).eval()
        self.wide = copy.deepcopy(self.model).double()

    def arrays_of(self, values):
        arrays = []
        for value in values:
            if isinstance(value, self.torch.Tensor):
                value = value.detach().cpu()
                value = value.float() if value.dtype is self.torch.bfloat16 else value
                arrays.append(value.contiguous().numpy())
            elif isinstance(value, (int, float, bool)):
                arrays.append(value)
            else:
                raise Refused(f"an input is of type {type(value).__name__}; tensors and numbers can be judged")
        return arrays

    def reference(self, arrays):
        import numpy

        torch = self.torch
        wide = any(isinstance(one, numpy.ndarray) and one.dtype == numpy.float64 for one in arrays)
        values = [torch.from_numpy(one.copy()) if isinstance(one, numpy.ndarray) else one for one in arrays]
        with torch.no_grad():
            result = (self.wide if wide else self.model)(*values)
        results = list(result) if isinstance(result, (tuple, list)) else [result]
        if not all(isinstance(one, torch.Tensor) for one in results):
            raise Refused("the model returns something that is no tensor")
        return [one.contiguous().numpy() for one in results]

    def inputs(self, seed, kind, change):
        """The problem's own inputs, or normal ones of the same shapes; `change` moves one element."""
        import numpy

        self.torch.manual_seed(seed)
        arrays = self.arrays_of(self.module.get_inputs())
        total = sum(one.nbytes for one in arrays if isinstance(one, numpy.ndarray))
        # Truth in float64, its movements and what is compared: some sixteen times the inputs.
        if 16 * total > available_memory():
            numbers = [name for name, value in vars(self.module).items() if type(value) is int and value > 1]
            raise Refused(
                f"the inputs have {total / 2**30:.1f} GiB, too much for the memory that is free here; "
                f"make it smaller with `--set`, e.g. `--set {numbers[0] if numbers else 'dim'}=256`"
            )
        random = numpy.random.default_rng(seed)
        floats = [at for at, one in enumerate(arrays) if isinstance(one, numpy.ndarray) and one.dtype.kind == "f"]
        for at in floats:
            if kind == "normal":
                arrays[at] = random.standard_normal(arrays[at].shape).astype(arrays[at].dtype)
        if change and floats:
            at = floats[int(random.integers(len(floats)))]
            flat = arrays[at].copy().reshape(-1)
            place = int(numpy.random.default_rng(change).integers(max(flat.size, 1)))
            flat[place] = flat[place] * 1.5 + 1.0
            arrays[at] = flat.reshape(arrays[at].shape)
        return arrays


def described(name, array):
    return {"name": name, "descr": array.dtype.str, "shape": list(array.shape)}


def answer(frames, problem, request):
    import numpy

    if request["op"] == "weights":
        state = problem.model.state_dict()
        weights = [(name, value.contiguous().numpy()) for name, value in state.items()
                   if value.dtype is not problem.torch.bfloat16]
        frames.send(
            {"init": repr(problem.init), "weights": [described(*one) for one in weights]},
            [memoryview(numpy.ascontiguousarray(one)).cast("B") if one.size else b"" for _, one in weights],
        )
        return
    arrays = problem.inputs(request["seed"], request["kind"], request["change"])
    truths = truth_of(problem.reference, arrays)
    if not all(numpy.isfinite(one.plain).all() for one in truths if one.plain.dtype.kind == "f"):
        if request["kind"] != "own":
            # The problem's formula is not meant for these: nothing can be concluded from them.
            frames.send({"undefined": True})
            return
    inputs, parts, outputs = [], [], []
    for at, one in enumerate(arrays):
        if isinstance(one, numpy.ndarray):
            inputs.append(described(f"input{at}", one))
            parts.append(one.tobytes())
        else:
            inputs.append({"name": f"input{at}", "value": one})
    for at, one in enumerate(truths):
        exact = one.values.dtype.kind in "iub"
        values = one.values.astype(numpy.int64 if exact else numpy.float64)
        outputs.append({**described(f"output{at}" if len(truths) > 1 else "output", one.plain), "exact": exact,
                        "spread": one.spread is not None, "fan_in": one.fan_in, "wide": one.wide})
        parts.append(values.tobytes())
        if not exact:
            parts.append(one.plain.astype(numpy.float64).tobytes())
        if one.spread is not None:
            parts.append(one.spread.tobytes())
    frames.send({"inputs": inputs, "outputs": outputs}, parts)


def main():
    channel, source = os.dup(1), os.dup(0)
    os.dup2(2, 1)
    sys.stdout = sys.stderr

    def write(data):
        view = memoryview(data)
        while view:
            view = view[os.write(channel, view):]

    frames = Frames(lambda count: os.read(source, count), write)
    problem = None
    while True:
        try:
            request, _ = frames.receive()
        except EOFError:
            return
        try:
            if problem is None:
                problem = Problem(request["file"], request["seed"], request["numbers"])
                frames.send({"ready": True})
            else:
                answer(frames, problem, request)
        except Refused as error:
            frames.send({"error": str(error)})
        except BaseException as error:  # noqa: BLE001 (said to the user)
            lines = [one.lineno for one in traceback.extract_tb(error.__traceback__)
                     if problem is None or one.filename == problem.module.__file__]
            where = f" at line {lines[-1]}" if lines else ""
            frames.send({"error": f"{type(error).__name__}{where}: {error}"[:2000]})


main()
