"""Levels, companding and mixing, with torchaudio's arguments and numbers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..arguments import count, number
from .checks import floats, sound
from .filtering import highpass_biquad, treble_biquad
from .tensors import tensors


@tensors
def amplitude_to_DB(
    x: Any, multiplier: float, amin: float, db_multiplier: float, top_db: float | None = None
) -> Any:
    """`multiplier·log10(max(x, amin)) − multiplier·db_multiplier`, within `top_db` of the largest.

    The largest is that of all channels; from four dimensions on, that of each item of the batch.

    >>> from warpsmith.voice.torchaudio import functional
    >>> functional.amplitude_to_DB([[1.0, 0.1, 0.0]], 10, 1e-10, 0.0, top_db=80).tolist()
    [[0.0, -10.0, -80.0]]
    """
    values = floats(x, "x", 0)
    scale, least = number("multiplier", multiplier), number("amin", amin)
    if least <= 0:
        raise ValueError(f"amin = {amin} cannot be used: it must be above 0")
    levels = scale * np.log10(np.maximum(values, values.dtype.type(least)))
    levels -= values.dtype.type(scale * number("db_multiplier", db_multiplier))
    if top_db is not None and levels.size:
        range_db = number("top_db", top_db)
        channels = values.shape[-3] if values.ndim > 2 else 1
        packed = levels.reshape((-1, channels) + levels.shape[-2:])
        largest = packed.max(axis=(1, 2, 3), keepdims=True)
        levels = np.maximum(packed, largest - values.dtype.type(range_db)).reshape(values.shape)
    return levels


@tensors
def DB_to_amplitude(x: Any, ref: float, power: float) -> Any:
    """`ref · 10^(x / 10)` to `power`: 1 gives powers, 0.5 amplitudes."""
    values = floats(x, "x", 0)
    found = number("ref", ref) * np.power(np.power(10.0, 0.1 * values), number("power", power))
    return np.asarray(found, values.dtype)


@tensors
def gain(waveform: Any, gain_db: float = 1.0) -> Any:
    """A signal that is `gain_db` louder."""
    signal = floats(waveform)
    return signal * signal.dtype.type(10 ** (number("gain_db", gain_db) / 20))


@tensors
def mu_law_encoding(x: Any, quantization_channels: int) -> Any:
    """Samples within full scale as whole numbers from 0 to below `quantization_channels`.

    >>> from warpsmith.voice.torchaudio import functional
    >>> functional.mu_law_encoding([-1.0, 0.0, 1.0], 256).tolist()
    [0, 128, 255]
    """
    values = floats(x, "x", 0)
    if not np.isfinite(values).all():
        raise ValueError("x holds a value that is not finite")
    mu = values.dtype.type(count("quantization_channels", quantization_channels, 2) - 1)
    made = np.sign(values) * np.log1p(mu * np.abs(values)) / np.log1p(mu)
    return ((made + 1) / 2 * mu + values.dtype.type(0.5)).astype(np.int64)


@tensors
def mu_law_decoding(x_mu: Any, quantization_channels: int) -> Any:
    """The inverse of `mu_law_encoding`."""
    values = np.asarray(x_mu)
    if values.dtype.kind not in "iuf":
        raise ValueError(f"x_mu holds {values.dtype}; numbers are needed")
    values = values if values.dtype.kind == "f" else values.astype(np.float32)
    mu = values.dtype.type(count("quantization_channels", quantization_channels, 2) - 1)
    made = values / mu * 2 - 1
    return np.asarray(np.sign(made) * np.expm1(np.abs(made) * np.log1p(mu)) / mu)


@tensors
def contrast(waveform: Any, enhancement_amount: float = 75.0) -> Any:
    """A signal that sounds louder (SoX's `contrast`), 0 to 100."""
    amount = number("enhancement_amount", enhancement_amount)
    if not 0 <= amount <= 100:
        raise ValueError(f"enhancement_amount = {amount:g} cannot be used: it goes from 0 to 100")
    turned = floats(waveform) * (math.pi / 2)
    return np.sin(turned + amount / 750 * np.sin(turned * 4))


@tensors
def dcshift(waveform: Any, shift: float, limiter_gain: float | None = None) -> Any:
    """A signal moved up or down, within full scale; `limiter_gain` bends peaks before they are cut.

    The argument is left as it is; torchaudio writes into it where `limiter_gain` is given.
    """
    signal, by = floats(waveform), number("shift", shift)
    moved = np.clip(signal + signal.dtype.type(by), -1, 1)
    if limiter_gain is None or by == 0:
        return moved
    share = number("limiter_gain", limiter_gain)
    knee = 1 - (abs(by) - share)
    if knee == 1:
        raise ValueError("shift and limiter_gain are equal: there is no room above the knee")
    bent = (signal - math.copysign(knee, by)) * share / (1 - knee)
    if by > 0:
        return np.where(signal > knee, np.minimum(bent + knee + by, knee), moved)
    return np.where(signal < -knee, np.maximum(bent - knee + by, -knee), moved)


@tensors
def add_noise(waveform: Any, noise: Any, snr: Any, lengths: Any = None) -> Any:
    """A signal with noise that is `snr` dB below it, one number to a signal.

    `lengths` are the samples of each signal that count.
    """
    signal, other, ratio = floats(waveform), floats(noise, "noise"), np.asarray(snr)
    if not signal.ndim == other.ndim == ratio.ndim + 1 or signal.shape[-1] != other.shape[-1]:
        raise ValueError(
            f"waveform, noise and snr have shapes {signal.shape}, {other.shape} and {ratio.shape}; "
            "signals and noise of one length, and one snr to a signal, are needed"
        )
    counted = np.ones(signal.shape[-1], bool)
    if lengths is not None:
        counted = np.arange(signal.shape[-1]) < np.asarray(lengths)[..., None]
    with np.errstate(divide="ignore", invalid="ignore"):
        powers = [np.sum(np.square(part * counted), axis=-1) for part in (signal, other)]
        had = 10 * (np.log10(powers[0]) - np.log10(powers[1]))
        scale = 10 ** ((had - ratio) / 20)
    mixed: np.ndarray = signal + np.asarray(scale)[..., None] * other
    return mixed.astype(signal.dtype)


@tensors
def loudness(waveform: Any, sample_rate: int) -> Any:
    """The loudness of `(…, channels, samples)` in LKFS (ITU-R BS.1770-4), with torchaudio's filters.

    They clip at full scale and suit any rate roughly; `voice.loudness` has BS.1770's own.
    """
    signal, rate = sound(waveform), count("sample_rate", sample_rate)
    if signal.ndim < 2 or signal.shape[-2] > 5:
        raise ValueError(f"waveform has shape {signal.shape}; up to 5 channels are needed")
    block = round(0.4 * rate)
    step = round(block * 0.25)
    if signal.shape[-1] < block:
        raise ValueError(f"the signal has {signal.shape[-1]} samples; 0.4 s or more are needed")
    weighted = treble_biquad(signal, rate, 4.0, 1500.0, 1 / math.sqrt(2))
    weighted = highpass_biquad(weighted, rate, 38.0, 0.5)
    blocks = np.lib.stride_tricks.sliding_window_view(np.square(weighted), block, axis=-1)
    energy = blocks[..., ::step, :].mean(axis=-1, dtype=np.float64)
    weights = np.array([1, 1, 1, 1.41, 1.41])[: energy.shape[-2]]

    def level(power: np.ndarray) -> np.ndarray:
        found: np.ndarray = -0.691 + 10 * np.log10(power)
        return found

    def gated(kept: np.ndarray) -> np.ndarray:
        mean = (kept[..., None, :] * energy).sum(-1) / np.count_nonzero(kept, axis=-1)[..., None]
        return level((weights * mean).sum(-1))

    with np.errstate(divide="ignore", invalid="ignore"):
        momentary = level((weights[:, None] * energy).sum(-2))
        audible = momentary > -70
        relative = gated(audible) - 10
        return gated(audible & (momentary > relative[..., None])).astype(signal.dtype)
