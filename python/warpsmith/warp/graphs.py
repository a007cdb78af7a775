"""Graphs: work that is noted down once and done again on request; streams and events around it.

The CPU and a GPU's default stream do everything in order, so streams and events have nothing to wait for.
"""

from __future__ import annotations

import time
from itertools import groupby
from typing import Any, Callable, NamedTuple

from .. import _native
from .devices import Device, ScopedDevice, get_device, synchronize_device


class Step(NamedTuple):
    """Something to do."""

    do: Callable[[], None]
    #: The GPU that all of it is queued on; None where the host has a part in it.
    gpu: int | None = None
    #: The GPU's memory that it uses.
    storages: tuple[Any, ...] = ()
    #: What must have been done before the step is recorded, such as loading a kernel.
    prepare: Callable[[], None] | None = None


class Graph:
    """Launches and copies in the order in which they were noted down.

    What goes to a GPU without the host between is one CUDA graph, made when the graph is launched first.
    """

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self._parts: list[Part] | None = None

    def launch(self) -> None:
        if self._parts is None:
            self._parts = [Part(gpu, list(steps)) for gpu, steps in groupby(self.steps, lambda step: step.gpu)]
        for part in self._parts:
            part.launch()

    @property
    def cuda_graphs(self) -> list[Any]:
        """The CUDA graphs that it was made into; `len` of one says how many nodes it has."""
        return [part.recorded for part in self._parts or () if part.recorded is not None]


class Part:
    """Steps that follow each other on one GPU, or on the host."""

    def __init__(self, gpu: int | None, steps: list[Step]):
        self._gpu, self._steps = gpu, steps
        self._storages = list({id(one): one for step in steps for one in step.storages}.values())
        self.recorded: Any = None
        self._tried = gpu is None or len(steps) < 2

    def launch(self) -> None:
        for storage in self._storages:
            storage.flush()
        if not self._tried:
            self._tried = True
            self._record()
        if self.recorded is None:
            for step in self._steps:
                step.do()
            return
        self.recorded.launch()
        for storage in self._storages:
            storage.changed()

    def _record(self) -> None:
        assert self._gpu is not None
        for step in self._steps:
            if step.prepare is not None:
                step.prepare()

        def queue() -> None:
            for step in self._steps:
                step.do()

        self.recorded = _native.cuda_capture(self._gpu, queue)


_noting: list[Graph] = []


def do(
    step: Callable[[], None],
    gpu: int | None = None,
    storages: tuple[Any, ...] = (),
    prepare: Callable[[], None] | None = None,
) -> None:
    """Does a step now, or notes it down while a graph is captured."""
    if _noting:
        _noting[-1].steps.append(Step(step, gpu, storages, prepare))
    else:
        step()


def is_noting() -> bool:
    """Whether a graph is captured now."""
    return bool(_noting)


def capture_begin(*_: Any, **__: Any) -> None:
    _noting.append(Graph())


def capture_end(*_: Any, **__: Any) -> Graph:
    if not _noting:
        raise RuntimeError("capture_end without capture_begin")
    return _noting.pop()


def capture_launch(graph: Graph, stream: Any = None) -> None:
    if _noting:
        _noting[-1].steps += graph.steps
    else:
        graph.launch()


def _body(given: Any, named: dict[str, Any]) -> Callable[[], Any]:
    """What a graph or a function does; the function is noted down once where a graph is captured."""
    if isinstance(given, Graph):
        return given.launch
    if not callable(given):
        raise TypeError(f"the body must be a callable or a Graph, not {type(given).__name__}")
    if not _noting:
        return lambda: given(**named)
    capture_begin()
    try:
        given(**named)
    finally:
        graph = capture_end()
    return graph.launch


def _condition(condition: Any) -> Callable[[], bool]:
    from .arrays import array
    from .types import int32

    if not isinstance(condition, array) or condition.dtype is not int32 or condition.size < 1:
        raise TypeError("Condition must be a Warp array of int32 with a single element")
    return lambda: bool(condition.numpy().reshape(-1)[0])


def capture_if(condition: Any, on_true: Any = None, on_false: Any = None, stream: Any = None, **named: Any) -> None:
    """Does one of two things, by the number in `condition`, which the host reads when it comes to it."""
    holds = _condition(condition)
    bodies = [None if body is None else _body(body, named) for body in (on_false, on_true)]

    def choose() -> None:
        body = bodies[holds()]
        if body is not None:
            body()

    do(choose)


def capture_while(condition: Any, while_body: Any, stream: Any = None, **named: Any) -> None:
    """Does something again and again while the number in `condition` is not 0; the host reads it each time."""
    holds, body = _condition(condition), _body(while_body, named)

    def repeat() -> None:
        while holds():
            body()

    do(repeat)


class ScopedCapture:
    """Notes down what happens inside; `graph` has it afterwards."""

    def __init__(self, device: Any = None, stream: Any = None, **_: Any):
        get_device(device)
        self.graph: Graph | None = None

    def __enter__(self) -> ScopedCapture:
        capture_begin()
        return self

    def __exit__(self, *_: Any) -> None:
        self.graph = capture_end()


class Event:
    """A moment in a stream; with `enable_timing` it is recorded when everything before it has ended."""

    def __init__(self, device: Any = None, enable_timing: bool = False, **_: Any):
        self.device, self.seconds, self.timed = get_device(device), 0.0, enable_timing

    @property
    def is_complete(self) -> bool:
        return True


class Stream:
    """Work in order. All streams of a GPU are its default stream, so that they are in order with each other, too."""

    def __init__(self, device: Any = None, **_: Any):
        self.device: Device = get_device(device)

    is_complete = True
    is_capturing = False

    def record_event(self, event: Event | None = None) -> Event:
        event = event or Event(self.device)
        if event.timed:
            synchronize_device(self.device)
        event.seconds = time.perf_counter()
        return event

    def wait_event(self, event: Event) -> None:
        pass

    def wait_stream(self, other: Stream, event: Event | None = None) -> None:
        pass


_streams: dict[Device, Stream] = {}


def get_stream(device: Any = None) -> Stream:
    found = get_device(device)
    return _streams.setdefault(found, Stream(found))


def set_stream(stream: Stream, device: Any = None) -> None:
    get_device(device)


def record_event(event: Event | None = None) -> Event:
    return get_stream().record_event(event)


def wait_event(event: Event) -> None:
    pass


def wait_stream(other: Stream, event: Event | None = None) -> None:
    pass


def get_event_elapsed_time(start: Event, end: Event, synchronize: bool = True) -> float:
    """Milliseconds between two events."""
    return 1e3 * (end.seconds - start.seconds)


class ScopedStream:
    """Makes a stream's device the current one."""

    def __init__(self, stream: Stream | None, **_: Any):
        self.stream = stream or get_stream()

    def __enter__(self) -> Stream:
        self._device = ScopedDevice(self.stream.device)
        self._device.__enter__()
        return self.stream

    def __exit__(self, *_: Any) -> None:
        self._device.__exit__()
