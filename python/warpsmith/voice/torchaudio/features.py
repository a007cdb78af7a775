"""Filters over bins, derivatives, means and pitch, with torchaudio's arguments and numbers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..arguments import count, number
from ..from_spectra import cosines
from ..units import hz_to_mel, mel_to_hz
from .checks import one_of, sound, spectra
from .tensors import tensor, tensors, torch_module

#: The values of a bank of filters, at most.
_LARGEST = 1 << 26


def melscale_fbanks(
    n_freqs: int,
    f_min: float,
    f_max: float,
    n_mels: int,
    sample_rate: int,
    norm: str | None = None,
    mel_scale: str = "htk",
) -> Any:
    """The weights of mel filters, `(n_freqs, n_mels)`.

    >>> from warpsmith.voice.torchaudio import functional
    >>> functional.melscale_fbanks(201, 0.0, 8000.0, 40, 16000).shape
    (201, 40)
    """
    return _given(mel_weights(n_freqs, f_min, f_max, n_mels, sample_rate, norm, mel_scale))


def mel_weights(
    n_freqs: int,
    f_min: float,
    f_max: float,
    n_mels: int,
    sample_rate: int,
    norm: str | None,
    mel_scale: str,
) -> np.ndarray:
    """The same as an array."""
    one_of("norm", norm, ("slaney", None))
    htk = one_of("mel_scale", mel_scale, ("htk", "slaney")) == "htk"
    low, high = number("f_min", f_min), number("f_max", f_max)
    if not 0 <= low <= high:
        raise ValueError(f"f_min = {f_min}, f_max = {f_max}: f_min is at least 0 and at most f_max")
    several = count("n_mels", n_mels)
    _check(n_freqs, several)
    mels = np.linspace(hz_to_mel(low, htk=htk), hz_to_mel(high, htk=htk), several + 2)
    edges = mel_to_hz(mels, htk=htk)
    weights = _triangles(n_freqs, sample_rate, edges)
    if norm == "slaney":
        weights *= 2.0 / (edges[2:] - edges[:-2])
    return weights.astype(np.float32)


def linear_fbanks(
    n_freqs: int, f_min: float, f_max: float, n_filter: int, sample_rate: int
) -> Any:
    """The weights of triangles that are evenly apart in hertz, `(n_freqs, n_filter)`."""
    return _given(linear_weights(n_freqs, f_min, f_max, n_filter, sample_rate))


def linear_weights(
    n_freqs: int, f_min: float, f_max: float, n_filter: int, sample_rate: int
) -> np.ndarray:
    """The same as an array."""
    several = count("n_filter", n_filter)
    _check(n_freqs, several)
    edges = np.linspace(number("f_min", f_min), number("f_max", f_max), several + 2)
    return _triangles(n_freqs, sample_rate, edges).astype(np.float32)


def _check(n_freqs: int, filters: int) -> None:
    if count("n_freqs", n_freqs) * filters > _LARGEST:
        raise ValueError(f"{filters} filters over {n_freqs} bins would take more than 256 MiB")


def _triangles(n_freqs: int, sample_rate: int, edges: np.ndarray) -> np.ndarray:
    bins = np.linspace(0, count("sample_rate", sample_rate) // 2, n_freqs)[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        up = (bins - edges[:-2]) / np.diff(edges)[:-1]
        down = (edges[2:] - bins) / np.diff(edges)[1:]
    found: np.ndarray = np.nan_to_num(np.maximum(0, np.minimum(up, down)))
    return found


def _given(array: np.ndarray) -> Any:
    """A tensor where the program uses PyTorch, as torchaudio's makers of filters give it."""
    return tensor(array) if torch_module() is not None else array


def create_dct(n_mfcc: int, n_mels: int, norm: str | None) -> Any:
    """The first cosines of a DCT-II, `(n_mels, n_mfcc)`; `norm` is `ortho` or `None`."""
    return _given(dct_rows(n_mfcc, n_mels, norm).T.copy())


def dct_rows(n_mfcc: int, n_mels: int, norm: str | None) -> np.ndarray:
    """The same as rows of an array."""
    one_of("norm", norm, ("ortho", None))
    filters, kept = count("n_mels", n_mels), count("n_mfcc", n_mfcc)
    rows = cosines(max(filters, kept), kept, norm=norm) if kept <= filters else None
    if rows is None:
        raise ValueError(f"n_mfcc = {n_mfcc} cannot be used: there are {n_mels} filters")
    return rows.astype(np.float32)


@tensors
def compute_deltas(specgram: Any, win_length: int = 5, mode: str = "replicate") -> Any:
    """How features move along the last axis, from `win_length` frames around each.

    >>> from warpsmith.voice.torchaudio import functional
    >>> functional.compute_deltas([[0.0, 1.0, 2.0, 3.0, 4.0]])[0, 2].item()
    1.0
    """
    values = spectra(specgram)
    size = count("win_length", win_length, 3)
    ways = {"replicate": "edge", "constant": "constant", "reflect": "reflect", "circular": "wrap"}
    one_of("mode", mode, tuple(ways))
    n = (size - 1) // 2
    if mode in ("reflect", "circular") and n + (mode == "reflect") > values.shape[-1]:
        raise ValueError(f"mode = {mode!r} needs more than {n} frames; {values.shape[-1]} are there")
    room = [(0, 0)] * (values.ndim - 1) + [(n, n)]
    padded: np.ndarray = np.pad(values, room, mode=ways[mode])  # type: ignore[call-overload]
    frames = values.shape[-1]
    moved = np.zeros_like(values)
    for step in range(1, n + 1):
        later = padded[..., n + step : n + step + frames]
        moved += values.dtype.type(step) * (later - padded[..., n - step : n - step + frames])
    return moved / values.dtype.type(n * (n + 1) * (2 * n + 1) / 3)


@tensors
def sliding_window_cmn(
    specgram: Any,
    cmn_window: int = 600,
    min_cmn_window: int = 100,
    center: bool = False,
    norm_vars: bool = False,
) -> Any:
    """Features `(…, frames, features)` less their mean over the frames around, as Kaldi's tool.

    With `norm_vars` over their standard deviation there, too.
    """
    values = spectra(specgram)
    window, least = count("cmn_window", cmn_window), count("min_cmn_window", min_cmn_window, 0)
    frames = values.shape[-2]
    t = np.arange(frames)
    start = t - window // 2 if center else t - window
    end = start + window if center else t + 1
    early = start < 0
    end = np.where(early, end - start, end)
    start = np.where(early, 0, start)
    if not center:
        end = np.where(end > t, np.maximum(t + 1, least), end)
    late = end > frames
    start = np.where(late, np.maximum(0, start - (end - frames)), start)
    end = np.minimum(end, frames)
    several = (end - start)[:, None]

    def sums(of: np.ndarray) -> np.ndarray:
        total = np.cumsum(of, axis=-2, dtype=np.float64)
        total = np.concatenate([np.zeros_like(total[..., :1, :]), total], axis=-2)
        found: np.ndarray = total[..., end, :] - total[..., start, :]
        return found

    # Around the mean of all, so that squares do not swallow what differs.
    around = values - values.mean(axis=-2, keepdims=True, dtype=np.float64)
    mean = sums(around) / several
    found = around - mean
    if norm_vars:
        variance = sums(np.square(around)) / several - np.square(mean)
        with np.errstate(divide="ignore", invalid="ignore"):
            found = np.where(several == 1, 0, found * np.maximum(variance, 0) ** -0.5)
    return found.astype(values.dtype)


@tensors
def detect_pitch_frequency(
    waveform: Any,
    sample_rate: int,
    frame_time: float = 10 ** (-2),
    win_length: int = 30,
    freq_low: int = 85,
    freq_high: int = 3400,
) -> Any:
    """The pitch of frames of `frame_time` seconds by normalised cross-correlation, Hz.

    Medians of `win_length` frames smooth it, and silence has a pitch, too: torchaudio's numbers.
    `voice.pitch`, `voice.yin` and `voice.pyin` are more exact.
    """
    signal, rate = sound(waveform), count("sample_rate", sample_rate)
    low, high = number("freq_low", freq_low), number("freq_high", freq_high)
    if not 0 < low < high:
        raise ValueError(f"freq_low = {freq_low}, freq_high = {freq_high}: 0 < low < high is needed")
    smooth = count("win_length", win_length)
    lags = math.ceil(rate / low)
    size = count("the samples of frame_time", math.ceil(rate * number("frame_time", frame_time)))
    several = -(-signal.shape[-1] // size)
    shortest = math.ceil(rate / high)
    if lags // 2 <= shortest:
        raise ValueError(f"freq_low = {freq_low} and freq_high = {freq_high} are too near")
    rows = signal.reshape(-1, signal.shape[-1])
    rows = np.pad(rows, [(0, 0), (0, lags + several * size - rows.shape[-1])])
    frames = rows[:, : several * size].reshape(len(rows), several, size)
    own = (1e-9 + np.sqrt(np.square(frames).sum(-1))) ** 2
    likeness = np.empty((len(rows), several, lags), signal.dtype)
    for lag in range(1, lags + 1):
        later = rows[:, lag : lag + several * size].reshape(frames.shape)
        power = (1e-9 + np.sqrt(np.square(later).sum(-1))) ** 2
        likeness[..., lag - 1] = (frames * later).sum(-1) / own / power
    whole = likeness[..., shortest:]
    half = likeness[..., shortest : lags // 2]
    near = half.max(-1) > 0.99 * whole.max(-1)
    best = np.where(near, half.argmax(-1), whole.argmax(-1)) + shortest + 1
    before = (smooth - 1) // 2
    best = np.concatenate([np.repeat(best[:, :1], before, axis=-1), best], axis=-1)
    if best.shape[-1] < smooth:
        raise ValueError(
            f"win_length = {win_length} frames are too many: the signal has {several} frames of "
            f"{size} samples"
        )
    around = np.lib.stride_tricks.sliding_window_view(best, smooth, axis=-1)
    # PyTorch's median is the lower of the two in the middle.
    middle = np.sort(around, axis=-1)[..., (smooth - 1) // 2]
    hertz = (rate / (1e-9 + middle)).astype(np.float32)
    return hertz.reshape(signal.shape[:-1] + hertz.shape[-1:])
