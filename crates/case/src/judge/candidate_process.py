"""Runs candidates for Warpsmith's judge: a warm process that forks a child for each of them.

The warm process imports what candidates need and never runs a line of theirs. A child connects to the
judge, shuts itself in, loads one candidate and answers calls. It holds inputs, one call at a time, and
never an expected output, a seed or a verdict: those stay with the judge. What a child says about itself
is evidence against the candidate, never for it.
"""

import gc
import importlib.util
import inspect
import os
import signal
import socket
import sys
import sysconfig
import time
import traceback

STANDARD = sysconfig.get_paths()["stdlib"]
SPYING = {
    "sys._getframe": "frames", "sys._current_frames": "frames", "gc.get_objects": "objects",
    "gc.get_referrers": "objects", "sys.settrace": "tracing", "sys.setprofile": "tracing",
    "sys.monitoring.register_callback": "tracing", "sys.addaudithook": "tracing",
}
REACHING = {
    "os.fork": "process", "os.forkpty": "process", "os.posix_spawn": "process", "os.exec": "process",
    "subprocess.Popen": "process", "os.system": "process", "os.spawn": "process", "pty.spawn": "process",
    "socket.__new__": "network", "socket.connect": "network", "socket.getaddrinfo": "network",
    "socket.gethostbyname": "network", "urllib.Request": "network", "os.kill": "signal", "os.killpg": "signal",
    "signal.pthread_kill": "signal", "os.remove": "delete", "os.rmdir": "delete", "shutil.rmtree": "delete",
    "os.rename": "delete", "os.truncate": "delete", "os.chmod": "delete", "os.chown": "delete",
}


class Wrong(Exception):
    """What does not fit the task, in words for the author of the candidate."""


def replaced_later():
    """Objects that a judge in the same process would rest on, each with the way to it."""
    import builtins

    modules = {"builtins": builtins, "time": time, "sys": sys, "os": os, "gc": gc, "socket": socket}
    names = {
        "builtins": ["isinstance", "type", "len", "print", "open", "abs", "max", "min", "sum", "all", "any", "id",
                     "__import__", "getattr", "compile", "exec"],
        "time": ["perf_counter", "perf_counter_ns", "monotonic", "monotonic_ns", "time", "time_ns", "process_time",
                 "process_time_ns", "thread_time", "thread_time_ns", "sleep"],
        "sys": ["modules", "exit", "getsizeof"],
        "os": ["write", "read", "_exit"],
        "socket": ["socket"],
    }
    for name in ("numpy", "torch", "torch.cuda", "torch.testing"):
        if name in sys.modules:
            modules[name] = sys.modules[name]
    names["numpy"] = ["allclose", "isclose", "array_equal", "array", "asarray", "copyto", "abs", "max", "all", "any",
                      "subtract", "isnan", "frombuffer", "ndarray", "empty", "zeros", "float64", "float32"]
    names["torch"] = ["allclose", "isclose", "equal", "Tensor", "from_numpy", "rand", "randn", "empty"]
    names["torch.cuda"] = ["Event", "synchronize", "current_stream", "Stream", "is_available"]
    names["torch.testing"] = ["assert_close"]
    guarded = [(name, module, one, vars(module).get(one)) for name, module in modules.items()
               for one in names.get(name, ()) if one in vars(module)]
    if "torch" in sys.modules:
        torch = sys.modules["torch"]
        event = getattr(torch.cuda, "Event", None)
        guarded += [("torch.cuda.Event", event, one, vars(event).get(one))
                    for one in ("record", "elapsed_time", "synchronize", "query") if event and one in vars(event)]
        guarded += [("torch.Tensor", torch.Tensor, one, vars(torch.Tensor).get(one))
                    for one in ("__eq__", "__sub__", "__array__", "allclose", "cpu", "data_ptr", "clone", "copy_")]
    whole = [(name, module) for name, module in modules.items() if name in sys.modules]
    table = sys.modules

    def changed():
        found = [f"{name}.{one}" for name, module, one, value in guarded if vars(module).get(one) is not value]
        found += [f"sys.modules[{name!r}]" for name, module in whole if table.get(name) is not module]
        if sys.modules is not table:
            found.append("sys.modules")
        return found

    return changed


class Watch:
    """What the candidate's own lines do that a candidate has no need of."""

    def __init__(self, file, private, hidden):
        self.file, self.private, self.hidden = file, private, hidden
        self.seen, self.on = [], False
        frame_of, realpath = sys._getframe, os.path.realpath
        spying, reaching, standard = SPYING, REACHING, STANDARD
        writing = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC

        def whose(depth):
            """The candidate's line behind an event, where nothing but the standard library is between."""
            try:
                frame = frame_of(depth)
            except ValueError:
                return None
            for _ in range(6):
                if frame is None:
                    return None
                name = frame.f_code.co_filename
                if name == self.file:
                    return frame.f_lineno
                if not name.startswith(standard) or "importlib" in name:
                    return None
                frame = frame.f_back
            return None

        def note(kind, line, what):
            if len(self.seen) < 64:
                self.seen.append({"kind": kind, "line": line, "what": what[:200]})

        busy = []

        def hook(event, arguments):
            if not self.on or busy:
                return
            kind = spying.get(event)
            if kind is not None:
                busy.append(1)
                # Directly, or through `inspect`: libraries look at frames for their own reasons.
                frame = frame_of(1)
                near = frame.f_code.co_filename
                if near == self.file or (near.endswith("inspect.py") and whose(2) is not None):
                    note(kind, whose(2), event)
                busy.clear()
                return
            kind = reaching.get(event)
            if kind is not None:
                busy.append(1)
                line = whose(2)
                target = arguments[0] if arguments else ""
                inside = kind == "delete" and self.inside(target, realpath)
                if line is not None and not inside:
                    note(kind, line, f"{event} {target!r}" if kind in ("delete", "process") else event)
                busy.clear()
            elif event == "open" and isinstance(arguments[0], (str, bytes)):
                busy.append(1)
                path = realpath(os.fsdecode(arguments[0]))
                flags = arguments[2] if len(arguments) > 2 and isinstance(arguments[2], int) else 0
                if path in self.hidden:
                    note("reference", whose(2), f"open {path!r}")
                elif flags & writing and not self.inside(path, realpath) and not path.startswith("/dev/"):
                    line = whose(2)
                    if line is not None:
                        note("file", line, f"open {path!r} for writing")
                busy.clear()
            elif event == "import" and arguments[0] in self.names():
                busy.append(1)
                line = whose(2) or line_of(frame_of(1), self.file)
                if line is not None:
                    note("reference", line, f"import {arguments[0]}")
                busy.clear()

        sys.addaudithook(hook)

    def names(self):
        return {os.path.basename(path).rpartition(".")[0] for path in self.hidden}

    def inside(self, path, realpath):
        try:
            return realpath(os.fsdecode(path)).startswith(self.private + os.sep)
        except TypeError:
            return True


def line_of(frame, file):
    """The candidate's line that an import came from, through the machinery of imports."""
    for _ in range(12):
        if frame is None:
            return None
        if frame.f_code.co_filename == file:
            return frame.f_lineno
        frame = frame.f_back
    return None


def forbid(names, called):
    """Puts a counter in front of every function that the task forbids; operators are seen by torch alone."""
    import functools

    for full in names:
        module_name, _, name = full.rpartition(".")
        module = sys.modules.get(module_name)
        if module is None or not hasattr(module, name):
            continue
        inner = getattr(module, name)

        def counted(*args, _inner=inner, _name=full, **kwargs):
            called.add(_name)
            return _inner(*args, **kwargs)

        try:
            functools.update_wrapper(counted, inner)
        except (AttributeError, TypeError):
            pass
        setattr(module, name, counted)


class Arrays:
    """Arrays as the candidate takes them, and results as bytes; everything bound before it was loaded."""

    def __init__(self, device):
        import numpy

        self.numpy, self.device = numpy, device
        self.ndarray, self.dtype = numpy.ndarray, numpy.dtype
        self.frombuffer, self.empty, self.copyto = numpy.frombuffer, numpy.empty, numpy.copyto
        self.contiguous, self.asarray = numpy.ascontiguousarray, numpy.asarray
        self.torch = torch = sys.modules.get("torch")
        if torch is not None:
            base = torch._C.TensorBase
            self.Tensor, self.Parameter = torch.Tensor, torch.nn.Parameter
            self.detach, self.to_numpy, self.is_contiguous = base.detach, base.numpy, base.is_contiguous
            self.make_contiguous, self.cast, self.is_cuda = base.contiguous, base.to, base.is_cuda.__get__
            self.from_numpy, self.tensor_dtype = torch.from_numpy, base.dtype.__get__
            self.address, self.layout_of = base.data_ptr, base.layout.__get__
            self.copy_into, self.bfloat16, self.strided = base.copy_, torch.bfloat16, torch.strided
            self.float32, self.host = torch.float32, torch.device("cpu")

    def host_array(self, one, data, at):
        """A fresh array with bytes of the payload."""
        dtype = self.dtype(one["descr"])
        count = 1
        for extent in one["shape"]:
            count *= extent
        array = self.empty(one["shape"], dtype)
        flat = self.frombuffer(data, dtype, count, at) if count else self.empty(0, dtype)
        self.copyto(array.reshape(-1), flat)
        return array

    def as_given(self, array, tensors):
        if not tensors:
            return array
        tensor = self.from_numpy(array)
        return tensor.to(self.device) if self.device else tensor

    def plain(self, value):
        """The result as an array of the host, and the bytes of memory that it lies in."""
        kind = type(value)
        if self.torch is not None and isinstance(value, self.Tensor):
            if kind is not self.Tensor and kind is not self.Parameter:
                raise Lazy(f"{kind.__module__}.{kind.__qualname__}")
            if self.layout_of(value) is not self.strided:
                raise Wrong("the result is a sparse tensor")
            value = self.detach(value)
            if self.tensor_dtype(value) is self.bfloat16:
                value = self.cast(value, self.float32)
            start = self.address(value)
            host = self.to_numpy(self.cast(value, self.host) if self.is_cuda(value) else value)
            return host, (start, start + max(host.nbytes, 1))
        if kind is self.ndarray:
            start = value.__array_interface__["data"][0]
            # Strides may be negative; the lowest byte is what counts.
            low = start + sum(min(0, (n - 1) * s) for n, s in zip(value.shape, value.strides) if n)
            high = start + sum(max(0, (n - 1) * s) for n, s in zip(value.shape, value.strides) if n) + value.itemsize
            return value, (low, high)
        if isinstance(value, self.ndarray):
            raise Lazy(f"{kind.__module__}.{kind.__qualname__}")
        if kind in (int, float, bool) or isinstance(value, (self.numpy.number, self.numpy.bool_)):
            return self.asarray(value), (0, 0)
        if kind in (list, tuple):
            try:
                return self.asarray(value), (0, 0)
            except (TypeError, ValueError):
                raise Wrong("the result is a list that is no array") from None
        if hasattr(value, "get") and kind.__module__.startswith("cupy"):
            host = value.get()
            return host, (value.data.ptr, value.data.ptr + max(host.nbytes, 1))
        if hasattr(kind, "__array__") or hasattr(kind, "__getattr__"):
            raise Lazy(f"{kind.__module__}.{kind.__qualname__}")
        raise Wrong(f"the result is of type {kind.__qualname__}, an array expected")

    def finished(self, array, wanted):
        """The result's bytes in the type that is expected."""
        expected = self.dtype(wanted["descr"])
        shape = tuple(wanted["shape"])
        count = 1
        for extent in shape:
            count *= extent
        if array.shape != shape and not (array.size == 1 and count == 1):
            raise Wrong(f"`{wanted['name']}` has the shape {list(array.shape)}, expected {list(shape)}")
        if array.dtype.kind not in "fiub":
            raise Wrong(f"`{wanted['name']}` has the type {array.dtype}, {expected} expected")
        if array.dtype != expected:
            if array.dtype.kind == "f" and expected.kind != "f":
                raise Wrong(f"`{wanted['name']}` has the type {array.dtype}, {expected} expected")
            if array.dtype.kind == "f" and array.dtype.itemsize < expected.itemsize:
                raise Narrow(f"`{wanted['name']}` has the type {array.dtype}, {expected} expected")
            with self.numpy.errstate(all="ignore"):
                array = array.astype(expected)
        return self.contiguous(array).tobytes()


class Lazy(Exception):
    """The result is no plain array, but something that may compute when it is looked at."""


class Narrow(Exception):
    """The result has fewer bits than the task gives it."""


class Candidate:
    def __init__(self, request, arrays, watch):
        self.arrays, self.watch = arrays, watch
        self.form, self.device = request["form"], request.get("device")
        self.path = request["path"]
        spec = importlib.util.spec_from_file_location("candidate", self.path)
        module = importlib.util.module_from_spec(spec)
        sys.modules["candidate"] = module
        spec.loader.exec_module(module)
        self.module = module
        entry = request["entry"]
        if not hasattr(module, entry):
            names = [name for name, value in vars(module).items() if callable(value)
                     and getattr(value, "__module__", "candidate") == "candidate"]
            raise Wrong(f"there is no `{entry}`; there are {', '.join(names) or 'no functions'}")
        self.function = getattr(module, entry)
        space = vars(module)
        self.tensors = self.form == "model" or (
            "torch" in space and "numpy" not in space and "np" not in space)
        self.names = None
        if self.form == "function":
            self.parameters = self.named_parameters()
        self.kept, self.buffers = None, {}

    def named_parameters(self):
        try:
            parameters = inspect.signature(self.function).parameters.values()
        except (TypeError, ValueError):
            return None
        if any(one.kind is one.VAR_KEYWORD for one in parameters):
            return None
        return {one.name: one.default is one.empty for one in parameters if one.kind is not one.VAR_POSITIONAL}

    def construct(self, request, data):
        """A KernelBench model, with the reference's weights where its own have the same names."""
        import ast

        torch = self.arrays.torch
        torch.manual_seed(request["seed"])
        model = self.function(*ast.literal_eval(request["init"]))
        weights, at = {}, 0
        for one in request["weights"]:
            array = self.arrays.host_array(one, data, at)
            at += array.nbytes
            weights[one["name"]] = torch.from_numpy(array)
        own = model.state_dict()
        with torch.no_grad():
            for name, value in weights.items():
                if name in own and own[name].shape == value.shape:
                    own[name].copy_(value)
        if request.get("wide"):
            model = model.double()
        self.function = model.to(self.device) if self.device else model
        self.forward = model

    def inputs(self, request, data):
        """The inputs of a call: in new arrays, or in those of the last call of the same shapes."""
        given, at, arrays = [], 0, self.arrays
        for index, one in enumerate(request["inputs"]):
            if "value" in one:
                given.append((one["name"], one["value"], None))
                continue
            key = (index, one["descr"], tuple(one["shape"]))
            fresh = arrays.host_array(one, data, at)
            at += fresh.nbytes
            known = self.buffers.get(key) if request["place"] == "same" else None
            if known is None:
                value = arrays.as_given(fresh, self.tensors)
            else:
                value, old = known
                if arrays.torch is not None and isinstance(value, arrays.Tensor) and arrays.is_cuda(value):
                    arrays.copy_into(value, arrays.from_numpy(fresh))
                else:
                    arrays.copyto(old, fresh)
                    fresh = old
            self.buffers[key] = (value, fresh)
            given.append((one["name"], value, fresh))
        return given


def serve(frames, candidate, arrays, called, forbidden, clock, collect, enable):
    """Answers calls until the judge hangs up."""
    plain, finished = arrays.plain, arrays.finished
    modes = None
    if forbidden and arrays.torch is not None:
        from torch.utils._python_dispatch import TorchDispatchMode

        class Ops(TorchDispatchMode):
            def __torch_dispatch__(self, function, types, args=(), kwargs=None):
                called.add(str(function).partition(".default")[0])
                return function(*args, **(kwargs or {}))

        modes = Ops
    on_gpu = gpu_call(arrays, candidate) if candidate.device == "cuda" and candidate.tensors else None
    last = []
    while True:
        request, data = frames.receive()
        late = any(raw() != sent for raw, sent in last)
        if request["op"] == "look":
            frames.send({"nonce": request["nonce"], "late": late})
            continue
        last.clear()
        if request["op"] == "finish":
            frames.send({"nonce": request["nonce"], "late": late, "seen": candidate.watch.seen,
                         "replaced": candidate.watch.replaced(), "called": sorted(called)})
            continue
        answer = {"nonce": request["nonce"], "late": late}
        try:
            given = candidate.inputs(request, data)
            before = [None if array is None else array.tobytes() for _, _, array in given]
            poisoned, call = arguments(candidate, arrays, request, given)
            collect()
            candidate.watch.on = True
            if request["watched"] and modes is not None:
                with modes():
                    start = clock()
                    result = call()
                    stop = clock()
            elif on_gpu is not None:
                result, start, stop, answer["leftover_ns"] = on_gpu(call)
            else:
                start = clock()
                result = call()
                stop = clock()
            candidate.watch.on = False
            enable()
            parts, places = [], []
            for one, value in zip(request["outputs"], results(result, request["outputs"], poisoned)):
                array, place = plain(value)
                raw = finished(array, one)
                parts.append(raw)
                places.append(place)
                last.append((lambda value=value, one=one: finished(plain(value)[0], one), raw))
            answer["ns"] = stop - start
            answer["changed"] = [
                name for (name, value, array), old in zip(given, before)
                if array is not None and now(arrays, value, array) != old
            ]
            answer["aliases"] = [
                name for name, value, array in given if array is not None
                for place in [plain(value)[1]]
                if any(place[0] < high and low < place[1] for low, high in places)
            ]
            # A result that lies in an input changes with the next one: that is no late work.
            if answer["aliases"]:
                last.clear()
            answer["outputs"] = [len(part) for part in parts]
            frames.send(answer, parts)
            del result, given, poisoned, call
        except Lazy as error:
            frames.send({**answer, "lazy": str(error)})
        except Narrow as error:
            frames.send({**answer, "narrow": str(error)})
        except Wrong as error:
            frames.send({**answer, "misfit": str(error)})
        except MemoryError:
            frames.send({**answer, "memory": True})
        except BaseException as error:  # noqa: BLE001 (whatever it raises is its own)
            candidate.watch.on = False
            frames.send({**answer, **described(error, candidate.path), "seen": candidate.watch.seen})
        finally:
            candidate.watch.on = False


def now(arrays, value, array):
    """What an input holds after the call."""
    if arrays.torch is not None and isinstance(value, arrays.Tensor) and arrays.is_cuda(value):
        return plain_bytes(arrays, value)
    return array.tobytes()


def plain_bytes(arrays, value):
    return arrays.contiguous(arrays.plain(value)[0]).tobytes()


def arguments(candidate, arrays, request, given):
    """The call with everything in place, and outputs that the candidate is to fill."""
    function = candidate.function
    if candidate.form == "model":
        values = [value for _, value, _ in given]
        torch = arrays.torch

        def call():
            with torch.no_grad():
                return function(*values)

        return {}, call
    named = {name: value for name, value, _ in given}
    named.update(request["numbers"])
    poisoned = {}
    parameters = candidate.parameters
    for one in request["outputs"]:
        if parameters is not None and one["name"] in parameters and one["name"] not in named:
            # The byte differs from call to call: what was not written is seen.
            array = arrays.empty(one["shape"], arrays.dtype(one["descr"]))
            array.reshape(-1).view("u1")[...] = request["poison"]
            poisoned[one["name"]] = named[one["name"]] = arrays.as_given(array, candidate.tensors)
    if parameters is not None:
        missing = [name for name, needed in parameters.items() if needed and name not in named]
        if missing:
            raise Wrong(f"it takes `{missing[0]}`, which is no argument of the case; there are {', '.join(named)}")
        named = {name: value for name, value in named.items() if name in parameters}
    return poisoned, lambda: function(**named)


def results(result, wanted, poisoned):
    names = [one["name"] for one in wanted]
    if result is None and poisoned:
        missing = [name for name in names if name not in poisoned]
        if missing:
            raise Wrong(f"it returns nothing, and takes no `{missing[0]}` to write to")
        return [poisoned[name] for name in names]
    if result is None:
        raise Wrong("it returns nothing; return the outputs")
    if type(result) is dict:
        missing = [name for name in names if name not in result]
        if missing:
            raise Wrong(f"its result has no `{missing[0]}`")
        return [result[name] for name in names]
    if type(result) in (tuple, list) and len(names) > 1:
        if len(result) != len(names):
            raise Wrong(f"it returns {len(result)} results for {len(names)} outputs")
        return list(result)
    if len(names) > 1:
        raise Wrong(f"it returns one result for the outputs {', '.join(names)}")
    if type(result) in (tuple, list) and len(result) == 1:
        return [result[0]]
    return [result]


def gpu_call(arrays, candidate):
    """Times a call on the GPU: the inputs come into being behind a held stream, so that work on another
    stream reads what is not there yet; what still runs after the stop is measured, by the GPU's own clock:
    the third event is recorded once every stream is empty."""
    torch = arrays.torch
    events = [torch.cuda.Event(enable_timing=True) for _ in range(3)]
    event = type(events[0])
    record, elapsed, wait = event.record, event.elapsed_time, event.synchronize
    synchronize, hold = torch.cuda.synchronize, torch.cuda._sleep
    flush = torch.empty(256 << 20, dtype=torch.uint8, device="cuda")
    fill = type(flush).fill_

    def call_timed(call):
        staged = [(value, arrays.torch.clone(value)) for value, _ in candidate.buffers.values()
                  if isinstance(value, arrays.Tensor) and arrays.is_cuda(value)]
        for value, _ in staged:
            arrays.torch.zero_(value) if value.dtype is torch.bool else fill(value, 0)
        fill(flush, 1)
        synchronize()
        hold(2_000_000)
        for value, pristine in staged:
            arrays.copy_into(value, pristine)
        record(events[0])
        result = call()
        record(events[1])
        synchronize()
        record(events[2])
        wait(events[2])
        nanoseconds, leftover = (int(elapsed(*events[at:at + 2]) * 1e6) for at in range(2))
        return result, 0, nanoseconds, leftover

    return call_timed


def described(error, path):
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == path]
    line = lines[-1] if lines else None
    if isinstance(error, SyntaxError) and error.filename == path:
        line = error.lineno
    text = f"{type(error).__name__}: {error}"
    return {"raised": text[:2000], "line": line, "memory": isinstance(error, MemoryError)}


def child(request, address):
    os.setsid()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    streams = []
    for kind in ("answers", "printed"):
        stream = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        stream.connect(address)
        stream.sendall((json_dumps({"token": request["token"], "kind": kind}) + "\n").encode())
        streams.append(stream)
    answers, printed = streams
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(printed.fileno(), 1)
    os.dup2(printed.fileno(), 2)
    printed.close()
    os.close(nothing)
    private = os.path.realpath(request["folder"])
    os.chdir(private)
    for name in ("HOME", "TMPDIR", "TRITON_CACHE_DIR", "TORCH_EXTENSIONS_DIR", "XDG_CACHE_HOME", "NUMBA_CACHE_DIR",
                 "CUPY_CACHE_DIR"):
        os.environ[name] = private
    import tempfile

    tempfile.tempdir = None
    frames = Frames(answers.recv, answers.sendall)
    device = request.get("device")
    arrays = Arrays(device)
    if device == "cuda" and arrays.torch is not None:
        # Opens the driver's files while that is allowed: without Landlock nothing is written to later.
        arrays.torch.empty(1, device="cuda")
    limit(request["memory"] if device != "cuda" else None, request["file_bytes"])
    writable = [private, "/dev/null"]
    if device == "cuda":
        writable += [f"/dev/{name}" for name in os.listdir("/dev") if name.startswith("nvidia")]
        writable += ["/dev/shm", "/proc/self/task"]
    readable = ["/usr", "/lib", "/lib64", "/bin", "/etc", "/opt", "/proc", "/sys", "/dev", sys.prefix,
                sys.base_prefix, *[path for path in sys.path if path], *request["readable"]]
    protection = {"files": "none", "network": "none", "processes": "none", "memory": "rlimit"}
    if not request["trusted"]:
        protection = enclose(readable, writable, request["processes"], device == "cuda")
    frames.send({"ready": True, "protection": protection})
    called = set()
    changed = replaced_later()
    forbid(request["forbid"], called)
    # Counters stand where functions stood: what the candidate changes is compared with that.
    changed = replaced_later() if request["forbid"] else changed
    watch = Watch(request["path"], private, set(request["hidden"]))
    watch.replaced = changed
    if request["beside"]:
        sys.path.insert(0, request["beside"])
    # What is taken here is out of reach: this module's own name leads elsewhere from now on.
    clock, collect, enable = time.perf_counter_ns, gc.disable, gc.enable
    sys.modules["__main__"] = type(sys)("__main__")
    start = time.perf_counter()
    try:
        watch.on = not request["trusted"]
        candidate = Candidate(request, arrays, watch)
        if request["form"] == "model":
            setup, data = frames.receive()
            candidate.construct(setup, data)
        watch.on = False
        if request["processes"] and not request["trusted"]:
            # Compilers were allowed until here.
            watch.seen[:] = [one for one in watch.seen if one["kind"] != "process"]
            no_more_processes()
        frames.send({"loaded": True, "seconds": time.perf_counter() - start})
    except Wrong as error:
        frames.send({"misfit": str(error), "seen": watch.seen})
        return
    except BaseException as error:  # noqa: BLE001 (whatever it raises is its own)
        watch.on = False
        frames.send({**described(error, request["path"]), "seen": watch.seen})
        return
    serve(frames, candidate, arrays, called, bool(request["forbid"]), clock, collect, enable)


def main():
    settings = json_loads(sys.argv[1])
    sys.path[:] = [path for path in sys.path if path]
    for name in settings["modules"]:
        try:
            importlib.import_module(name)
        except ModuleNotFoundError:
            # A candidate that cannot do without says so itself, with its line.
            if name == "numpy":
                raise
    # Warm now what every child would warm for itself.
    import numpy.linalg  # noqa: F401
    import numpy.random  # noqa: F401
    import tempfile  # noqa: F401
    import threading  # noqa: F401

    gc.collect()
    gc.freeze()
    print(json_dumps({"ready": True, "version": sys.version.split()[0]}), flush=True)
    for line in sys.stdin:
        request = json_loads(line)
        if "fork" in request:
            pid = os.fork()
            if pid == 0:
                code = 1
                try:
                    child(request["fork"], settings["socket"])
                    code = 0
                except EOFError:
                    code = 0
                except BaseException:  # noqa: BLE001 (the judge sees the end, and what was printed)
                    traceback.print_exc()
                finally:
                    os._exit(code)
            print(json_dumps({"pid": pid}), flush=True)
        else:
            _, status = os.waitpid(request["reap"], 0)
            print(json_dumps({"status": status}), flush=True)


import json  # noqa: E402

json_loads, json_dumps = json.loads, json.dumps
main()
