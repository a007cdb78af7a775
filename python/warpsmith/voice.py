"""Audio features with the numbers of a named peer, over NumPy arrays."""

from __future__ import annotations

from os import PathLike

import numpy as np

from . import _native


def _signal(signal: np.ndarray) -> bytes:
    array = np.ascontiguousarray(signal, dtype=np.float32)
    if array.ndim != 1:
        raise ValueError(f"the signal has {array.ndim} dimensions; give one channel")
    return array.tobytes()


def load(path: str | PathLike[str]) -> tuple[np.ndarray, int]:
    """The mean of a file's channels, and its sample rate: WAV, FLAC, MP3, OGG, AIFF or M4A."""
    data, rate = _native.read_audio(path)
    return np.frombuffer(data, np.float32), rate


def _features(
    signal: np.ndarray,
    rate: int,
    preset: str,
    stage: str,
    coefficients: int,
    transform: int | None,
    hop: int | None,
    filters: int | None,
) -> np.ndarray:
    data, frames, rows = _native.features(
        _signal(signal), rate, preset, stage, coefficients, transform, hop, filters
    )
    return np.frombuffer(data, np.float32).reshape(frames, rows)


def mel(
    signal: np.ndarray,
    rate: int,
    *,
    preset: str = "librosa",
    log: bool = True,
    transform: int | None = None,
    hop: int | None = None,
    filters: int | None = None,
) -> np.ndarray:
    """Mel powers or their logarithms, frames by filters, as `preset` computes them.

    >>> import numpy as np
    >>> from warpsmith import voice
    >>> tone = np.sin(2 * np.pi * 440 * np.arange(16000) / 16000)
    >>> voice.mel(tone, 16000, filters=80).shape[1]
    80
    """
    stage = "log-mel" if log else "mel"
    return _features(signal, rate, preset, stage, 0, transform, hop, filters)


def mfcc(
    signal: np.ndarray,
    rate: int,
    *,
    coefficients: int = 20,
    preset: str = "librosa",
    transform: int | None = None,
    hop: int | None = None,
    filters: int | None = None,
) -> np.ndarray:
    """Cepstral coefficients, frames by coefficients, as `preset` computes them."""
    return _features(signal, rate, preset, "cepstrum", coefficients, transform, hop, filters)


def _frame(rate: int, low: float, frame: int | None) -> int:
    if frame is not None:
        return frame
    # Two periods of the lowest frequency, a power of two.
    return max(1024, 1 << int(np.ceil(np.log2(2 * rate / max(low, 1.0) + 2))))


def yin(
    signal: np.ndarray,
    rate: int,
    *,
    low: float = 65.0,
    high: float = 2093.0,
    frame: int | None = None,
    hop: int | None = None,
    threshold: float = 0.1,
) -> np.ndarray:
    """The fundamental frequency of every frame, in hertz, as librosa's `yin` finds it.

    >>> import numpy as np
    >>> from warpsmith import voice
    >>> tone = np.sin(2 * np.pi * 220 * np.arange(16000) / 16000)
    >>> bool(abs(np.median(voice.yin(tone, 16000)) - 220) < 0.5)
    True
    """
    length = _frame(rate, low, frame)
    data = _native.yin(_signal(signal), rate, low, high, length, hop or rate // 100, threshold)
    return np.frombuffer(data, np.float32)


def pyin(
    signal: np.ndarray,
    rate: int,
    *,
    low: float = 65.0,
    high: float = 2093.0,
    frame: int | None = None,
    hop: int | None = None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Frequency, voicing and its probability of every frame, as librosa's `pyin` finds them."""
    length = _frame(rate, low, frame)
    frequency, voiced, probability = _native.pyin(
        _signal(signal), rate, low, high, length, hop or rate // 100
    )
    return (
        np.frombuffer(frequency, np.float32),
        np.frombuffer(voiced, np.uint8).astype(bool),
        np.frombuffer(probability, np.float32),
    )
