"""Features of frames, with librosa's names."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _native
from . import filters, from_spectra, gpu
from .arguments import (
    Window,
    bank,
    beyond,
    count,
    each,
    each_matrix,
    frames,
    number,
    signals,
)
from .beat import tempo, tempogram
from .spectra import spectrogram

__all__ = [
    "chroma_stft",
    "delta",
    "melspectrogram",
    "mfcc",
    "rms",
    "spectral_bandwidth",
    "spectral_centroid",
    "spectral_contrast",
    "spectral_entropy",
    "spectral_flatness",
    "spectral_flux",
    "spectral_rolloff",
    "spectral_slope",
    "tempo",
    "tempogram",
    "zero_crossing_rate",
]


def melspectrogram(
    *,
    y: Any = None,
    sr: float = 22050,
    S: Any = None,
    n_fft: int = 2048,
    hop_length: int | None = 512,
    win_length: int | None = None,
    window: Window = "hann",
    center: bool = True,
    pad_mode: str = "constant",
    power: float = 2.0,
    n_mels: int = 128,
    fmin: float = 0.0,
    fmax: float | None = None,
    htk: bool = False,
    norm: str | None = "slaney",
    device: str | None = None,
) -> Any:
    """Mel filters over `|stft|` to a power, or over the spectra `S`: `(..., n_mels, frames)`.

    `device="cuda"` takes a float32 array on a GPU and leaves the result there: powers of signals
    in frames of a power of two up to 2048.

    >>> import numpy as np
    >>> from warpsmith import voice
    >>> y = np.sin(np.arange(16000) / 5)
    >>> voice.feature.melspectrogram(y=y, sr=16000, n_fft=512, hop_length=160, n_mels=80).shape
    (80, 101)
    """
    rate = count("sr", sr)
    if gpu.computes_there(y if S is None else S, device):
        if S is not None or power != 2:
            raise ValueError('device="cuda" takes signals, and power=2')
        of = frames(n_fft, hop_length, win_length, window, center, pad_mode)
        of_mel = bank(n_mels, fmin, fmax, htk, norm)
        plain = False, None, None, 0.0
        return gpu.compute(
            y, device, lambda place: _native.gpu_mel(place, rate, of, of_mel, *plain)
        )
    if S is None and power == 2:
        of = frames(n_fft, hop_length, win_length, window, center, pad_mode)
        of_mel = bank(n_mels, fmin, fmax, htk, norm)
        plain = False, None, None, 0.0
        return each_matrix(y, lambda signal: _native.mel(signal, rate, of, of_mel, *plain))
    if S is None:
        S = spectrogram(
            y,
            n_fft=n_fft,
            hop_length=hop_length,
            win_length=win_length,
            window=window,
            center=center,
            pad_mode=pad_mode,
            power=power,
        )
    spectra = np.asarray(S)
    if spectra.ndim < 2 or not np.issubdtype(spectra.dtype, np.number):
        raise ValueError(f"S has shape {spectra.shape}; bins and frames are needed")
    n_fft = 2 * (spectra.shape[-2] - 1) if n_fft // 2 + 1 != spectra.shape[-2] else n_fft
    weights = filters.mel(
        sr=rate, n_fft=n_fft, n_mels=n_mels, fmin=fmin, fmax=fmax, htk=htk, norm=norm
    )
    result: np.ndarray = weights @ spectra
    return result


def mfcc(
    *,
    y: Any = None,
    sr: float = 22050,
    S: Any = None,
    n_mfcc: int = 20,
    norm: str = "ortho",
    lifter: float = 0.0,
    mel_norm: str | None = "slaney",
    n_fft: int = 2048,
    hop_length: int | None = 512,
    win_length: int | None = None,
    window: Window = "hann",
    center: bool = True,
    pad_mode: str = "constant",
    n_mels: int = 128,
    fmin: float = 0.0,
    fmax: float | None = None,
    htk: bool = False,
    top_db: float | None = 80.0,
    device: str | None = None,
) -> Any:
    """Cepstral coefficients, an orthonormal DCT-II of mel powers in dB: `(..., n_mfcc, frames)`.

    `S` are mel powers in dB, `(..., filters, frames)`, in place of a signal.
    `norm` is that of the DCT, `mel_norm` that of the filters. Powers count from `top_db` below the
    largest of their signal on. `lifter` L weights coefficient k by `1 + L/2·sin(π(k+1)/L)`.
    `device="cuda"` takes a float32 array on a GPU and leaves the result there: frames of a power of
    two up to 2048.

    >>> import numpy as np
    >>> from warpsmith import voice
    >>> voice.feature.mfcc(y=np.sin(np.arange(16000) / 5), sr=16000, n_mfcc=13).shape
    (13, 32)
    """
    rate, kept = count("sr", sr), count("n_mfcc", n_mfcc)
    of = frames(n_fft, hop_length, win_length, window, center, pad_mode)
    of_mel = bank(n_mels, fmin, fmax, htk, mel_norm)
    if norm != "ortho":
        raise ValueError(f"norm = {norm!r} cannot be used: the DCT is orthonormal, 'ortho'")
    if number("lifter", lifter) < 0:
        raise ValueError(f"lifter = {lifter} cannot be used: it must not be below 0")
    if S is not None:
        if device not in (None, "cpu"):
            raise ValueError('device="cuda" takes signals')
        return from_spectra.cepstra(S, kept, float(lifter))
    cepstrum = True, None if top_db is None else number("top_db", top_db), kept, float(lifter)
    if gpu.computes_there(y, device):
        return gpu.compute(
            y, device, lambda place: _native.gpu_mel(place, rate, of, of_mel, *cepstrum)
        )
    return each_matrix(y, lambda signal: _native.mel(signal, rate, of, of_mel, *cepstrum))


def delta(data: Any, *, width: int = 9, order: int = 1) -> np.ndarray:
    """How features move along the last axis: the derivative of a least-squares polynomial.

    >>> import numpy as np
    >>> from warpsmith import voice
    >>> bool(np.allclose(voice.feature.delta(3.0 * np.arange(20)), 3))
    True
    """
    features = np.require(np.asarray(data), np.float32, ["C", "ALIGNED"])
    if features.ndim == 0:
        raise ValueError("data is one number; frames are needed")
    return np.asarray(_native.delta(features, count("width", width), count("order", order)))


def rms(
    *,
    y: Any = None,
    S: Any = None,
    frame_length: int = 2048,
    hop_length: int = 512,
    center: bool = True,
    pad_mode: str = "constant",
) -> np.ndarray:
    """The root of the mean square of every frame, `(..., 1, frames)`.

    `S` are magnitudes of frames of `frame_length` samples in place of a signal. Beyond the ends of
    a signal there are zeros, with `pad_mode="reflect"` its mirror image, with `"edge"` its first
    and last sample.
    """
    if pad_mode not in ("constant", "reflect", "edge"):
        raise ValueError(f"pad_mode = {pad_mode!r}: constant, reflect and edge are known")
    if S is not None:
        return from_spectra.rms(S, frame_length)
    if center and pad_mode != "constant":
        y = _padded(y, count("frame_length", frame_length) // 2, pad_mode)
        center = False
    return _level(y, 0, frame_length, hop_length, center)


def _padded(y: Any, beyond_ends: int, mode: str) -> np.ndarray:
    """The signals with so many samples more on each side."""
    array = signals(y)
    if beyond_ends >= array.shape[-1]:
        raise ValueError(
            f"pad_mode = {mode!r} needs more than half a frame, {beyond_ends} samples; "
            f"the signal has {array.shape[-1]}"
        )
    room = [(0, 0)] * (array.ndim - 1) + [(beyond_ends, beyond_ends)]
    if mode == "edge":
        return np.pad(array, room, mode="edge")
    return np.pad(array, room, mode="reflect")


def zero_crossing_rate(
    y: Any, *, frame_length: int = 2048, hop_length: int = 512, center: bool = True
) -> np.ndarray:
    """The share of neighbouring samples whose signs differ, `(..., 1, frames)`."""
    return _level(y, 1, frame_length, hop_length, center)


def _level(y: Any, which: int, frame_length: int, hop_length: int, center: bool) -> np.ndarray:
    sizes = count("frame_length", frame_length), count("hop_length", hop_length)
    ends = beyond(center, "constant")

    return each_matrix(y, lambda signal: _native.levels(signal, *sizes, ends)[which])


def _spectra(
    y: Any, S: Any, of: tuple[int, int, int, str, float, str], device: str | None
) -> np.ndarray:
    """The magnitudes that were given, or those of a signal."""
    if device not in (None, "cpu"):
        raise ValueError('device="cuda" takes signals, and librosa\'s default settings')
    if S is not None:
        return np.asarray(S)
    return each_matrix(y, lambda signal: _native.stft(signal, of, "magnitude"))


def _shape(
    name: str, y: Any, sr: float, of: tuple[int, int, int, str, float, str], device: str | None
) -> Any:
    rate = count("sr", sr)
    if gpu.computes_there(y, device):
        return gpu.compute(
            y, device, lambda place: _native.gpu_spectral_shape(place, rate, of, name)
        )
    return each_matrix(y, lambda signal: _native.spectral_shape(signal, rate, of, name))


def spectral_centroid(
    *,
    y: Any = None,
    sr: float = 22050,
    S: Any = None,
    n_fft: int = 2048,
    hop_length: int = 512,
    win_length: int | None = None,
    window: Window = "hann",
    center: bool = True,
    pad_mode: str = "constant",
    freq: Any = None,
    device: str | None = None,
) -> Any:
    """The mean frequency of the magnitudes, Hz, `(..., 1, frames)`.

    `S` are magnitudes in place of a signal, `freq` the frequencies of their bins.
    """
    of = frames(n_fft, hop_length, win_length, window, center, pad_mode)
    if S is not None or freq is not None:
        return from_spectra.centroid(_spectra(y, S, of, device), sr, freq)
    return _shape("centroid", y, sr, of, device)


def spectral_bandwidth(
    *,
    y: Any = None,
    sr: float = 22050,
    S: Any = None,
    n_fft: int = 2048,
    hop_length: int = 512,
    win_length: int | None = None,
    window: Window = "hann",
    center: bool = True,
    pad_mode: str = "constant",
    freq: Any = None,
    p: float = 2.0,
    device: str | None = None,
) -> Any:
    """The root mean square distance from the centroid, Hz, `(..., 1, frames)`.

    `S` are magnitudes in place of a signal, `freq` the frequencies of their bins. `p` is the power that
    distances are taken to.
    """
    of = frames(n_fft, hop_length, win_length, window, center, pad_mode)
    if S is not None or freq is not None or p != 2:
        return from_spectra.bandwidth(_spectra(y, S, of, device), sr, freq, p)
    return _shape("bandwidth", y, sr, of, device)


def spectral_rolloff(
    *,
    y: Any = None,
    sr: float = 22050,
    S: Any = None,
    n_fft: int = 2048,
    hop_length: int = 512,
    win_length: int | None = None,
    window: Window = "hann",
    center: bool = True,
    pad_mode: str = "constant",
    freq: Any = None,
    roll_percent: float = 0.85,
    device: str | None = None,
) -> Any:
    """The frequency below which 85 % of the magnitudes lie, Hz, `(..., 1, frames)`.

    `roll_percent` is another share than 0.85.
    `S` are magnitudes in place of a signal, `freq` the frequencies of their bins.
    """
    of = frames(n_fft, hop_length, win_length, window, center, pad_mode)
    if S is not None or freq is not None or roll_percent != 0.85:
        return from_spectra.rolloff(_spectra(y, S, of, device), sr, freq, roll_percent)
    return _shape("rolloff", y, sr, of, device)


def spectral_flatness(
    *,
    y: Any = None,
    S: Any = None,
    n_fft: int = 2048,
    hop_length: int = 512,
    win_length: int | None = None,
    window: Window = "hann",
    center: bool = True,
    pad_mode: str = "constant",
    amin: float = 1e-10,
    power: float = 2.0,
    device: str | None = None,
) -> Any:
    """The geometric over the arithmetic mean of the powers, `(..., 1, frames)`.

    `S` are magnitudes in place of a signal, which `power` makes powers; below `amin` they count
    as that.
    """
    of = frames(n_fft, hop_length, win_length, window, center, pad_mode)
    if S is not None or amin != 1e-10 or power != 2:
        return from_spectra.flatness(_spectra(y, S, of, device), amin, power)
    return _shape("flatness", y, 22050, of, device)


def spectral_entropy(
    *,
    y: Any,
    sr: float = 22050,
    n_fft: int = 2048,
    hop_length: int = 512,
    win_length: int | None = None,
    window: Window = "hann",
    center: bool = True,
    pad_mode: str = "constant",
    device: str | None = None,
) -> Any:
    """The entropy of the magnitudes' shares over its maximum, 0 to 1, `(..., 1, frames)`."""
    of = frames(n_fft, hop_length, win_length, window, center, pad_mode)
    return _shape("entropy", y, sr, of, device)


def spectral_flux(
    *,
    y: Any,
    sr: float = 22050,
    n_fft: int = 2048,
    hop_length: int = 512,
    win_length: int | None = None,
    window: Window = "hann",
    center: bool = True,
    pad_mode: str = "constant",
    device: str | None = None,
) -> Any:
    """The root of the summed squares of rises in magnitude, 0 at first, `(..., 1, frames)`."""
    of = frames(n_fft, hop_length, win_length, window, center, pad_mode)
    return _shape("flux", y, sr, of, device)


def spectral_slope(
    *,
    y: Any,
    sr: float = 22050,
    n_fft: int = 2048,
    hop_length: int = 512,
    win_length: int | None = None,
    window: Window = "hann",
    center: bool = True,
    pad_mode: str = "constant",
    device: str | None = None,
) -> Any:
    """The slope of the magnitudes' shares, per Hz (Peeters 2004), `(..., 1, frames)`."""
    of = frames(n_fft, hop_length, win_length, window, center, pad_mode)
    return _shape("slope", y, sr, of, device)


def spectral_contrast(
    *,
    y: Any = None,
    sr: float = 22050,
    S: Any = None,
    n_fft: int = 2048,
    hop_length: int = 512,
    win_length: int | None = None,
    window: Window = "hann",
    center: bool = True,
    pad_mode: str = "constant",
    freq: Any = None,
    fmin: float = 200.0,
    n_bands: int = 6,
    quantile: float = 0.02,
    linear: bool = False,
) -> np.ndarray:
    """Peaks over valleys below 200 Hz and in six octaves above, dB, `(..., 7, frames)`.

    `fmin` is the upper edge of the lowest band, `n_bands` the octaves above it, `quantile` the
    share of a band's bins that are its peaks and its valleys; with `linear` differences are not in
    dB. `S` are magnitudes in place of a signal, `freq` the frequencies of their bins.
    """
    rate = count("sr", sr)
    of = frames(n_fft, hop_length, win_length, window, center, pad_mode)
    bands = number("fmin", fmin), count("n_bands", n_bands), number("quantile", quantile)
    # Bands of two bins and more: what librosa makes of narrower ones is done here.
    known = bands[0] >= max(1, 2 * rate / of[0]) and 1 <= bands[1] <= 30 and 0 < bands[2] < 1
    if S is not None or freq is not None or linear or not known:
        return from_spectra.contrast(_spectra(y, S, of, None), rate, freq, *bands, linear)
    return each_matrix(y, lambda signal: _native.spectral_contrast(signal, rate, of, bands))


def chroma_stft(
    *,
    y: Any,
    sr: float = 22050,
    n_fft: int = 2048,
    hop_length: int = 512,
    win_length: int | None = None,
    window: Window = "hann",
    center: bool = True,
    pad_mode: str = "constant",
    tuning: float | None = None,
    device: str | None = None,
) -> Any:
    """The power of the twelve pitch classes, the strongest of a frame 1, `(..., 12, frames)`.

    `tuning` is that of the recording in semitones from A4 = 440 Hz; by default it is estimated,
    as librosa does, for each signal of a batch.

    >>> import numpy as np
    >>> from warpsmith import voice
    >>> y = np.sin(2 * np.pi * 440 * np.arange(22050) / 22050)
    >>> int(voice.feature.chroma_stft(y=y, sr=22050)[:, 20].argmax())
    9
    """
    rate = count("sr", sr)
    of = frames(n_fft, hop_length, win_length, window, center, pad_mode)

    if gpu.computes_there(y, device):
        if tuning is None:
            raise ValueError('device="cuda" does not estimate: give the tuning, 0.0 is 440 Hz')
        tuned = number("tuning", tuning)
        return gpu.compute(y, device, lambda place: _native.gpu_chroma(place, rate, of, tuned))

    def compute(signal: np.ndarray) -> Any:
        found = tuning
        if found is None:
            found = _native.estimate_tuning(signal, rate, of, False)
        return _native.chroma(signal, rate, of, number("tuning", found))

    return each_matrix(y, compute)
