"""Graphs: work that is noted down once and done again on request; streams and events around it.

The CPU and a GPU's default stream do everything in order, so streams and events have nothing to wait for.
"""

from __future__ import annotations

import time
from typing import Any, Callable

from .devices import Device, ScopedDevice, get_device, synchronize_device


class Graph:
    """Launches and copies in the order in which they were noted down."""

    def __init__(self) -> None:
        self.steps: list[Callable[[], None]] = []


_noting: list[Graph] = []


def do(step: Callable[[], None]) -> None:
    """Does a step now, or notes it down while a graph is captured."""
    if _noting:
        _noting[-1].steps.append(step)
    else:
        step()


def capture_begin(*_: Any, **__: Any) -> None:
    _noting.append(Graph())


def capture_end(*_: Any, **__: Any) -> Graph:
    if not _noting:
        raise RuntimeError("capture_end without capture_begin")
    return _noting.pop()


def capture_launch(graph: Graph, stream: Any = None) -> None:
    for step in graph.steps:
        do(step)


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
