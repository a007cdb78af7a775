"""Short-time and constant-Q spectra, and signals from spectra."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _native
from . import gpu
from .arguments import Window, count, each_matrix, frames, number, one_signal


def stft(
    y: Any,
    *,
    n_fft: int = 2048,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Window = "hann",
    center: bool = True,
    pad_mode: str = "constant",
    device: str | None = None,
) -> Any:
    """Complex short-time spectra, `(..., 1 + n_fft/2, frames)`.

    `window` is `hann`, `hamming`, `blackman`, `povey`, `boxcar` or `("kaiser", beta)`, `pad_mode`
    `constant` or `reflect`. `device="cuda"` takes a float32 array on a GPU (PyTorch, CuPy, or
    `__cuda_array_interface__`) and leaves the result there.

    >>> import numpy as np
    >>> from warpsmith import voice
    >>> voice.stft(np.ones(4096), n_fft=512).shape
    (257, 33)
    """
    of = frames(n_fft, hop_length, win_length, window, center, pad_mode)
    if gpu.computes_there(y, device):
        return gpu.compute(y, device, lambda place: _native.gpu_stft(place, of, "complex"))
    return each_matrix(y, lambda signal: _native.stft(signal, of, "complex"))


def spectrogram(
    y: Any,
    *,
    n_fft: int = 2048,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Window = "hann",
    center: bool = True,
    pad_mode: str = "constant",
    power: float = 1.0,
    device: str | None = None,
) -> Any:
    """`|stft|` to a power; magnitudes and powers are computed without the complex spectra."""
    of = frames(n_fft, hop_length, win_length, window, center, pad_mode)
    kind = "power" if power == 2 else "magnitude"
    if gpu.computes_there(y, device):
        values = gpu.compute(y, device, lambda place: _native.gpu_stft(place, of, kind))
        if power in (1, 2):
            return values
        return [value**power for value in values] if isinstance(values, list) else values**power
    values = each_matrix(y, lambda signal: _native.stft(signal, of, kind))
    return values if power in (1, 2) else np.power(values, np.float32(number("power", power)))


def istft(
    stft_matrix: Any,
    *,
    hop_length: int | None = None,
    win_length: int | None = None,
    n_fft: int | None = None,
    window: Window = "hann",
    center: bool = True,
    length: int | None = None,
) -> np.ndarray:
    """The signal behind spectra, by overlapping and adding (Griffin and Lim 1984, equation 6).

    >>> import numpy as np
    >>> from warpsmith import voice
    >>> y = np.sin(np.arange(4096) / 10)
    >>> bool(np.abs(voice.istft(voice.stft(y), length=4096) - y).max() < 1e-5)
    True
    """
    spectra = np.require(np.asarray(stft_matrix), np.complex64, ["C", "ALIGNED"])
    if spectra.ndim < 2:
        raise ValueError(f"the spectra have shape {spectra.shape}; bins and frames are needed")
    size = 2 * (spectra.shape[-2] - 1) if n_fft is None else count("n_fft", n_fft)
    if size // 2 + 1 != spectra.shape[-2]:
        raise ValueError(f"{spectra.shape[-2]} bins do not come from n_fft = {size}")
    of = frames(size, hop_length, win_length, window, center, "constant")
    samples = of[1] * (spectra.shape[-1] - 1) + (0 if center else size)
    samples = samples if length is None else count("length", length)
    rows = spectra.reshape((-1,) + spectra.shape[-2:])
    if len(rows) == 0:
        raise ValueError(f"the spectra have shape {spectra.shape}: there is nothing in them")
    signals = [np.asarray(_native.istft(row, of, samples)) for row in rows]
    return np.stack(signals).reshape(spectra.shape[:-2] + (samples,))


def griffinlim(
    S: Any,
    *,
    n_iter: int = 32,
    hop_length: int | None = None,
    win_length: int | None = None,
    n_fft: int | None = None,
    window: Window = "hann",
    center: bool = True,
    length: int | None = None,
    momentum: float = 0.99,
    random_state: int = 1,
) -> np.ndarray:
    """A signal whose magnitudes are near `S` (Griffin and Lim 1984; Perraudin and others 2013).

    The same `random_state` gives the same signal, bit for bit.
    """
    magnitudes = np.require(np.asarray(S), np.float32, ["C", "ALIGNED"])
    if magnitudes.ndim < 2:
        raise ValueError(f"S has shape {magnitudes.shape}; bins and frames are needed")
    size = 2 * (magnitudes.shape[-2] - 1) if n_fft is None else count("n_fft", n_fft)
    of = frames(size, hop_length, win_length, window, center, "constant")
    samples = of[1] * (magnitudes.shape[-1] - 1) + (0 if center else size)
    rows = magnitudes.reshape((-1,) + magnitudes.shape[-2:])
    if len(rows) == 0:
        raise ValueError(f"S has shape {magnitudes.shape}: there is nothing in it")
    rounds = count("n_iter", n_iter, 0), number("momentum", momentum)
    seed = count("random_state", random_state, 0)
    signals = np.stack(
        [np.asarray(_native.griffin_lim(row, of, samples, *rounds, seed)) for row in rows]
    ).reshape(magnitudes.shape[:-2] + (samples,))
    wanted = samples if length is None else count("length", length)
    if wanted <= samples:
        return signals[..., :wanted]
    return np.pad(signals, [(0, 0)] * (signals.ndim - 1) + [(0, wanted - samples)])


def cqt(
    y: Any,
    *,
    sr: float = 22050,
    hop_length: int = 512,
    fmin: float | None = None,
    n_bins: int = 84,
    bins_per_octave: int = 12,
    device: str | None = None,
) -> Any:
    """Complex constant-Q spectra from `fmin` (C1) on, as librosa's with `tuning=0.0`.

    `device="cuda"` takes a float32 array on a GPU and leaves the result there.
    """
    return vqt(
        y,
        sr=sr,
        hop_length=hop_length,
        fmin=fmin,
        n_bins=n_bins,
        bins_per_octave=bins_per_octave,
        gamma=0.0,
        device=device,
    )


def vqt(
    y: Any,
    *,
    sr: float = 22050,
    hop_length: int = 512,
    fmin: float | None = None,
    n_bins: int = 84,
    bins_per_octave: int = 12,
    gamma: float = 0.0,
    device: str | None = None,
) -> Any:
    """Variable-Q spectra: as `cqt`, with bands that are `gamma` Hz wider."""
    sizes = count("n_bins", n_bins), count("bins_per_octave", bins_per_octave)
    rate, hop = count("sr", sr), count("hop_length", hop_length)
    lowest, wider = None if fmin is None else number("fmin", fmin), number("gamma", gamma)
    how = rate, hop, lowest, *sizes, wider
    if gpu.computes_there(y, device):
        return gpu.compute(y, device, lambda place: _native.gpu_constant_q(place, *how))
    return each_matrix(y, lambda signal: _native.constant_q(signal, *how))


def estimate_tuning(
    *, y: Any, sr: float = 22050, n_fft: int = 2048, hop_length: int | None = None
) -> float:
    """How far one signal is tuned from A4 = 440 Hz, semitones, −0.5 to below 0.5, in hundredths.

    Tops of spectra between bins, as librosa finds them (`piptrack` and `pitch_tuning`).

    >>> import numpy as np
    >>> from warpsmith import voice
    >>> y = np.sin(2 * np.pi * 440 * 2 ** (0.3 / 12) * np.arange(22050) / 22050)
    >>> abs(voice.estimate_tuning(y=y, sr=22050) - 0.3) < 0.05
    True
    """
    of = frames(n_fft, hop_length, None, "hann", True, "constant")
    return _native.estimate_tuning(one_signal(y), count("sr", sr), of, True)
