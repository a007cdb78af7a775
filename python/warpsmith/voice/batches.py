"""Many signals of any lengths, on all cores."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Callable, Iterable

from .. import _native
from ..arrays import is_on_gpu
from . import gpu
from .arguments import count


def batch(
    function: Callable[..., Any],
    signals: Iterable[Any],
    *arguments: Any,
    workers: int | None = None,
    **options: Any,
) -> list[Any]:
    """What `function` makes of every signal, in their order, on all cores.

    Signals may have any lengths; nothing is padded. `function` is one of this package, or one of
    your own that calls them: the work happens outside the interpreter's lock. The signal is its
    first argument, or `y`. Each result is, bit for bit, that of the signal on its own. An error says
    which signal it is about, counted from 0: a `ValueError` in its message, others in a note
    (Python 3.11). Ctrl-C ends the work of all threads.

    With `device="cuda"`, signals on a GPU go to one of this package's functions together, so that
    short ones fill the GPU, too.

    >>> import numpy as np
    >>> from warpsmith import voice
    >>> clips = [np.sin(np.arange(n) / 5) for n in (16000, 8000, 20000)]
    >>> [m.shape for m in voice.batch(voice.feature.mfcc, clips, sr=16000, n_mfcc=13)]
    [(13, 32), (13, 16), (13, 40)]
    >>> [m.shape for m in voice.batch(voice.mel, clips, 16000, preset="whisper")]
    [(80, 100), (80, 50), (80, 125)]
    """
    threads = os.cpu_count() or 1 if workers is None else count("workers", workers)
    by_name = _takes_y_by_name(function)
    if options.get("device") not in (None, "cpu"):
        signals = list(signals)
        ours = str(getattr(function, "__module__", "")).startswith(__package__ + ".")
        if ours and signals and all(is_on_gpu(signal) for signal in signals):
            several = gpu.Several(signals)
            if by_name:
                return list(function(*arguments, y=several, **options))
            return list(function(several, *arguments, **options))
    stop = _native.StopSign()

    def compute(numbered: tuple[int, Any]) -> Any:
        number, signal = numbered
        try:
            if by_name:
                return function(*arguments, y=signal, **options)
            return function(signal, *arguments, **options)
        except Exception as error:
            if type(error) is ValueError:
                raise ValueError(f"signal {number}: {error}") from error
            # Another class may need more than a message.
            if hasattr(error, "add_note"):
                error.add_note(f"while working on signal {number} of the batch")
            raise

    pool = ThreadPoolExecutor(threads, "warpsmith-voice", stop.watch)
    try:
        return list(pool.map(compute, enumerate(signals)))
    except BaseException:
        stop.raise_()
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _takes_y_by_name(function: Callable[..., Any]) -> bool:
    code = getattr(function, "__code__", None)
    if code is None:
        return False
    named = code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount]
    return code.co_argcount == 0 and "y" in named
