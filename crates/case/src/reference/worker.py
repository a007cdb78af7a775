"""Runs one Python function for Warpsmith, in a process of its own.

Requests come as lines of JSON on standard input; arrays lie as .npy files in a folder that the
request names. Answers go as lines of JSON to what standard output was at the start; whatever the
function prints goes to standard error.

With the argument "template" it runs no function: it copies itself for each line that names a socket,
and the copy, which has NumPy already, takes requests from there.
"""

import functools
import gc
import importlib.util
import inspect
import json
import os
import resource
import socket
import sys
import time
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
    """The function, and whose arrays it takes: "numpy", "torch" or "cupy"."""
    folder = os.path.dirname(os.path.abspath(file))
    sys.path.insert(0, folder)
    spec = importlib.util.spec_from_file_location("warpsmith_reference", file)
    module = importlib.util.module_from_spec(spec)
    sys.modules["warpsmith_reference"] = module
    spec.loader.exec_module(module)
    if not hasattr(module, function):
        names = [name for name, value in vars(module).items() if inspect.isfunction(value)]
        raise Wrong(f"there is no such function; the file has {', '.join(names) or 'none'}")
    # A file that imports torch or CuPy, and no NumPy, wants their arrays.
    names = vars(module)
    plain = "numpy" in names or "np" in names
    kind = "numpy"
    if "torch" in names and not plain:
        kind = "torch"
    elif ("cupy" in names or "cp" in names) and not plain:
        kind = "cupy"
    return getattr(module, function), kind


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
        self.function, self.kind = load(request["file"], request["function"])
        self.device = request.get("device")
        if self.kind == "torch" and self.device:
            import torch

            if self.device == "cuda" and not torch.cuda.is_available():
                self.device = "cpu"
        self.bound = {}

    def given(self, array):
        # A copy each time: a function that writes into its input changes nothing but its own.
        array = numpy.array(array)
        if self.kind == "torch":
            import torch

            tensor = torch.from_numpy(array)
            return tensor.to(self.device) if self.device else tensor
        if self.kind == "cupy":
            import cupy

            return cupy.asarray(array)
        return array

    def arguments(self, arrays, numbers):
        named = {name: self.given(array) for name, array in arrays.items()}
        floats = [array.dtype for array in arrays.values() if array.dtype.kind == "f"]
        for name, number in numbers.items():
            if isinstance(number, list):  # A vector, in the precision of the arrays.
                vector = numpy.array(number)
                precision = numpy.result_type(*floats) if floats and vector.dtype.kind == "f" else vector.dtype
                number = self.given(vector.astype(precision))
            named[name] = number
        return chosen(self.function, named)

    def call(self, arrays, numbers, wanted):
        return outputs_of(self.function(**self.arguments(arrays, numbers)), wanted)

    def on_gpu(self):
        return self.kind == "cupy" or (self.kind == "torch" and self.device == "cuda")


# A sample lasts so many seconds at least: the clock's own steps and cost are a thousandth of it.
SHORTEST = 50e-6


class CpuSamples:
    """The monotonic clock around as many calls as make a sample long enough."""

    def __init__(self, call):
        self.call = call
        self.inner = 1
        # The fastest of three: an interruption makes one long, and nothing makes one short.
        while self.inner < 1 << 20 and min(self.take(3))[0] * self.inner < SHORTEST:
            self.inner *= 2

    def take(self, count):
        """Seconds of a call, its CPU time, and whether the core was taken away, for each sample."""
        call, inner, clock = self.call, self.inner, time.perf_counter_ns
        taken = []
        collecting = gc.isenabled()
        gc.disable()
        try:
            for _ in range(count):
                switches = resource.getrusage(resource.RUSAGE_THREAD).ru_nivcsw
                busy = time.process_time_ns()
                start = clock()
                for _ in range(inner):
                    call()
                seconds = (clock() - start) * 1e-9 / inner
                busy = (time.process_time_ns() - busy) * 1e-9 / inner
                lost = resource.getrusage(resource.RUSAGE_THREAD).ru_nivcsw > switches
                taken.append((seconds, busy, lost))
        finally:
            if collecting:
                gc.enable()
        return taken


class GpuSamples:
    """The program's own GPU timer on the library's current stream."""

    inner = 1

    def __init__(self, call, mode):
        try:
            from warpsmith.devices import clock_for
        except ImportError as error:
            raise Wrong(
                f"work on a GPU is timed by the package `warpsmith`, which Python at {sys.executable} does not "
                f"have ({error}); `pip install warpsmith` there"
            ) from None
        self.clock = clock_for("cuda", (), "warm" if mode == "warm" else "cold")
        self.call = call

    def take(self, count):
        return [(seconds, None, False) for seconds in self.clock.time_many(self.call, count)]


def bind(caller, request):
    """Keeps the function with its arguments, warmed up, to be sampled."""
    call = functools.partial(caller.function, **caller.arguments(arrays_of(request), request["numbers"]))
    for _ in range(3):
        call()
    on_gpu = caller.on_gpu() and request["mode"] != "end-to-end"
    if on_gpu:
        samples = GpuSamples(call, request["mode"])
    elif caller.on_gpu():
        wait = GpuSamples(call, "warm").clock.wait
        samples = CpuSamples(lambda: (call(), wait()))
    else:
        samples = CpuSamples(call)
    caller.bound[request["id"]] = samples
    return {"gpu": on_gpu, "inner": samples.inner}


def sample(caller, request):
    samples = caller.bound.get(request["id"])
    if samples is None:
        raise Wrong("its process ended meanwhile, and with it what was to be timed")
    taken = samples.take(request["count"])
    return {"samples": taken}


def arrays_of(request):
    return {
        one["name"]: numpy.load(os.path.join(request["folder"], one["file"]), allow_pickle=False)
        for one in request["inputs"]
    }


def wide(arrays):
    return {
        name: array.astype(numpy.float64) if array.dtype.kind == "f" else array
        for name, array in arrays.items()
    }


# From so many elements on, one element of every input is changed at once, and once.
LARGE = 1 << 20


def share_that_moves(array, random):
    """The share of elements that are not one of a few values: a clipped result follows no input."""
    flat = array.reshape(-1)
    if not flat.size:
        return 1.0
    some = flat[random.integers(flat.size, size=min(flat.size, 4096))]
    counts = numpy.unique(some, return_counts=True)[1]
    clipped = int(counts[counts > max(2, some.size // 50)].sum())
    # At least one element in a few thousand moves, or there is nothing to compare.
    return max(1.0 - clipped / some.size, 1.0 / 4096)


def fan_in(caller, arrays, numbers, wanted, truth):
    """How many input elements decide an output element, from single elements that are changed."""
    random = numpy.random.default_rng(1)
    moving = [share_that_moves(array, random) for array in truth]
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
            deciding = changed[index] / probes * size / (outputs * moving[index])
            # Nothing is decided by more elements than there are.
            most[index] = max(most[index], min(deciding, float(size)))
    return most


def moved_by_last_bits(caller, arrays, numbers, wanted, truth):
    """How far outputs move when every input moves by a part in 2**23, and when what lies between is rounded too."""
    random = numpy.random.default_rng(1)
    truth = [array.astype(numpy.float64) for array in truth]
    spread = [numpy.zeros(array.shape) for array in truth]
    wider = wide(arrays)

    def moved(inputs, step):
        # Normal steps: steps of one size cancel each other where terms do.
        return {
            name: (array * (1 + step * random.standard_normal(array.shape))).astype(array.dtype)
            if array.dtype.kind == "f"
            else array
            for name, array in inputs.items()
        }

    for _ in range(5):
        for index, result in enumerate(caller.call(moved(wider, 2.0**-23), numbers, wanted)):
            spread[index] = numpy.fmax(spread[index], numpy.abs(result - truth[index]))
    # `exp(x) - 1` loses bits that no input shows: what rounding does at inputs nearby, and twice that, because
    # functions of a GPU round less well. Half precision rounds such steps away.
    nearby = 8 if any(array.dtype == numpy.float32 for array in arrays.values()) else 0
    for _ in range(nearby):
        inputs = moved(arrays, 2.0**-12)
        exact = caller.call(wide(inputs), numbers, wanted)
        for index, result in enumerate(caller.call(inputs, numbers, wanted)):
            lost = 2.0 * numpy.abs(result - exact[index].astype(numpy.float64))
            spread[index] = numpy.fmax(spread[index], lost)
    # An element's own steps may be small by chance; those of its array are not.
    spread = [numpy.fmax(one, 0.25 * numpy.nanmedian(one)) if one.size else one for one in spread]
    # A zero may be the difference of two equal products, of which a fused multiply-add rounds but one.
    sizes = [float(numpy.nanmax(numpy.abs(array))) for array in wider.values() if array.dtype.kind == "f" and array.size]
    least = 2.0**-27 * max(sizes, default=0.0)
    return [numpy.where(array == 0, numpy.fmax(one, least), one) for one, array in zip(spread, truth)]


class OneAfterTheOther:
    """While it lasts, NumPy adds float32 numbers one after the other, as a plain loop does, and not in pairs."""

    def __enter__(self):
        self.ours = {"sum": numpy.sum, "mean": numpy.mean}
        numpy.sum, numpy.mean = self.sum, self.mean

    def __exit__(self, *_):
        numpy.sum, numpy.mean = self.ours["sum"], self.ours["mean"]

    def sum(self, values, axis=None, *rest, keepdims=False, **others):
        known = isinstance(values, numpy.ndarray) and values.dtype == numpy.float32 and values.size
        if rest or others or not known or not (axis is None or isinstance(axis, int)):
            return self.ours["sum"](values, axis, *rest, keepdims=keepdims, **others)
        along = 0 if axis is None else axis
        if axis is None:
            shape = (1,) * values.ndim if keepdims else ()
            values = values.reshape(-1)
        total = numpy.add.accumulate(values, axis=along)
        total = numpy.take(total, [-1], axis=along)
        if axis is None:
            return total.reshape(shape)
        return total if keepdims else total.squeeze(along)

    def mean(self, values, axis=None, *rest, **others):
        known = isinstance(values, numpy.ndarray) and values.dtype == numpy.float32 and values.size
        if rest or not known or not (axis is None or isinstance(axis, int)) or set(others) - {"keepdims"}:
            return self.ours["mean"](values, axis, *rest, **others)
        count = values.size if axis is None else values.shape[axis]
        return self.sum(values, axis, **others) / numpy.float32(count)


def lost_in_turn(caller, arrays, numbers, wanted, native):
    """What a plain loop loses where NumPy adds in pairs: equal terms round the same way each time."""
    with OneAfterTheOther():
        results = caller.call(arrays, numbers, wanted)
    every = []
    for result, in_pairs in zip(results, native):
        in_pairs = in_pairs.astype(numpy.float64)
        lost = numpy.abs(result.astype(numpy.float64) - in_pairs)
        shares = lost[in_pairs != 0] / numpy.abs(in_pairs[in_pairs != 0])
        shares = shares[numpy.isfinite(shares)]
        # A term that differs in its last bit may round the other way: where one sum loses, its neighbours might.
        usual = numpy.quantile(shares, 0.9) if shares.size else 0.0
        every.append(numpy.fmax(lost, usual * numpy.abs(in_pairs)))
    return every


def solve(caller, request):
    folder = request["folder"]
    wanted = request["outputs"]
    numbers = request["numbers"]
    arrays = arrays_of(request)
    native = caller.call(arrays, numbers, wanted)
    facts = {"precision": "native", "fan_in": [1.0] * len(wanted)}
    floats = any(array.dtype.kind == "f" for array in arrays.values())
    truth, spread, in_turn = native, None, None
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
                    spread = moved_by_last_bits(caller, arrays, numbers, wanted, truth)
                    in_turn = lost_in_turn(caller, arrays, numbers, wanted, native)
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
            save("in_turn", index, in_turn[index])
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
                answer(ready=True)
            elif request.get("what") == "bind":
                answer(**bind(caller, request))
            elif request.get("what") == "sample":
                answer(**sample(caller, request))
            elif request.get("what") == "release":
                answer(released=caller.bound.pop(request["id"], None) is not None)
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


def become_a_worker(path):
    """Talks through one connection to the socket from now on, and prints into another."""
    global channel
    # A group of its own, so that its children end with it.
    os.setpgid(0, 0)
    talk, printed = socket.socket(socket.AF_UNIX), socket.socket(socket.AF_UNIX)
    talk.connect(path)
    printed.connect(path)
    os.dup2(talk.fileno(), 0)
    os.dup2(printed.fileno(), 1)
    os.dup2(printed.fileno(), 2)
    channel = os.fdopen(os.dup(0), "w", encoding="utf-8")
    # What the template had read ahead is not for this process.
    sys.stdin = os.fdopen(0, encoding="utf-8", closefd=False)


def be_a_template():
    """Returns in each copy; ends where the standard input does."""
    answer(ready=True)
    for line in sys.stdin:
        request = json.loads(line)
        if "reap" in request:
            answer(reaped=os.waitpid(request["reap"], 0)[1])
            continue
        copy = os.fork()
        if copy == 0:
            become_a_worker(request["socket"])
            return
        answer(forked=copy)
    sys.exit(0)


if sys.argv[1:] == ["template"]:
    be_a_template()
main()
