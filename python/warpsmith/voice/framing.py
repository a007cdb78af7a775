"""How signals are cut into frames, and the spectra of frames that the native part does not have."""

from __future__ import annotations

from typing import Any, Callable

import numpy as np

from .. import _native
from .arguments import beyond, count, each_matrix, signals
from .windows import Window, centred, native, overlapped, sum_of_squares

#: What the native part can put beyond the ends of a signal.
_NATIVE_ENDS = ("constant", "reflect", "inside")
#: NumPy's ways that librosa knows, and PyTorch's two others.
_ENDS = {
    "edge": "edge",
    "symmetric": "symmetric",
    "linear_ramp": "linear_ramp",
    "empty": "constant",
    "replicate": "edge",
    "circular": "wrap",
}
#: Values of frames that are transformed at once: 16 MiB of complex ones.
_AT_ONCE = 1 << 20

_Native = tuple[int, int, int, str, float, str]


class Frames(_Native):
    """Frames as the native part takes them, with what it does not know beside them."""

    #: The values of the window, `n_fft` of them, where the native part does not make it.
    window: np.ndarray | None = None
    #: The way of `numpy.pad` to go on beyond the ends, where it is another than the native part's.
    ends: str | None = None
    #: The window as it was given.
    given: Window = "hann"

    @property
    def foreign(self) -> bool:
        """Whether spectra must be made here."""
        return self.window is not None or self.ends is not None

    def plain(self, where: str) -> Frames:
        """Itself, where everything in it is known to the native part."""
        if self.foreign:
            raise ValueError(
                f"{where} has the windows hann, hamming, blackman, povey, boxcar and kaiser, and "
                "pad_mode 'constant' and 'reflect'"
            )
        return self


def frames(
    n_fft: int,
    hop_length: int | None,
    win_length: int | None,
    window: Window,
    center: bool,
    pad_mode: str,
) -> Frames:
    """Frames with librosa's defaults."""
    length = count("n_fft", n_fft)
    under = length if win_length is None else count("win_length", win_length)
    hop = max(1, under // 4) if hop_length is None else count("hop_length", hop_length)
    ends = beyond(center, str(pad_mode))
    known = native(window, under)
    name, shape = known or (f"{type(window).__name__} of {under} values", 0.0)
    inner = ends if ends in _NATIVE_ENDS else "inside"
    found = Frames((length, hop, under, name, shape, inner))
    found.given = window
    if known is None:
        found.window = centred(window, under, length)
    if ends not in _NATIVE_ENDS:
        if ends not in _ENDS:
            known_ends = ", ".join(["constant", "reflect", *_ENDS])
            raise ValueError(f"pad_mode = {pad_mode!r} is unknown: {known_ends} are known")
        found.ends = _ENDS[ends]
    return found


def spectra(y: Any, of: Frames, kind: str) -> np.ndarray:
    """`complex` spectra of signals, their `magnitude` or their `power`."""
    if of.ends is not None:
        y = padded(y, of[0] // 2, of.ends)
    if of.window is None:
        return each_matrix(y, lambda signal: _native.stft(signal, of, kind))
    shape = of.window.astype(np.float32)
    if of[5] in ("constant", "reflect"):
        y = padded(y, of[0] // 2, of[5])
    return each_matrix(y, lambda signal: _transformed(signal, of, shape, kind))


def padded(y: Any, several: int, mode: str) -> np.ndarray:
    """Signals with so many samples more on each side."""
    array = signals(y)
    room = [(0, 0)] * (array.ndim - 1) + [(several, several)]
    if array.shape[-1] == 0:
        raise ValueError("the signal is empty")
    found: np.ndarray = np.pad(array, room, mode=mode)  # type: ignore[call-overload]
    return found


def _transformed(signal: np.ndarray, of: Frames, window: np.ndarray, kind: str) -> np.ndarray:
    size, hop = of[:2]
    if len(signal) < size:
        return np.zeros((size // 2 + 1, 0), np.complex64)
    if not np.isfinite(signal).all():
        raise ValueError("the signal holds a value that is not finite")
    cut = np.lib.stride_tricks.sliding_window_view(signal, size)[::hop]
    made = np.empty((size // 2 + 1, len(cut)), np.complex64 if kind == "complex" else np.float32)
    step = max(1, _AT_ONCE // size)
    for first in range(0, len(cut), step):
        found = np.fft.rfft(cut[first : first + step] * window).T
        if kind != "complex":
            found = np.abs(found) if kind == "magnitude" else np.square(np.abs(found))
        made[:, first : first + step] = found
    return made


def inverse(
    spectra: np.ndarray, of: Frames, samples: int, least: Callable[[np.ndarray], np.ndarray]
) -> np.ndarray:
    """Signals of `samples` behind spectra `(…, bins, frames)`, by overlapping and adding.

    `least` says at which sums of squared windows a sample is divided by them.
    """
    size, hop, under = of[:3]
    window = (centred(of.given, under, size) if of.window is None else of.window).astype(np.float32)
    middle = 0 if of[5] == "inside" else size // 2
    # Frames that begin after the last sample that is requested.
    spectra = spectra[..., : max(1, -(-(samples + middle) // hop))]
    pieces = np.fft.irfft(np.swapaxes(spectra, -1, -2), n=size).astype(np.float32) * window
    sound = overlapped(pieces, hop)
    weight = sum_of_squares(of.given, spectra.shape[-1], hop, under, size).astype(np.float32)
    covered = least(weight)
    sound[..., covered] /= weight[covered]
    sound = sound[..., middle : middle + samples]
    missing = samples - sound.shape[-1]
    return np.pad(sound, [(0, 0)] * (sound.ndim - 1) + [(0, missing)])
