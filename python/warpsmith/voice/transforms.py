"""Features with torchaudio's names: objects that are made once and called with signals.

A call takes NumPy arrays or PyTorch tensors of the CPU and gives what it was given.

>>> import numpy as np
>>> from warpsmith.voice import transforms
>>> mel = transforms.MelSpectrogram(sample_rate=16000, n_fft=400, n_mels=80)
>>> mel(np.sin(np.arange(16000) / 5)).shape
(80, 81)
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from . import feature, files, spectra
from .arguments import Window, count, number
from .decibels import amplitude_to_db, power_to_db
from .from_spectra import cosines

_SCALES = {"htk": True, "slaney": False}


class _Transform:
    """A call that gives an array of the library that it was given one of."""

    def __call__(self, waveform: Any) -> Any:
        torch = sys.modules.get("torch")
        if torch is not None and isinstance(waveform, torch.Tensor):
            if waveform.is_cuda:
                raise ValueError("the tensor lies on a GPU: use voice.stft(…, device=\"cuda\")")
            found = self._compute(waveform.detach().numpy())
            return torch.from_numpy(np.ascontiguousarray(found))
        return self._compute(waveform)

    def _compute(self, waveform: Any) -> np.ndarray:
        raise NotImplementedError


class Spectrogram(_Transform):
    """`|stft|` to `power`, or with `power=None` the complex spectra.

    Frames of `n_fft` samples, `hop_length` (half the window) apart, mirrored at the ends.
    """

    def __init__(
        self,
        n_fft: int = 400,
        win_length: int | None = None,
        hop_length: int | None = None,
        *,
        window: Window = "hann",
        power: float | None = 2.0,
        center: bool = True,
        pad_mode: str = "reflect",
    ) -> None:
        self._power = power
        self._frames = _frames(n_fft, win_length, hop_length, window, center, pad_mode)

    def _compute(self, waveform: Any) -> np.ndarray:
        found: np.ndarray
        if self._power is None:
            found = spectra.stft(waveform, **self._frames)
        else:
            found = spectra.spectrogram(waveform, power=self._power, **self._frames)
        return found


class MelSpectrogram(_Transform):
    """Mel filters over a `Spectrogram`; HTK's curve without a norm unless said otherwise."""

    def __init__(
        self,
        sample_rate: int = 16000,
        n_fft: int = 400,
        win_length: int | None = None,
        hop_length: int | None = None,
        f_min: float = 0.0,
        f_max: float | None = None,
        *,
        n_mels: int = 128,
        window: Window = "hann",
        power: float = 2.0,
        center: bool = True,
        pad_mode: str = "reflect",
        norm: str | None = None,
        mel_scale: str = "htk",
    ) -> None:
        if mel_scale not in _SCALES:
            raise ValueError(f"mel_scale = {mel_scale!r} is unknown: 'htk' and 'slaney' are known")
        self._options: dict[str, Any] = {
            "sr": sample_rate,
            "n_mels": n_mels,
            "fmin": f_min,
            "fmax": f_max,
            "htk": _SCALES[mel_scale],
            "norm": norm,
            **_frames(n_fft, win_length, hop_length, window, center, pad_mode),
        }
        self._power = power

    def _compute(self, waveform: Any) -> np.ndarray:
        found: np.ndarray = feature.melspectrogram(
            y=waveform, power=self._power, **self._options
        )
        return found


class MFCC(_Transform):
    """Cepstral coefficients of mel powers in dB, 80 dB below the largest of the call at least.

    `melkwargs` are the options of `MelSpectrogram`.
    """

    def __init__(
        self, sample_rate: int = 16000, n_mfcc: int = 40, *, melkwargs: Any = None
    ) -> None:
        self._mel = MelSpectrogram(sample_rate, **(melkwargs or {}))
        n_mels = count("n_mels", self._mel._options["n_mels"])
        kept = count("n_mfcc", n_mfcc)
        self._cosines = cosines(n_mels, kept).astype(np.float32)

    def _compute(self, waveform: Any) -> np.ndarray:
        levels = power_to_db(self._mel._compute(waveform), top_db=80.0)
        found: np.ndarray = self._cosines @ levels
        return found


class AmplitudeToDB(_Transform):
    """Powers (`stype="power"`) or magnitudes in dB, within `top_db` of the largest."""

    def __init__(self, stype: str = "power", top_db: float | None = None) -> None:
        if stype not in ("power", "magnitude"):
            raise ValueError(f"stype = {stype!r} cannot be used: 'power' and 'magnitude' are known")
        self._stype, self._top_db = stype, top_db

    def _compute(self, waveform: Any) -> np.ndarray:
        if self._stype == "power":
            return power_to_db(waveform, amin=1e-10, top_db=self._top_db)
        return amplitude_to_db(waveform, amin=1e-10, top_db=self._top_db)


class Resample(_Transform):
    """Another rate, by our filter of 120 dB (torchaudio's standard one has some 40 dB)."""

    def __init__(self, orig_freq: int = 16000, new_freq: int = 16000) -> None:
        self._rates: dict[str, Any] = {"orig_sr": orig_freq, "target_sr": new_freq}

    def _compute(self, waveform: Any) -> np.ndarray:
        found: np.ndarray = files.resample(waveform, **self._rates)
        return found


class InverseSpectrogram(_Transform):
    """The signal behind complex spectra."""

    def __init__(
        self,
        n_fft: int = 400,
        win_length: int | None = None,
        hop_length: int | None = None,
        *,
        window: Window = "hann",
        center: bool = True,
    ) -> None:
        self._frames = _frames(n_fft, win_length, hop_length, window, center, "constant")
        del self._frames["pad_mode"]

    def _compute(self, waveform: Any) -> np.ndarray:
        return spectra.istft(waveform, **self._frames)


class GriffinLim(_Transform):
    """A signal whose magnitudes to `power` are near the given ones."""

    def __init__(
        self,
        n_fft: int = 400,
        n_iter: int = 32,
        win_length: int | None = None,
        hop_length: int | None = None,
        *,
        window: Window = "hann",
        power: float = 2.0,
        momentum: float = 0.99,
        length: int | None = None,
    ) -> None:
        self._frames = _frames(n_fft, win_length, hop_length, window, True, "constant")
        del self._frames["pad_mode"]
        self._power = number("power", power)
        if self._power <= 0:
            raise ValueError(f"power = {power!r} cannot be used: it must be above 0")
        self._rounds: dict[str, Any] = {"n_iter": n_iter, "momentum": momentum, "length": length}

    def _compute(self, waveform: Any) -> np.ndarray:
        magnitudes = np.power(np.asarray(waveform), 1.0 / self._power)
        return spectra.griffinlim(magnitudes, **self._rounds, **self._frames)


def _frames(
    n_fft: int,
    win_length: int | None,
    hop_length: int | None,
    window: Window,
    center: bool,
    pad_mode: str,
) -> dict[str, Any]:
    under = count("n_fft", n_fft) if win_length is None else count("win_length", win_length)
    return {
        "n_fft": n_fft,
        "win_length": under,
        "hop_length": max(1, under // 2) if hop_length is None else hop_length,
        "window": window,
        "center": center,
        "pad_mode": pad_mode,
    }
