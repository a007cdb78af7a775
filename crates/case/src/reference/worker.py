"""Runs one Python function for Warpsmith, in a process of its own.

Requests come as lines of JSON on standard input; arrays lie as .npy files in a folder that the
request names. Answers go as lines of JSON to what standard output was at the start; whatever the
function prints goes to standard error.
"""

import importlib.util
import inspect
import json
import os
import sys
import traceback

channel = os.fdopen(os.dup(1), "w", encoding="utf-8")
os.dup2(2, 1)
sys.stdout = sys.stderr


def answer(**fields):
    channel.write(json.dumps(fields) + "\n")
    channel.flush()


try:
    import numpy
except ImportError as error:
    answer(error=f"Python at {sys.executable} has no NumPy: {error}", kind="numpy")
    sys.exit(0)


class Wrong(Exception):
    """What is wrong with the function or its result, in words for the user."""


def load(file, function):
    """The function, and whether it takes PyTorch tensors."""
    folder = os.path.dirname(os.path.abspath(file))
    sys.path.insert(0, folder)
    spec = importlib.util.spec_from_file_location("warpsmith_reference", file)
    module = importlib.util.module_from_spec(spec)
    sys.modules["warpsmith_reference"] = module
    spec.loader.exec_module(module)
    if not hasattr(module, function):
        names = [name for name, value in vars(module).items() if inspect.isfunction(value)]
        raise Wrong(f"`{file}` has no function `{function}`; it has {', '.join(names) or 'none'}")
    # A file that imports torch and no NumPy wants tensors.
    names = vars(module)
    tensors = "torch" in names and "numpy" not in names and "np" not in names
    return getattr(module, function), tensors


def chosen(function, named):
    """The arguments that the function's own parameters name."""
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return dict(named)
    given = {}
    for name, parameter in parameters.items():
        if parameter.kind is parameter.VAR_KEYWORD:
            return dict(named)
        if parameter.kind is parameter.VAR_POSITIONAL:
            continue
        if name in named:
            given[name] = named[name]
        elif parameter.default is parameter.empty:
            raise Wrong(
                f"it takes `{name}`, which is no input, dimension or number of the case; "
                f"there are {', '.join(named)}"
            )
    return given


def as_numpy(value):
    if hasattr(value, "detach"):
        value = value.detach()
        if str(value.dtype) == "torch.bfloat16":
            value = value.float()
        value = value.cpu().numpy()
    elif hasattr(value, "get") and not isinstance(value, dict):
        value = value.get()
    return numpy.asarray(value)


def outputs_of(result, wanted):
    """The result as one array for each output, of the right shape."""
    names = [one["name"] for one in wanted]
    if isinstance(result, dict):
        missing = [name for name in names if name not in result]
        if missing:
            raise Wrong(f"its result has no `{missing[0]}`; it has {', '.join(map(str, result))}")
        values = [result[name] for name in names]
    elif isinstance(result, (tuple, list)) and len(names) > 1:
        values = list(result)
        if len(values) != len(names):
            raise Wrong(f"it returns {len(values)} results for the {len(names)} outputs {', '.join(names)}")
    elif result is None:
        raise Wrong("it returns nothing; return the outputs")
    elif len(names) > 1:
        raise Wrong(f"it returns one result for the outputs {', '.join(names)}; return a tuple or a dict")
    else:
        values = [result]
    arrays = []
    for one, value in zip(wanted, values):
        array = as_numpy(value)
        if array.dtype.kind not in "fiub":
            raise Wrong(f"`{one['name']}` is of type {array.dtype}, numbers expected")
        shape = tuple(one["shape"])
        if array.shape != shape and not (array.size == 1 and numpy.prod(shape) == 1):
            raise Wrong(f"`{one['name']}` has the shape {list(array.shape)}, expected {list(shape)}")
        arrays.append(array.reshape(shape))
    return arrays


class Caller:
    def __init__(self, request):
        self.function, self.tensors = load(request["file"], request["function"])
        self.device = request.get("device")
        if self.tensors and self.device:
            import torch

            if self.device == "cuda" and not torch.cuda.is_available():
                self.device = "cpu"

    def call(self, arrays, numbers, wanted):
        def given(array):
            # A copy each time: a function that writes into its input changes nothing but its own.
            array = numpy.array(array)
            if not self.tensors:
                return array
            import torch

            tensor = torch.from_numpy(array)
            return tensor.to(self.device) if self.device else tensor

        named = {name: given(array) for name, array in arrays.items()}
        named.update(numbers)
        return outputs_of(self.function(**chosen(self.function, named)), wanted)


def wide(arrays):
    return {
        name: array.astype(numpy.float64) if array.dtype.kind == "f" else array
        for name, array in arrays.items()
    }


# From so many elements on, one element of every input is changed at once, and once.
LARGE = 1 << 20


def fan_in(caller, arrays, numbers, wanted, truth):
    """How many input elements decide an output element, from single elements that are changed."""
    random = numpy.random.default_rng(1)
    most = [1.0] * len(wanted)
    floats = [name for name, array in arrays.items() if array.dtype.kind == "f" and array.size]
    large = sum(array.size for array in arrays.values()) > LARGE
    for together in [floats] if large and floats else [[name] for name in floats]:
        changed = [0] * len(wanted)
        probes = 1 if large else 2
        for _ in range(probes):
            moved = dict(arrays)
            for name in together:
                flat = arrays[name].copy().reshape(-1)
                at = int(random.integers(flat.size))
                flat[at] = flat[at] * 1.5 + 0.5
                moved[name] = flat.reshape(arrays[name].shape)
            for index, result in enumerate(caller.call(moved, numbers, wanted)):
                changed[index] += int(numpy.count_nonzero(result != truth[index]))
        size = max(arrays[name].size for name in together)
        for index, one in enumerate(wanted):
            outputs = max(int(numpy.prod(one["shape"])), 1)
            most[index] = max(most[index], changed[index] / probes * size / outputs)
    return most


def moved_by_last_bits(caller, arrays, numbers, wanted, truth):
    """How far outputs move when every input moves by a part in 2**23."""
    random = numpy.random.default_rng(1)
    truth = [array.astype(numpy.float64) for array in truth]
    spread = [numpy.zeros(array.shape) for array in truth]
    # Normal steps: steps of one size cancel each other where terms do.
    for _ in range(5):
        moved = {
            name: array * (1 + 2.0**-23 * random.standard_normal(array.shape)) if array.dtype.kind == "f" else array
            for name, array in arrays.items()
        }
        for index, result in enumerate(caller.call(moved, numbers, wanted)):
            spread[index] = numpy.fmax(spread[index], numpy.abs(result - truth[index]))
    # An element's own steps may be small by chance; those of its array are not.
    return [numpy.fmax(one, 0.25 * numpy.nanmedian(one)) if one.size else one for one in spread]


def solve(caller, request):
    folder = request["folder"]
    wanted = request["outputs"]
    numbers = request["numbers"]
    arrays = {
        one["name"]: numpy.load(os.path.join(folder, one["file"]), allow_pickle=False)
        for one in request["inputs"]
    }
    native = caller.call(arrays, numbers, wanted)
    facts = {"precision": "native", "fan_in": [1.0] * len(wanted)}
    floats = any(array.dtype.kind == "f" for array in arrays.values())
    truth, spread = native, None
    if floats and request["wide"]:
        wider = wide(arrays)
        try:
            # What is float64 already gives the same again.
            same = all(array.dtype == wider[name].dtype for name, array in arrays.items())
            truth = native if same else caller.call(wider, numbers, wanted)
            facts["precision"] = "float64"
        except Exception as error:  # A function for float32 alone is a reference all the same.
            facts["note"] = f"not in float64: {type(error).__name__}: {error}"
        if facts["precision"] == "float64":
            with numpy.errstate(all="ignore"):
                if request["spread"]:
                    spread = moved_by_last_bits(caller, wider, numbers, wanted, truth)
                if request["probe"]:
                    facts["fan_in"] = fan_in(caller, wider, numbers, wanted, truth)

    def save(kind, index, array):
        numpy.save(os.path.join(folder, f"{kind}{index}.npy"), numpy.ascontiguousarray(array))

    for index in range(len(wanted)):
        array = truth[index]
        if array.dtype.kind in "iub":
            save("truth", index, array if array.dtype == numpy.uint64 else array.astype(numpy.int64))
        else:
            save("truth", index, array.astype(numpy.float64, copy=False))
            plain = native[index]
            if plain.dtype not in (numpy.float32, numpy.float64):
                plain = plain.astype(numpy.float64)
            save("plain", index, plain)
        if spread is not None:
            save("spread", index, spread[index])
    return facts


def place(error, file):
    """The line of the user's file that raised."""
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file]
    return lines[-1] if lines else None


def main():
    caller = None
    file = None
    for line in sys.stdin:
        request = json.loads(line)
        try:
            if caller is None:
                file = request["file"]
                caller = Caller(request)
                answer(ready=True, tensors=caller.tensors)
            else:
                answer(**solve(caller, request))
        except Wrong as error:
            answer(error=str(error), kind="wrong")
        except SyntaxError as error:
            answer(error=f"{type(error).__name__}: {error.msg}", kind="raised", line=error.lineno)
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                raise
            answer(error=f"{type(error).__name__}: {error}"[:2000], kind="raised", line=place(error, file))


main()
