"""Where a call runs: on the CPU, or on the GPU that PyTorch or CuPy use now.

Work on a GPU is timed on the current stream of the library that queued it. Neither library is imported
here: what the caller has not imported, the caller does not use.
"""

from __future__ import annotations

import sys
import threading
import time
from typing import Any, Callable

from . import _native


class CpuClock:
    """The monotonic clock around a call."""

    name = "cpu"

    def time(self, call: Callable[[], Any]) -> float:
        start = time.perf_counter_ns()
        call()
        return (time.perf_counter_ns() - start) * 1e-9

    def time_many(self, call: Callable[[], Any], count: int) -> list[float]:
        clock = time.perf_counter_ns
        stamps = [clock()]
        for _ in range(count):
            call()
            stamps.append(clock())
        return [(b - a) * 1e-9 for a, b in zip(stamps, stamps[1:])]

    def wait(self) -> None:
        pass


class EventClock:
    """Device events on the library's current stream.

    Events of a group are queued without waiting in between: a host that is slower than the device
    leaves gaps between calls, never inside one.
    """

    def __init__(
        self,
        name: str,
        event: Callable[[], Any],
        seconds: Callable[[Any, Any], float],
        wait: Callable[[], None],
    ):
        self.name = name
        self._event = event
        self._seconds = seconds
        self._wait = wait
        self._pairs: list[tuple[Any, Any]] = []

    def time(self, call: Callable[[], Any]) -> float:
        return self.time_many(call, 1)[0]

    def time_many(self, call: Callable[[], Any], count: int) -> list[float]:
        # Made once and used again: making an event costs as much as recording one.
        while len(self._pairs) < count:
            self._pairs.append((self._event(), self._event()))
        pairs = self._pairs[:count]
        for start, stop in pairs:
            start.record()
            call()
            stop.record()
        self._wait()
        return [self._seconds(start, stop) for start, stop in pairs]

    def wait(self) -> None:
        self._wait()


_timers = threading.local()


def _kept_timers() -> dict[tuple[int, bool], _native.GpuTimer]:
    kept: dict[tuple[int, bool], _native.GpuTimer] = _timers.__dict__.setdefault("kept", {})
    return kept


def _timer_of(key: tuple[int, bool]) -> _native.GpuTimer:
    """This thread's timer of a GPU, cold or not. It is made once: two timers know their own cost to some 30 ns, and
    repeats of a call would differ by that. A cold one keeps as much memory as the L2 cache has."""
    kept = _kept_timers()
    if key not in kept:
        kept[key] = _native.GpuTimer(*key)
    kept[key].renew()
    return kept[key]


class HeldClock(EventClock):
    """The program's own GPU timer: a kernel holds the current stream until start, call and stop are queued,
    so that what the host takes to queue them is not in the time; cold, the L2 cache is flushed before."""

    def __init__(self, events: EventClock, gpu: int, stream: Callable[[], int], mode: str):
        super().__init__(events.name, events._event, events._seconds, events._wait)
        self.mode = mode
        self._stream = stream
        self._key = (gpu, mode == "cold")
        self._timer = _timer_of(self._key)

    def time_many(self, call: Callable[[], Any], count: int) -> list[float]:
        try:
            return self._timer.time_many(self._stream(), count, call)
        except BaseException:
            # A call that ends the context ends the timer.
            _kept_timers().pop(self._key, None)
            raise

    @property
    def unheld(self) -> int:
        """Samples whose calls waited for themselves: the host's time is in them."""
        return self._timer.unheld

    @property
    def overhead(self) -> float:
        """Seconds that are taken off every sample."""
        return self._timer.overhead


def torch_clock(torch: Any, mode: str = "events") -> EventClock:
    events = EventClock(
        torch.cuda.get_device_name(),
        lambda: torch.cuda.Event(enable_timing=True),
        lambda start, stop: start.elapsed_time(stop) * 1e-3,
        torch.cuda.synchronize,
    )
    if mode == "events":
        return events
    stream = lambda: int(torch.cuda.current_stream().cuda_stream)  # noqa: E731
    return HeldClock(events, int(torch.cuda.current_device()), stream, mode)


def cupy_clock(cupy: Any, mode: str = "events") -> EventClock:
    events = EventClock(
        cupy.cuda.runtime.getDeviceProperties(cupy.cuda.Device().id)["name"].decode(),
        cupy.cuda.Event,
        lambda start, stop: cupy.cuda.get_elapsed_time(start, stop) * 1e-3,
        lambda: cupy.cuda.get_current_stream().synchronize(),
    )
    if mode == "events":
        return events
    stream = lambda: int(cupy.cuda.get_current_stream().ptr)  # noqa: E731
    return HeldClock(events, int(cupy.cuda.Device().id), stream, mode)


def clock_for(device: str, values: Any = (), mode: str = "events") -> CpuClock | EventClock:
    """The clock that fits `device`: "cpu", "cuda", or "auto" (a GPU where an argument lies on one).

    A callable that owns its tensors, such as a module, shows them by `parameters()`. On a GPU, `mode` is
    "cold" or "warm" (the held timer), or "events" (two events around the call).
    """
    if mode not in ("cold", "warm", "events"):
        raise ValueError(f"mode is {mode!r}; it is 'cold', 'warm' or 'events'")
    torch, cupy = sys.modules.get("torch"), sys.modules.get("cupy")
    if device == "cpu":
        return CpuClock()
    if device == "cuda":
        if torch is not None and torch.cuda.is_available():
            return torch_clock(torch, mode)
        if cupy is not None:
            return cupy_clock(cupy, mode)
        raise RuntimeError(
            "device='cuda' needs PyTorch with a GPU, or CuPy, imported by the caller"
        )
    if device != "auto":
        raise ValueError(f"device is {device!r}; it is 'auto', 'cpu' or 'cuda'")
    for value in values:
        if torch is not None and _on_torch_gpu(torch, value):
            return torch_clock(torch, mode)
        if cupy is not None and isinstance(value, cupy.ndarray):
            return cupy_clock(cupy, mode)
    return CpuClock()


def _on_torch_gpu(torch: Any, value: Any) -> bool:
    if isinstance(value, torch.Tensor):
        return bool(value.is_cuda)
    if isinstance(value, torch.nn.Module):
        return any(parameter.is_cuda for parameter in value.parameters())
    if isinstance(value, (list, tuple)):
        return any(_on_torch_gpu(torch, part) for part in value)
    owner = getattr(value, "__self__", None)
    return isinstance(owner, torch.nn.Module) and _on_torch_gpu(torch, owner)
