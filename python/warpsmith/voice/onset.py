"""Where sounds begin."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _native
from . import from_spectra, gpu
from .arguments import count, each, one_signal


def onset_strength(
    *,
    y: Any = None,
    sr: float = 22050,
    S: Any = None,
    hop_length: int = 512,
    n_fft: int = 2048,
    device: str | None = None,
) -> Any:
    """How much the level rises in every frame: the mean over mel bands of the rise in dB.

    `S` are levels of bands in dB in place of a signal, `(..., bands, frames)`.
    `device="cuda"` takes a float32 array on a GPU and leaves the result there.
    """
    sizes = count("sr", sr), count("n_fft", n_fft), count("hop_length", hop_length)
    if S is not None:
        if device not in (None, "cpu"):
            raise ValueError('device="cuda" takes signals')
        return from_spectra.rises(S, *sizes[1:])
    if gpu.computes_there(y, device):
        return gpu.compute(y, device, lambda place: _native.gpu_onset_strength(place, *sizes))
    return each(y, lambda signal: _native.onset_strength(signal, *sizes))


def onset_detect(
    *,
    y: Any = None,
    sr: float = 22050,
    onset_envelope: Any = None,
    hop_length: int = 512,
    units: str = "frames",
) -> np.ndarray:
    """The frames (or `units="samples"`, `"time"`) in which sounds begin, as librosa picks peaks.

    >>> import numpy as np
    >>> from warpsmith import voice
    >>> y = np.zeros(44100); y[22050:] = np.sin(np.arange(22050) / 5)
    >>> [round(float(t), 1) for t in voice.onset.onset_detect(y=y, units="time")]
    [1.0]
    """
    if onset_envelope is None:
        if y is None:
            raise ValueError("give the signal as `y` or its `onset_envelope`")
        onset_envelope = onset_strength(y=y, sr=sr, hop_length=hop_length)
    strength = one_signal(onset_envelope, "onset_envelope")
    rate, hop = count("sr", sr), count("hop_length", hop_length)
    found = np.array(_native.onset_frames(strength, rate, hop), np.int64)
    if units == "frames":
        return found
    if units == "samples":
        return found * hop
    if units == "time":
        return found * hop / rate
    raise ValueError(f"units = {units!r} cannot be used: 'frames', 'samples' and 'time' are known")
