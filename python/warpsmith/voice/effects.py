"""From sound to sound."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _native
from .arguments import count, each, signals


def time_stretch(
    y: Any, *, rate: float, n_fft: int = 2048, hop_length: int | None = None
) -> np.ndarray:
    """`y` at `rate` times its speed and at the same pitch, by a phase vocoder.

    >>> import numpy as np
    >>> from warpsmith import voice
    >>> voice.effects.time_stretch(np.sin(np.arange(8000) / 5), rate=2).shape
    (4000,)
    """
    size, hop = _sizes(n_fft, hop_length)
    return each(
        y,
        lambda signal: np.frombuffer(_native.time_stretch(signal, rate, size, hop), np.float32),
    )


def pitch_shift(
    y: Any,
    *,
    sr: float,
    n_steps: float,
    bins_per_octave: int = 12,
    n_fft: int = 2048,
    hop_length: int | None = None,
) -> np.ndarray:
    """`y`, `n_steps` steps of the octave higher and as long as before."""
    count("sr", sr)
    size, hop = _sizes(n_fft, hop_length)
    semitones = 12.0 * n_steps / count("bins_per_octave", bins_per_octave)
    return each(
        y,
        lambda signal: np.frombuffer(_native.pitch_shift(signal, semitones, size, hop), np.float32),
    )


def trim(
    y: Any, *, top_db: float = 60, frame_length: int = 2048, hop_length: int = 512
) -> tuple[np.ndarray, np.ndarray]:
    """`y` without what is `top_db` below its loudest frame at either end, and where that was.

    >>> import numpy as np
    >>> from warpsmith import voice
    >>> y = np.zeros(30000); y[10240:20480] = np.sin(np.arange(10240) / 5)
    >>> voice.effects.trim(y)[1].tolist()
    [9728, 21504]
    """
    signal = signals(y)
    if signal.ndim != 1:
        raise ValueError(f"y has {signal.ndim} dimensions; give one signal")
    sizes = count("frame_length", frame_length), count("hop_length", hop_length)
    start, end = _native.trim(signal.tobytes(), top_db, *sizes)
    return np.asarray(y)[start:end], np.array([start, end])


def preemphasis(y: Any, *, coef: float = 0.97, zi: Any = None) -> np.ndarray:
    """`y[n] − coef·y[n−1]`; the first sample continues the line through the first two."""
    signal = signals(y)
    if signal.shape[-1] < 2 and zi is None:
        raise ValueError("the signal has fewer than two samples; give `zi`")
    before = 2 * signal[..., :1] - signal[..., 1:2] if zi is None else np.asarray(zi, np.float32)
    out = signal.copy()
    out[..., 1:] -= np.float32(coef) * signal[..., :-1]
    out[..., :1] += before
    return out


def denoise(
    y: Any,
    *,
    sr: float,
    reduction_db: float = 20.0,
    margin_db: float = 2.0,
    noise: tuple[float, float] | None = None,
) -> np.ndarray:
    """`y` without its steady noise (Ephraim and Malah 1984).

    `noise` are seconds that hold nothing else, from and to; by default the quietest frames count.
    """
    rate = count("sr", sr)
    part = None if noise is None else (int(noise[0] * rate), int(noise[1] * rate))
    return each(
        y,
        lambda signal: np.frombuffer(
            _native.denoise(signal, rate, reduction_db, margin_db, part), np.float32
        ),
    )


def _sizes(n_fft: int, hop_length: int | None) -> tuple[int, int]:
    size = count("n_fft", n_fft)
    return size, max(1, size // 4) if hop_length is None else count("hop_length", hop_length)
