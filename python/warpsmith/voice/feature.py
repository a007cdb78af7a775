"""Features of frames, with librosa's names."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _native
from . import filters, from_spectra, gpu
from .arguments import bank, beyond, count, each, each_matrix, number, one_signal, signals
from .beat import tempo, tempogram
from .decibels import power_to_db
from .framing import Frames, frames
from .framing import spectra as framed
from .spectra import cqt, estimate_tuning, spectrogram
from .units import note_to_hz
from .util import normalize
from .windows import Window

__all__ = [
    "chroma_cqt",
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
    "stack_memory",
    "tempo",
    "tempogram",
    "tonnetz",
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
        there = of.plain('device="cuda"')
        return gpu.compute(
            y, device, lambda place: _native.gpu_mel(place, rate, there, of_mel, *plain)
        )
    of = frames(n_fft, hop_length, win_length, window, center, pad_mode)
    if S is None and power == 2 and not of.foreign:
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
    dct_type: int = 2,
    norm: str | None = "ortho",
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
    """Cepstral coefficients, a DCT-II of mel powers in dB: `(..., n_mfcc, frames)`.

    `S` are mel powers in dB, `(..., filters, frames)`, in place of a signal.
    `dct_type` 1 to 3 and `norm` (`ortho` or `None`) are those of the DCT, `mel_norm` that of the filters. Powers count from `top_db` below the
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
    if norm not in ("ortho", None) or dct_type not in (1, 2, 3):
        raise ValueError(
            f"dct_type = {dct_type!r}, norm = {norm!r}: types 1 to 3, 'ortho' and None are known"
        )
    if number("lifter", lifter) < 0:
        raise ValueError(f"lifter = {lifter} cannot be used: it must not be below 0")
    if S is not None:
        if device not in (None, "cpu"):
            raise ValueError('device="cuda" takes signals')
        return from_spectra.cepstra(S, kept, float(lifter), dct_type, norm)
    cepstrum = True, None if top_db is None else number("top_db", top_db), kept, float(lifter)
    if gpu.computes_there(y, device):
        return gpu.compute(
            y,
            device,
            lambda place: _native.gpu_mel(
                place, rate, of.plain('device="cuda"'), of_mel, *cepstrum
            ),
        )
    if of.foreign or norm != "ortho" or dct_type != 2 or n_mels < kept:
        powers = melspectrogram(
            y=y, sr=sr, n_fft=n_fft, hop_length=hop_length, win_length=win_length, window=window,
            center=center, pad_mode=pad_mode, n_mels=n_mels, fmin=fmin, fmax=fmax, htk=htk,
            norm=mel_norm,
        )
        return from_spectra.cepstra(
            power_to_db(powers, top_db=top_db), kept, float(lifter), dct_type, norm
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
    y: Any, S: Any, of: Frames, device: str | None
) -> np.ndarray:
    """The magnitudes that were given, or those of a signal."""
    if device not in (None, "cpu"):
        raise ValueError('device="cuda" takes signals, and librosa\'s default settings')
    if S is not None:
        return np.asarray(S)
    return framed(y, of, "magnitude")


def _shape(
    name: str, y: Any, sr: float, of: Frames, device: str | None
) -> Any:
    rate = count("sr", sr)
    if gpu.computes_there(y, device):
        return gpu.compute(
            y,
            device,
            lambda place: _native.gpu_spectral_shape(place, rate, of.plain('device="cuda"'), name),
        )
    of.plain(f"the spectral {name} of a signal")
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
    if S is not None or freq is not None or of.foreign:
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
    if S is not None or freq is not None or p != 2 or of.foreign:
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
    if S is not None or freq is not None or roll_percent != 0.85 or of.foreign:
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
    if S is not None or amin != 1e-10 or power != 2 or of.foreign:
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
    if S is not None or freq is not None or linear or of.foreign or not known:
        return from_spectra.contrast(_spectra(y, S, of, None), rate, freq, *bands, linear)
    return each_matrix(y, lambda signal: _native.spectral_contrast(signal, rate, of, bands))


def chroma_stft(
    *,
    y: Any = None,
    sr: float = 22050,
    S: Any = None,
    norm: float | None = np.inf,
    n_fft: int = 2048,
    hop_length: int = 512,
    win_length: int | None = None,
    window: Window = "hann",
    center: bool = True,
    pad_mode: str = "constant",
    tuning: float | None = None,
    n_chroma: int = 12,
    device: str | None = None,
    **kwargs: Any,
) -> Any:
    """The power of the twelve pitch classes, the strongest of a frame 1, `(..., 12, frames)`.

    `tuning` is that of the recording in semitones from A4 = 440 Hz; by default it is estimated,
    as librosa does, for each signal of a batch. `S` are powers of spectra in place of a signal;
    their tuning is 0 unless it is given. `norm` is that of each frame, and `kwargs` are choices of
    `filters.chroma`.

    >>> import numpy as np
    >>> from warpsmith import voice
    >>> y = np.sin(2 * np.pi * 440 * np.arange(22050) / 22050)
    >>> int(voice.feature.chroma_stft(y=y, sr=22050)[:, 20].argmax())
    9
    """
    rate = count("sr", sr)
    of = frames(n_fft, hop_length, win_length, window, center, pad_mode)
    usual = norm == np.inf and n_chroma == 12 and not kwargs
    if gpu.computes_there(y if S is None else S, device):
        if tuning is None or S is not None or not usual:
            raise ValueError(
                'device="cuda" takes signals with librosa\'s default settings, and does not estimate: '
                "give the tuning, 0.0 is 440 Hz"
            )
        tuned, there = number("tuning", tuning), of.plain('device="cuda"')
        return gpu.compute(y, device, lambda place: _native.gpu_chroma(place, rate, there, tuned))
    if S is None and usual and not of.foreign:

        def compute(signal: np.ndarray) -> Any:
            found = tuning
            if found is None:
                found = _native.estimate_tuning(signal, rate, of, False)
            return _native.chroma(signal, rate, of, number("tuning", found))

        return each_matrix(y, compute)
    if S is None:
        S = framed(y, of, "power")
        if tuning is None:
            tuning = _native.estimate_tuning(one_signal(y), rate, of.plain("tuning=None"), False)
    powers = from_spectra.matrix(S)
    size = n_fft if n_fft // 2 + 1 == powers.shape[-2] else 2 * (powers.shape[-2] - 1)
    weights = filters.chroma(
        sr=rate, n_fft=size, n_chroma=n_chroma, tuning=0.0 if tuning is None else tuning, **kwargs
    )
    return normalize(weights.astype(powers.dtype) @ powers, norm=norm, axis=-2)


def chroma_cqt(
    *,
    y: Any = None,
    sr: float = 22050,
    C: Any = None,
    hop_length: int = 512,
    fmin: float | None = None,
    norm: float | None = np.inf,
    threshold: float = 0.0,
    tuning: float | None = None,
    n_chroma: int = 12,
    n_octaves: int = 7,
    bins_per_octave: int | None = 36,
) -> np.ndarray:
    """Pitch classes of the magnitudes of constant-Q spectra, the strongest of a frame 1.

    `C` are the spectra in place of a signal. Without `tuning`, that of the signal is estimated.

    >>> import numpy as np
    >>> from warpsmith import voice
    >>> y = np.sin(2 * np.pi * 440 * np.arange(22050) / 22050)
    >>> int(voice.feature.chroma_cqt(y=y, sr=22050)[:, 20].argmax())
    9
    """
    octave = count("n_chroma", n_chroma) if bins_per_octave is None else bins_per_octave
    lowest = float(note_to_hz("C1")) if fmin is None else number("fmin", fmin)
    if C is None:
        if tuning is None:
            one_signal(y)
            tuning = estimate_tuning(y=y, sr=sr, bins_per_octave=octave)
        tuned = lowest * 2.0 ** (number("tuning", tuning) / octave)
        bins = count("n_octaves", n_octaves) * octave
        C = cqt(
            y, sr=sr, hop_length=hop_length, fmin=tuned, n_bins=bins, bins_per_octave=octave
        )
    given = np.asarray(C)
    if given.ndim < 2 or given.dtype.kind not in "iufc":
        raise ValueError(f"C has shape {given.shape}; bins by frames are needed")
    levels = np.abs(given)
    weights = filters.cq_to_chroma(
        levels.shape[-2], bins_per_octave=octave, n_chroma=n_chroma, fmin=lowest
    )
    classes = weights.astype(levels.dtype) @ levels
    classes[classes < number("threshold", threshold)] = 0.0
    return normalize(classes, norm=norm, axis=-2)


def tonnetz(*, y: Any = None, sr: float = 22050, chroma: Any = None, **kwargs: Any) -> np.ndarray:
    """Pitch classes as places on circles of fifths, minor and major thirds, `(..., 6, frames)`.

    Harte, Sandler and Gasser (2006). `chroma` are the classes in place of a signal, whose are found
    by `chroma_cqt` with `kwargs`.

    >>> import numpy as np
    >>> from warpsmith import voice
    >>> voice.feature.tonnetz(chroma=np.ones((12, 5))).shape
    (6, 5)
    """
    classes = np.asarray(chroma_cqt(y=y, sr=sr, **kwargs) if chroma is None else chroma)
    if classes.ndim < 2 or classes.shape[-2] < 1:
        raise ValueError(f"chroma has shape {classes.shape}; classes by frames are needed")
    at = np.linspace(0, 12, num=classes.shape[-2], endpoint=False)
    scale = np.array([7.0 / 6, 7.0 / 6, 3.0 / 2, 3.0 / 2, 2.0 / 3, 2.0 / 3])
    turns = scale[:, None] * at[None]
    turns[::2] -= 0.5
    radius = np.array([1, 1, 1, 1, 0.5, 0.5])[:, None]
    shares = normalize(classes, norm=1, axis=-2)
    found: np.ndarray = (radius * np.cos(np.pi * turns)).astype(shares.dtype) @ shares
    return found


def stack_memory(data: Any, *, n_steps: int = 2, delay: int = 1, **kwargs: Any) -> np.ndarray:
    """Features with those of `n_steps − 1` frames before, `delay` apart, below them.

    >>> from warpsmith import voice
    >>> voice.feature.stack_memory([[1, 2, 3]], n_steps=2).tolist()
    [[1, 2, 3], [0, 1, 2]]
    """
    features = np.atleast_2d(np.asarray(data))
    steps = count("n_steps", n_steps)
    apart = int(number("delay", delay))
    if apart == 0 or steps * abs(apart) * features.size > 1 << 28:
        raise ValueError(f"n_steps = {n_steps}, delay = {delay}: not 0, and not too far")
    reach = abs(apart) * (steps - 1)
    room = [(0, 0)] * (features.ndim - 1) + [(reach, 0) if apart > 0 else (0, reach)]
    padded = np.pad(features, room, **{"mode": "constant", **kwargs})
    several = features.shape[-1]
    first = [reach - k * apart if apart > 0 else -k * apart for k in range(steps)]
    return np.concatenate([padded[..., at : at + several] for at in first], axis=-2)
