"""Recursive filters and convolutions, with torchaudio's arguments.

Sums are formed in double precision, where torchaudio's are in the signal's.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ... import _native
from ..arguments import each, number
from .checks import one_of, sound
from .tensors import tensors


@tensors
def lfilter(
    waveform: Any, a_coeffs: Any, b_coeffs: Any, clamp: bool = True, batching: bool = True
) -> Any:
    """`Σ a[i]·y[n−i] = Σ b[i]·x[n−i]`; with `clamp`, within full scale.

    Coefficients of shape `(filters, order + 1)` belong to the channels, or with `batching=False`
    each filters the signal: `(…, filters, samples)`.

    >>> from warpsmith.voice.torchaudio import functional
    >>> functional.lfilter([1.0, 0.0, 0.0], [1.0, -0.5], [1.0, 0.0]).tolist()
    [1.0, 0.5, 0.25]
    """
    signal = sound(waveform)
    a, b = np.asarray(a_coeffs, np.float64), np.asarray(b_coeffs, np.float64)
    if a.shape != b.shape or a.ndim not in (1, 2) or a.size == 0:
        raise ValueError(
            f"a_coeffs and b_coeffs have shapes {a.shape} and {b.shape}; one shape of one or two "
            "dimensions is needed"
        )
    if a.ndim == 1:
        return _filtered(signal, a, b, clamp)
    if not batching:
        signal = np.stack([signal] * len(a), axis=-2)
    elif signal.ndim < 2 or signal.shape[-2] != len(a):
        raise ValueError(
            f"waveform has shape {signal.shape} and there are {len(a)} filters; give as many "
            "channels, or batching=False"
        )
    rows = [_filtered(signal[..., n, :], a[n], b[n], clamp) for n in range(len(a))]
    return np.stack(rows, axis=-2)


def _filtered(signal: np.ndarray, a: np.ndarray, b: np.ndarray, clamp: bool) -> np.ndarray:
    back, forth = a.tolist(), b.tolist()
    found = each(signal, lambda row: _native.lfilter(row, back, forth, bool(clamp)))
    return found.astype(signal.dtype, copy=False)


@tensors
def filtfilt(waveform: Any, a_coeffs: Any, b_coeffs: Any, clamp: bool = True) -> Any:
    """A filter forwards and then backwards, so that no frequency is delayed."""
    forth = lfilter(waveform, a_coeffs, b_coeffs, False)
    back = lfilter(np.ascontiguousarray(forth[..., ::-1]), a_coeffs, b_coeffs, clamp)
    return back[..., ::-1]


@tensors
def biquad(
    waveform: Any, b0: float, b1: float, b2: float, a0: float, a1: float, a2: float
) -> Any:
    """A filter of second order, within full scale."""
    return lfilter(waveform, [float(a0), float(a1), float(a2)], [float(b0), float(b1), float(b2)])


def _turn(sample_rate: float, frequency: Any, Q: Any) -> tuple[float, float, float]:
    """Cosine, sine and `alpha` of Bristow-Johnson's Audio EQ Cookbook."""
    rate, hertz = number("sample_rate", sample_rate), number("the frequency", frequency)
    quality = number("Q", Q)
    if rate <= 0 or quality <= 0:
        raise ValueError(f"sample_rate = {sample_rate}, Q = {Q}: both must be above 0")
    angle = 2 * math.pi * hertz / rate
    return math.cos(angle), math.sin(angle), math.sin(angle) / 2 / quality


def _lift(gain: Any) -> float:
    """The root of a gain in dB."""
    if abs(number("gain", gain)) > 1000:
        raise ValueError(f"gain = {gain} dB cannot be used: at most 1000 dB either way")
    return float(10 ** (gain / 40))


def lowpass_biquad(
    waveform: Any, sample_rate: int, cutoff_freq: float, Q: float = 0.707
) -> Any:
    """Frequencies below `cutoff_freq` Hz (Bristow-Johnson's Audio EQ Cookbook)."""
    cosine, _, alpha = _turn(sample_rate, cutoff_freq, Q)
    b = (1 - cosine) / 2
    return biquad(waveform, b, 2 * b, b, 1 + alpha, -2 * cosine, 1 - alpha)


def highpass_biquad(
    waveform: Any, sample_rate: int, cutoff_freq: float, Q: float = 0.707
) -> Any:
    """Frequencies above `cutoff_freq` Hz."""
    cosine, _, alpha = _turn(sample_rate, cutoff_freq, Q)
    b = (1 + cosine) / 2
    return biquad(waveform, b, -2 * b, b, 1 + alpha, -2 * cosine, 1 - alpha)


def allpass_biquad(
    waveform: Any, sample_rate: int, central_freq: float, Q: float = 0.707
) -> Any:
    """All frequencies, delayed differently around `central_freq` Hz."""
    cosine, _, alpha = _turn(sample_rate, central_freq, Q)
    return biquad(
        waveform, 1 - alpha, -2 * cosine, 1 + alpha, 1 + alpha, -2 * cosine, 1 - alpha
    )


def bandpass_biquad(
    waveform: Any,
    sample_rate: int,
    central_freq: float,
    Q: float = 0.707,
    const_skirt_gain: bool = False,
) -> Any:
    """Frequencies around `central_freq` Hz, with a gain of 1 there, or of `Q`."""
    cosine, sine, alpha = _turn(sample_rate, central_freq, Q)
    b = sine / 2 if const_skirt_gain else alpha
    return biquad(waveform, b, 0.0, -b, 1 + alpha, -2 * cosine, 1 - alpha)


def bandreject_biquad(
    waveform: Any, sample_rate: int, central_freq: float, Q: float = 0.707
) -> Any:
    """All frequencies but those around `central_freq` Hz."""
    cosine, _, alpha = _turn(sample_rate, central_freq, Q)
    return biquad(waveform, 1.0, -2 * cosine, 1.0, 1 + alpha, -2 * cosine, 1 - alpha)


def band_biquad(
    waveform: Any,
    sample_rate: int,
    central_freq: float,
    Q: float = 0.707,
    noise: bool = False,
) -> Any:
    """Frequencies around `central_freq` Hz, as SoX's `band`; `noise` is its way for noise."""
    cosine, _, _ = _turn(sample_rate, central_freq, Q)
    a2 = math.exp(-2 * math.pi * central_freq / Q / sample_rate)
    if not 1e-12 < a2 < 1:
        raise ValueError(f"central_freq = {central_freq}, Q = {Q}: the band must lie within the rate")
    a1 = -4 * a2 / (1 + a2) * cosine
    b0 = math.sqrt(1 - a1 * a1 / (4 * a2)) * (1 - a2)
    if noise:
        b0 = math.sqrt(((1 + a2) ** 2 - a1 * a1) * (1 - a2) / (1 + a2))
    return biquad(waveform, b0, 0.0, 0.0, 1.0, a1, a2)


def equalizer_biquad(
    waveform: Any, sample_rate: int, center_freq: float, gain: float, Q: float = 0.707
) -> Any:
    """Frequencies around `center_freq` Hz `gain` dB louder."""
    cosine, _, alpha = _turn(sample_rate, center_freq, Q)
    up = _lift(gain)
    return biquad(
        waveform,
        1 + alpha * up,
        -2 * cosine,
        1 - alpha * up,
        1 + alpha / up,
        -2 * cosine,
        1 - alpha / up,
    )


def bass_biquad(
    waveform: Any, sample_rate: int, gain: float, central_freq: float = 100, Q: float = 0.707
) -> Any:
    """Frequencies below `central_freq` Hz `gain` dB louder."""
    cosine, _, alpha = _turn(sample_rate, central_freq, Q)
    return _shelf(waveform, cosine, alpha, _lift(gain))


def treble_biquad(
    waveform: Any, sample_rate: int, gain: float, central_freq: float = 3000, Q: float = 0.707
) -> Any:
    """Frequencies above `central_freq` Hz `gain` dB louder."""
    cosine, _, alpha = _turn(sample_rate, central_freq, Q)
    return _shelf(waveform, -cosine, alpha, _lift(gain), -1)


def _shelf(waveform: Any, cosine: float, alpha: float, up: float, side: int = 1) -> Any:
    """A shelf below, or with the cosine turned round and `side` −1 above, a frequency."""
    slope, low, high = 2 * math.sqrt(up) * alpha, (up - 1) * cosine, (up + 1) * cosine
    return biquad(
        waveform,
        up * (up + 1 - low + slope),
        side * 2 * up * (up - 1 - high),
        up * (up + 1 - low - slope),
        up + 1 + low + slope,
        side * -2 * (up - 1 + high),
        up + 1 + low - slope,
    )


_DEEMPHASIS = {44100: (5283, 0.4845, -9.477), 48000: (5356, 0.479, -9.62)}
_RIAA = {
    44100: ((-0.2014898, 0.9233820), (0.7083149, 0.9924091)),
    48000: ((-0.1766069, 0.9321590), (0.7396325, 0.9931330)),
    88200: ((-0.1168735, 0.9648312), (0.8590646, 0.9964002)),
    96000: ((-0.1141486, 0.9676817), (0.8699137, 0.9966946)),
}


def deemph_biquad(waveform: Any, sample_rate: int) -> Any:
    """What undoes the pre-emphasis of compact discs (ISO 908), at 44100 or 48000 Hz."""
    hertz, slope, gain = _DEEMPHASIS[one_of("sample_rate", sample_rate, tuple(_DEEMPHASIS))]
    up = 10 ** (gain / 40)
    angle = 2 * math.pi * hertz / sample_rate
    alpha = math.sin(angle) / 2 * math.sqrt((up + 1 / up) * (1 / slope - 1) + 2)
    return _shelf(waveform, -math.cos(angle), alpha, up, -1)


def riaa_biquad(waveform: Any, sample_rate: int) -> Any:
    """What undoes the pre-emphasis of records, with a gain of 1 at 1 kHz."""
    zeros, poles = _RIAA[one_of("sample_rate", sample_rate, tuple(_RIAA))]
    b = np.array([1.0, -sum(zeros), zeros[0] * zeros[1]])
    a = np.array([1.0, -sum(poles), poles[0] * poles[1]])
    turns = np.exp(-2j * np.pi * 1000 / sample_rate * np.arange(3))
    b *= abs((a * turns).sum() / (b * turns).sum())
    return biquad(waveform, *b, *a)


@tensors
def preemphasis(waveform: Any, coeff: float = 0.97) -> Any:
    """`x[n] − coeff·x[n−1]`."""
    made = sound(waveform).copy()
    made[..., 1:] -= made.dtype.type(number("coeff", coeff)) * np.asarray(waveform)[..., :-1]
    return made


def deemphasis(waveform: Any, coeff: float = 0.97) -> Any:
    """The inverse of `preemphasis`, within full scale."""
    return lfilter(waveform, [1.0, -number("coeff", coeff)], [1.0, 0.0])


@tensors
def overdrive(waveform: Any, gain: float = 20, colour: float = 20) -> Any:
    """Distortion by a cubic curve, as SoX has it."""
    signal = sound(waveform)
    driven = signal * 10 ** (number("gain", gain) / 20) + number("colour", colour) / 200
    bent = np.where(np.abs(driven) > 1, np.sign(driven) * 2 / 3, driven - driven**3 / 3)
    high = lfilter(bent.astype(signal.dtype), [1.0, -0.995], [1.0, -1.0], False)
    return np.clip(signal * 0.5 + high * 0.75, -1, 1).astype(signal.dtype)


@tensors
def convolve(x: Any, y: Any, mode: str = "full") -> Any:
    """The convolution along the last axis: `full`, `valid`, or `same` as long as `x`.

    >>> from warpsmith.voice.torchaudio import functional
    >>> [round(float(v), 6) for v in functional.convolve([1.0, 2.0], [1.0, 0.5])]
    [1.0, 2.5, 1.0]
    """
    one, other = sound(x, "x"), sound(y, "y")
    one_of("mode", mode, ("full", "valid", "same"))
    if one.ndim != other.ndim:
        raise ValueError(f"x and y have {one.ndim} and {other.ndim} dimensions; as many are needed")
    sizes = one.shape[-1], other.shape[-1]
    whole = sum(sizes) - 1
    # A power of two is fast for any lengths, and what lies beyond the whole is cut off.
    room = 1 << (whole - 1).bit_length()
    spectrum = np.fft.rfft(one, room) * np.fft.rfft(other, room)
    made = np.fft.irfft(spectrum, room)[..., :whole].astype(np.result_type(one, other))
    kept = {"full": whole, "valid": abs(sizes[0] - sizes[1]) + 1, "same": sizes[0]}[mode]
    start = (whole - kept) // 2
    return made[..., start : start + kept]


fftconvolve = convolve
