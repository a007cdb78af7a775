"""Spectra and signals from spectra, with torchaudio's arguments and numbers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .. import spectra as voice_spectra
from ..arguments import count, number
from ..framing import frames, inverse, padded
from ..framing import spectra as framed
from ..windows import values as window_values
from .checks import one_of, sound, spectra
from .resampling import resample
from .tensors import tensors, uniform

#: Samples that may follow a signal as zeros: 1 GiB.
_LONGEST = 1 << 28
_NORMS = (False, True, "window", "frame_length", None)


@tensors
def spectrogram(
    waveform: Any,
    pad: int,
    window: Any,
    n_fft: int,
    hop_length: int,
    win_length: int,
    power: float | None,
    normalized: bool | str,
    center: bool = True,
    pad_mode: str = "reflect",
    onesided: bool = True,
    return_complex: bool | None = None,
) -> Any:
    """`|stft|` to `power`, or with `power=None` the complex spectra: `(…, bins, frames)`.

    `window` are values, a name or a function of the length. `pad` puts zeros around the signal
    first. `normalized` divides by the root of the window's summed squares (`True`, `"window"`) or
    of `n_fft` (`"frame_length"`).

    >>> import numpy as np
    >>> from warpsmith.voice.torchaudio import functional
    >>> functional.spectrogram(np.ones(800), 0, "hann", 400, 200, 400, 2.0, False).shape
    (201, 5)
    """
    one_of("normalized", normalized, _NORMS)
    signal = sound(waveform)
    around = count("pad", pad, 0)
    if around:
        signal = padded(signal, around, "constant")
    of = frames(n_fft, hop_length, win_length, window, center, pad_mode)
    if center and pad_mode == "reflect" and of[0] // 2 >= signal.shape[-1]:
        raise ValueError(
            f'pad_mode = "reflect" needs more than half of n_fft = {n_fft}; the signal has '
            f"{signal.shape[-1]} samples"
        )
    exponent = None if power is None else number("power", power)
    kind = {1.0: "magnitude", 2.0: "power"}.get(-1.0 if exponent is None else exponent, "complex")
    found = framed(signal, of, kind)
    scale = _scale(normalized, window, of[2], n_fft)
    if kind == "complex" and exponent is not None:
        found = np.abs(found) ** np.float32(exponent)
    if scale != 1:
        found = found * np.float32(scale ** (1.0 if exponent is None else exponent))
    if not onesided:
        rest = found[..., 1 : (n_fft + 1) // 2, :][..., ::-1, :]
        found = np.concatenate([found, rest.conj()], axis=-2)
    return found


def _scale(normalized: Any, window: Any, win_length: int, n_fft: int) -> float:
    if normalized in (True, "window"):
        return float(1 / np.sqrt(np.sum(window_values(window, win_length) ** 2)))
    return 1 / math.sqrt(n_fft) if normalized == "frame_length" else 1.0


@tensors
def inverse_spectrogram(
    spectrogram: Any,
    length: int | None,
    pad: int,
    window: Any,
    n_fft: int,
    hop_length: int,
    win_length: int,
    normalized: bool | str,
    center: bool = True,
    pad_mode: str = "reflect",
    onesided: bool = True,
) -> Any:
    """The signal behind complex spectra, of `length` samples where that is given."""
    one_of("normalized", normalized, _NORMS)
    values = np.asarray(spectrogram)
    if values.dtype.kind != "c":
        raise ValueError("Expected `spectrogram` to be complex: take one with power=None")
    if not onesided:
        values = values[..., : n_fft // 2 + 1, :]
    scale = _scale(normalized, window, win_length, n_fft)
    if scale != 1:
        values = values / np.float32(scale)
    around = count("pad", pad, 0)
    wanted = None if length is None else count("length", length) + 2 * around
    signal = _signal(values, n_fft, hop_length, win_length, window, center, wanted)
    end = signal.shape[-1] - around if around else None
    return signal[..., around:end]


def _signal(
    values: np.ndarray,
    n_fft: int,
    hop_length: int,
    win_length: int,
    window: Any,
    center: bool,
    wanted: int | None,
) -> np.ndarray:
    """`torch.istft`: what no window covers cannot be brought back, and is an error."""
    of = frames(n_fft, hop_length, win_length, window, center, "constant")
    if values.ndim < 2 or values.shape[-2] != n_fft // 2 + 1 or values.shape[-1] == 0:
        raise ValueError(
            f"the spectra have shape {values.shape}; {n_fft // 2 + 1} bins by frames are needed"
        )
    samples = of[1] * (values.shape[-1] - 1) + of[0] - (2 * (of[0] // 2) if center else 0)
    wanted = samples if wanted is None else wanted
    if wanted > max(_LONGEST, 4 * samples):
        raise ValueError(f"length = {wanted} cannot be used: the spectra are of {samples} samples")
    kept = min(wanted, samples + (of[0] // 2 if center else 0))
    spectra = np.ascontiguousarray(values, np.complex64)
    rows = spectra.reshape((-1,) + spectra.shape[-2:])
    made = inverse(rows, of, kept, _covered(of[0] // 2 if center else 0, kept))
    made = np.pad(made, [(0, 0), (0, wanted - kept)])
    return made.reshape(spectra.shape[:-2] + (wanted,))


def _covered(start: int, kept: int) -> Any:
    def least(weight: np.ndarray) -> np.ndarray:
        if kept < 1 or weight[start : start + kept].min() < 1e-11:
            raise ValueError(
                "no window covers some samples, which cannot be brought back: use a shorter "
                "hop_length, another window or center=True"
            )
        covered: np.ndarray = weight > 1e-11
        return covered

    return least


@tensors
def griffinlim(
    specgram: Any,
    window: Any,
    n_fft: int,
    hop_length: int,
    win_length: int,
    power: float,
    n_iter: int,
    momentum: float,
    length: int | None,
    rand_init: bool,
) -> Any:
    """A signal whose magnitudes to `power` are near the given ones.

    Phases begin at random, or with `rand_init=False` at 0, which has torchaudio's numbers.
    """
    exponent, rate = number("power", power), number("momentum", momentum)
    if exponent <= 0 or not 0 <= rate < 1:
        raise ValueError(
            f"power = {power}, momentum = {momentum}: power is above 0, momentum from 0 to below 1"
        )
    powers = spectra(specgram)
    if (powers < 0).any():
        raise ValueError("specgram holds a negative value; magnitudes to a power are needed")
    magnitudes = (powers ** (1 / exponent)).astype(np.float32)
    phases = np.ones(magnitudes.shape, np.complex64)
    if rand_init:
        drawn = uniform((2,) + magnitudes.shape)
        phases = (drawn[0] + 1j * drawn[1]).astype(np.complex64)
    of = frames(n_fft, hop_length, win_length, window, True, "reflect")
    return voice_spectra.rebuilt_from(
        magnitudes,
        phases,
        lambda values: _signal(values, n_fft, hop_length, win_length, window, True, length),
        lambda signal: framed(signal, of, "complex"),
        count("n_iter", n_iter, 0),
        rate / (1 + rate),
    )


@tensors
def phase_vocoder(complex_specgrams: Any, rate: float, phase_advance: Any) -> Any:
    """Spectra `rate` times as fast, at the same pitch.

    `phase_advance` is what each bin's phase goes on by between frames, `(bins, 1)`.
    """
    values = np.asarray(complex_specgrams)
    faster = number("rate", rate)
    if values.ndim < 2 or values.dtype.kind != "c" or faster <= 0:
        raise ValueError(
            f"rate = {rate}, spectra of shape {values.shape} and {values.dtype}: the rate is above 0, "
            "and complex bins by frames are needed"
        )
    if faster == 1:
        return values
    advance = np.asarray(phase_advance, np.float64).reshape(-1)
    if len(advance) != values.shape[-2]:
        raise ValueError(f"phase_advance has {len(advance)} values for {values.shape[-2]} bins")
    steps = np.arange(0, values.shape[-1], faster)
    return voice_spectra.advanced(values, steps, advance)


@tensors
def pitch_shift(
    waveform: Any,
    sample_rate: int,
    n_steps: float,
    bins_per_octave: int = 12,
    n_fft: int = 512,
    win_length: int | None = None,
    hop_length: int | None = None,
    window: Any = None,
) -> Any:
    """A signal `n_steps` steps of the octave higher, as long as before."""
    rate = count("sample_rate", sample_rate)
    factor = 2.0 ** (-number("n_steps", n_steps) / count("bins_per_octave", bins_per_octave))
    signal = sound(waveform)
    under = count("n_fft", n_fft) if win_length is None else count("win_length", win_length)
    hop = n_fft // 4 if hop_length is None else hop_length
    shape = "hann" if window is None else window
    values = spectrogram(signal, 0, shape, n_fft, hop, under, None, False)
    advance = np.linspace(0, math.pi * hop, values.shape[-2])[:, None]
    stretched = phase_vocoder(values, factor, advance)
    samples = round(signal.shape[-1] / factor)
    longer = _signal(stretched, n_fft, hop, under, shape, True, samples)
    moved = resample(longer, int(rate / factor), rate)[..., : signal.shape[-1]]
    room = [(0, 0)] * (moved.ndim - 1) + [(0, signal.shape[-1] - moved.shape[-1])]
    return np.pad(moved, room)


@tensors
def spectral_centroid(
    waveform: Any,
    sample_rate: int,
    pad: int,
    window: Any,
    n_fft: int,
    hop_length: int,
    win_length: int,
) -> Any:
    """The mean frequency of the magnitudes of each frame, Hz: `(…, frames)`; NaN in silence."""
    levels = spectrogram(waveform, pad, window, n_fft, hop_length, win_length, 1.0, False)
    hertz = np.linspace(0, count("sample_rate", sample_rate) // 2, levels.shape[-2])[:, None]
    with np.errstate(invalid="ignore"):
        found = (hertz * levels).sum(-2) / levels.sum(-2)
    return found.astype(np.float32)
