"""The fundamental frequency."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _native
from .arguments import beyond, count, each, signals


def yin(
    y: Any,
    *,
    fmin: float,
    fmax: float,
    sr: float = 22050,
    frame_length: int = 2048,
    hop_length: int | None = None,
    trough_threshold: float = 0.1,
    center: bool = True,
    pad_mode: str = "constant",
) -> np.ndarray:
    """The fundamental frequency of every frame, Hz (de Cheveigné and Kawahara 2002).

    >>> import numpy as np
    >>> from warpsmith import voice
    >>> y = np.sin(2 * np.pi * 220 * np.arange(16000) / 16000)
    >>> bool(abs(np.median(voice.yin(y, fmin=65, fmax=800, sr=16000)) - 220) < 0.5)
    True
    """
    hop = _hop(frame_length, hop_length)
    sizes = (fmin, fmax), count("frame_length", frame_length), hop, beyond(center, pad_mode)
    rate = count("sr", sr)
    return each(
        y,
        lambda signal: np.frombuffer(
            _native.yin(signal, rate, *sizes, trough_threshold), np.float32
        ),
    )


def pyin(
    y: Any,
    *,
    fmin: float,
    fmax: float,
    sr: float = 22050,
    frame_length: int = 2048,
    hop_length: int | None = None,
    fill_na: float | None = np.nan,
    center: bool = True,
    pad_mode: str = "constant",
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Frequency, voicing and its probability of every frame (Mauch and Dixon 2014).

    Unvoiced frames have the frequency `fill_na`; with `None`, that of the best path.

    >>> import numpy as np
    >>> from warpsmith import voice
    >>> y = np.sin(2 * np.pi * 220 * np.arange(16000) / 16000)
    >>> f0, voiced, probability = voice.pyin(y, fmin=65, fmax=800, sr=16000)
    >>> bool(voiced.mean() > 0.9)
    True
    """
    hop = _hop(frame_length, hop_length)
    sizes = (fmin, fmax), count("frame_length", frame_length), hop, beyond(center, pad_mode)
    rate = count("sr", sr)

    def compute(signal: bytes) -> np.ndarray:
        hertz, voiced, probability = _native.pyin(signal, rate, *sizes)
        track = np.empty((3, len(voiced)), np.float32)
        track[0] = np.frombuffer(hertz, np.float32)
        track[1] = np.frombuffer(voiced, np.uint8)
        track[2] = np.frombuffer(probability, np.float32)
        return track

    track = each(y, compute)
    f0, voiced = track[..., 0, :].copy(), track[..., 1, :] > 0
    if fill_na is not None:
        f0[~voiced] = fill_na
    return f0, voiced, track[..., 2, :].copy()


def pitch(
    y: Any,
    *,
    sr: float,
    method: str = "hq",
    fmin: float = 65.0,
    fmax: float = 800.0,
    hop_length: int | None = None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Times (s), frequencies (Hz, NaN where unvoiced) and how sure they are, of one signal.

    `praat` is Praat's autocorrelation (Boersma 1993), `swipe` is SWIPE' (Camacho 2007), `hq` is
    the most accurate, in noise and vibrato too. Frames are 10 ms apart unless `hop_length` says
    otherwise.

    >>> import numpy as np
    >>> from warpsmith import voice
    >>> y = np.sin(2 * np.pi * 220 * np.arange(16000) / 16000)
    >>> times, hertz, confidence = voice.pitch(y, sr=16000)
    >>> bool(abs(np.nanmedian(hertz) - 220) < 0.5)
    True
    """
    signal, rate = signals(y), count("sr", sr)
    if signal.ndim != 1:
        raise ValueError(f"y has {signal.ndim} dimensions; give one signal")
    hop = max(1, rate // 100) if hop_length is None else count("hop_length", hop_length)
    seconds, hertz, sure = _native.pitch(signal.tobytes(), rate, (fmin, fmax), hop, method)
    found = np.frombuffer(hertz, np.float32)
    found[found == 0] = np.nan
    return np.array(seconds), found, np.frombuffer(sure, np.float32)


def _hop(frame_length: int, hop_length: int | None) -> int:
    return max(1, frame_length // 4) if hop_length is None else count("hop_length", hop_length)
