"""Speech in a recording: where it is, how loud the recording is, the resonances of the voice."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .. import _native
from .arguments import count, each, signals

#: Seconds between decisions about speech.
HOP_SECONDS = 0.01


class Loudness(NamedTuple):
    """Loudness over all channels (ITU-R BS.1770-4, EBU Tech 3341 and 3342); NaN is absent."""

    integrated_lufs: float
    range_lu: float
    momentary_max_lufs: float
    short_term_max_lufs: float
    true_peak_dbtp: float


def loudness(y: Any, *, sr: float) -> Loudness:
    """The loudness of a signal, or of `(channels, samples)` together.

    >>> import numpy as np
    >>> from warpsmith import voice
    >>> tone = np.sin(2 * np.pi * 997 * np.arange(96000) / 48000)
    >>> round(voice.loudness(tone, sr=48000).integrated_lufs, 1)
    -3.0
    """
    array = signals(y)
    if array.ndim > 2:
        raise ValueError(f"y has {array.ndim} dimensions; give (channels, samples)")
    channels = 1 if array.ndim == 1 else array.shape[0]
    return Loudness(*_native.loudness(array.tobytes(), channels, count("sr", sr)))


def vad(
    y: Any,
    *,
    sr: float,
    method: str = "statistical",
    aggressiveness: int = 2,
    margin_db: float = 6.0,
) -> np.ndarray:
    """Whether there is speech, for every 10 ms.

    `statistical` compares the bands of the whole signal with its noise, `periodicity` looks for the
    pitch of a voice, `energy` compares levels with the noise of the last seconds (`margin_db`),
    `webrtc` decides bit for bit as webrtcvad does (`aggressiveness` 0 to 3).
    """
    rate = count("sr", sr)
    return each(
        y,
        lambda signal: np.frombuffer(
            _native.speech(signal, rate, method, aggressiveness, margin_db), np.uint8
        ).astype(bool),
    )


def segments(y: Any, *, sr: float, **how: Any) -> np.ndarray:
    """Start and end of every stretch of speech in one signal, seconds, `(stretches, 2)`.

    `how` are the choices of `vad`.
    """
    decisions = vad(y, sr=sr, **how)
    if decisions.ndim != 1:
        raise ValueError("give one signal")
    found = _native.speech_segments(decisions.astype(np.uint8).tobytes(), HOP_SECONDS)
    return np.array(found, np.float64).reshape(-1, 2)


def formants(
    y: Any,
    *,
    sr: float,
    n_formants: int = 5,
    fmax: float = 5500.0,
    window_seconds: float = 0.025,
    hop_seconds: float = 0.01,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Times (s), frequencies and bandwidths (Hz) of resonances below `fmax`, as Praat finds them.

    The matrices are `(n_formants, frames)`; NaN where a frame has fewer.
    """
    signal, kept = signals(y), count("n_formants", n_formants)
    if signal.ndim != 1:
        raise ValueError(f"y has {signal.ndim} dimensions; give one signal")
    seconds, hertz, width = _native.formants(
        signal.tobytes(), count("sr", sr), kept, fmax, window_seconds, hop_seconds
    )
    shape = kept, len(seconds)
    return (
        np.array(seconds),
        np.frombuffer(hertz, np.float32).reshape(shape),
        np.frombuffer(width, np.float32).reshape(shape),
    )
