"""Signals that are made, companded and predicted."""

from __future__ import annotations

from typing import Any

import numpy as np

from .arguments import count, number, one_signal, signals
from .units import frames_to_samples, rate_of, time_to_samples

#: Steps of a quantised sample, at most.
_FINEST = 1 << 24


def clicks(
    *,
    times: Any = None,
    frames: Any = None,
    sr: float = 22050,
    hop_length: int = 512,
    click_freq: float = 1000.0,
    click_duration: float = 0.1,
    click: Any = None,
    length: int | None = None,
) -> np.ndarray:
    """A signal with a click at each of `times` in seconds, or at each of `frames`.

    >>> from warpsmith import voice
    >>> voice.clicks(times=[0.1], sr=8000, length=1600).shape
    (1600,)
    """
    if times is None and frames is None:
        raise ValueError("give the clicks' `times` or `frames`")
    if times is None:
        places = np.atleast_1d(frames_to_samples(frames, hop_length=hop_length))
    else:
        places = np.atleast_1d(time_to_samples(times, sr=sr))
    if click is None:
        seconds, pitch = number("click_duration", click_duration), number("click_freq", click_freq)
        if seconds <= 0 or pitch <= 0:
            raise ValueError("click_duration and click_freq are above 0")
        several = count("the click's samples", int(rate_of(sr) * seconds))
        at = np.arange(several)
        sound = np.logspace(0, -10, num=several, base=2.0) * np.sin(2 * np.pi * pitch / sr * at)
    else:
        sound = signals(click, "click")
    if length is None:
        if len(places) == 0:
            raise ValueError("there are no clicks; give the `length`")
        length = int(places.max()) + sound.shape[-1]
    made = np.zeros(sound.shape[:-1] + (count("length", length),), np.float32)
    for start in places[(places < length) & (places >= 0)]:
        kept = min(sound.shape[-1], length - start)
        made[..., start : start + kept] += sound[..., :kept]
    return made


def tone(
    frequency: float,
    *,
    sr: float = 22050,
    length: int | None = None,
    duration: float | None = None,
    phi: float | None = None,
) -> np.ndarray:
    """A cosine of `length` samples or `duration` seconds, from the phase `phi` (−π/2) on.

    >>> from warpsmith import voice
    >>> voice.tone(440, sr=8000, duration=0.5).shape
    (4000,)
    """
    at = np.arange(_samples(sr, length, duration))
    phase = -np.pi / 2 if phi is None else number("phi", phi)
    made: np.ndarray = np.cos(2 * np.pi * number("frequency", frequency) * at / sr + phase)
    return made


def chirp(
    *,
    fmin: float,
    fmax: float,
    sr: float = 22050,
    length: int | None = None,
    duration: float | None = None,
    linear: bool = False,
    phi: float | None = None,
) -> np.ndarray:
    """A cosine that goes from `fmin` to `fmax` Hz, by equal ratios or (`linear`) equal steps."""
    several = _samples(sr, length, duration)
    seconds = several / sr if duration is None else duration
    low, high = number("fmin", fmin), number("fmax", fmax)
    t = np.arange(several) / sr
    if linear:
        turns = low * t + (high - low) / (2 * seconds) * t**2
    elif low <= 0 or high <= 0:
        raise ValueError("fmin and fmax are above 0 unless linear=True")
    elif low == high:
        turns = low * t
    else:
        turns = low * seconds / np.log(high / low) * ((high / low) ** (t / seconds) - 1)
    phase = -np.pi / 2 if phi is None else number("phi", phi)
    made: np.ndarray = np.cos(2 * np.pi * turns + phase)
    return made


def mu_compress(x: Any, *, mu: float = 255, quantize: bool = True) -> np.ndarray:
    """Samples within full scale by the μ-law; with `quantize`, whole numbers around 0.

    >>> from warpsmith import voice
    >>> voice.mu_compress([0.0, 1.0, -1.0]).tolist()
    [0, 127, -128]
    """
    values = np.asarray(x)
    if number("mu", mu) <= 0 or (np.abs(values) > 1).any():
        raise ValueError("mu is above 0, and samples lie between -1 and 1")
    made = np.sign(values) * np.log1p(mu * np.abs(values)) / np.log1p(mu)
    if not quantize:
        return np.asarray(made)
    if mu > _FINEST:
        raise ValueError(f"mu = {mu} cannot be used: at most {_FINEST} steps")
    edges = np.linspace(-1, 1, num=int(1 + mu), endpoint=True)
    steps: np.ndarray = np.digitize(made, edges, right=True) - int(mu + 1) // 2
    return steps


def mu_expand(x: Any, *, mu: float = 255.0, quantize: bool = True) -> np.ndarray:
    """The inverse of `mu_compress`."""
    values = np.asarray(x, np.float64)
    if number("mu", mu) <= 0:
        raise ValueError("mu is above 0")
    if quantize:
        values = values * 2.0 / (1 + mu)
    if (np.abs(values) > 1).any():
        raise ValueError("values lie beyond full scale")
    made: np.ndarray = np.sign(values) / mu * (np.power(1 + mu, np.abs(values)) - 1)
    return made


def zero_crossings(
    y: Any,
    *,
    threshold: float = 1e-10,
    ref_magnitude: Any = None,
    pad: bool = True,
    zero_pos: bool = True,
    axis: int = -1,
) -> np.ndarray:
    """Whether the sign of each sample differs from that of the sample before.

    >>> from warpsmith import voice
    >>> voice.zero_crossings([1.0, -1.0, -2.0, 3.0], pad=False).tolist()
    [False, True, False, True]
    """
    values = np.moveaxis(np.asarray(y), axis, -1)
    least = 0.0 if threshold is None else number("threshold", threshold)
    if callable(ref_magnitude):
        least *= float(ref_magnitude(np.abs(values)))
    elif ref_magnitude is not None:
        least *= number("ref_magnitude", ref_magnitude)
    quiet = np.where(np.abs(values) <= least, 0, values)
    signs = np.signbit(quiet) if zero_pos else np.sign(quiet)
    found = np.ones(values.shape, bool)
    found[..., 1:] = signs[..., 1:] != signs[..., :-1]
    found[..., :1] = pad
    return np.moveaxis(found, -1, axis)


def autocorrelate(y: Any, *, max_size: int | None = None, axis: int = -1) -> np.ndarray:
    """The sums of products of a signal with itself, 0, 1, 2 … samples later."""
    values = np.moveaxis(np.asarray(y), axis, -1)
    several = values.shape[-1]
    kept = several if max_size is None else min(count("max_size", max_size), several)
    if several == 0:
        raise ValueError("the signal is empty")
    size = 1 << (2 * several - 2).bit_length()
    if np.iscomplexobj(values):
        found: np.ndarray = np.fft.ifft(np.abs(np.fft.fft(values, size)) ** 2)
    else:
        found = np.fft.irfft(np.abs(np.fft.rfft(values, size)) ** 2, size)
    return np.moveaxis(found[..., :kept].astype(values.dtype, copy=False), -1, axis)


def lpc(y: Any, *, order: int) -> np.ndarray:
    """Linear prediction of one signal by Burg's method: `1, a[1], …, a[order]`.

    >>> import numpy as np
    >>> from warpsmith import voice
    >>> a = voice.lpc(0.9 ** np.arange(200.0), order=1)
    >>> bool(abs(a[1] + 0.995) < 0.01)
    True
    """
    signal = one_signal(y).astype(np.float64)
    steps = count("order", order)
    if len(signal) <= steps:
        raise ValueError(f"a signal of {len(signal)} samples is too short for order = {steps}")
    filter_ = np.array([1.0])
    forward, backward = signal[1:], signal[:-1]
    for _ in range(steps):
        power = forward @ forward + backward @ backward
        reflection = -2 * (backward @ forward) / (power + np.finfo(np.float64).tiny)
        longer = np.append(filter_, 0.0)
        filter_ = longer + reflection * longer[::-1]
        forward, backward = (
            (forward + reflection * backward)[1:],
            (backward + reflection * forward)[:-1],
        )
    return filter_.astype(np.float32)


def _samples(sr: float, length: int | None, duration: float | None) -> int:
    if length is not None:
        return count("length", length)
    if duration is None:
        raise ValueError("give the `length` in samples or the `duration` in seconds")
    return count("the samples of the duration", int(number("duration", duration) * rate_of(sr)))
