"""A recording in a few numbers."""

from __future__ import annotations

from typing import Any

from .. import _native
from .arguments import count, one_signal, signals


def analyze(y: Any, *, sr: float) -> dict[str, Any]:
    """A recording at a glance: length, level, loudness, speech and pitch.

    Of `(channels, samples)`, levels are those of all channels, speech and pitch those of their mean.
    What is absent, such as the pitch of silence, is None; `speech` are start and end in seconds.

    >>> import numpy as np
    >>> from warpsmith import voice
    >>> found = voice.analyze(np.sin(2 * np.pi * 220 * np.arange(16000) / 16000), sr=16000)
    >>> found["seconds"], round(found["pitch_median_hz"])
    (1.0, 220)
    """
    array = signals(y)
    if array.ndim > 2:
        raise ValueError(f"y has {array.ndim} dimensions; give (channels, samples)")
    return _native.analyze(array, count("sr", sr))


def egemaps(y: Any, *, sr: float) -> dict[str, float]:
    """One voice in the 88 numbers of eGeMAPS (Eyben and others 2016), by their names.

    Names, order, units and numbers are those of openSMILE's eGeMAPSv02 (docs/benchmarks/egemaps.md).
    Other rates than 16 kHz are resampled.

    >>> import numpy as np
    >>> from warpsmith import voice
    >>> tone = np.sin(2 * np.pi * 220 * np.arange(16000) / 16000)
    >>> found = voice.egemaps(tone, sr=16000)
    >>> len(found), round(found["F0semitoneFrom27.5Hz_sma3nz_amean"])
    (88, 36)
    """
    return _native.egemaps(one_signal(y), count("sr", sr))
