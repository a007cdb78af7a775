"""Kaldi's features with torchaudio's arguments and numbers, `(frames, features)`.

Kaldi's samples are those of 16-bit integers: multiply a signal with full scale at 1 by 32768.

>>> import numpy as np
>>> from warpsmith.voice.torchaudio.compliance import kaldi
>>> kaldi.fbank(32768 * np.sin(np.arange(16000) / 5)[None], num_mel_bins=80).shape
(98, 80)
"""

from __future__ import annotations

import math
from typing import Any, Callable

import numpy as np

from ...arguments import count, number
from ...from_spectra import cosines
from ..checks import one_of, sound
from ..resampling import resample
from ..tensors import tensor, tensors, torch_module

__all__ = ["fbank", "get_mel_banks", "mfcc", "resample_waveform", "spectrogram"]

_WINDOWS = ("povey", "hanning", "hamming", "rectangular", "blackman")
_TINY = float(np.finfo(np.float32).eps)
#: Values of frames that are transformed at once.
_AT_ONCE = 1 << 20


class _Frames:
    """How Kaldi cuts a signal into frames, and what it does to each."""

    def __init__(self, waveform: Any, how: dict[str, Any]) -> None:
        signals = sound(waveform)
        channel = max(int(how["channel"]), 0)
        if signals.ndim != 2 or channel >= len(signals):
            raise ValueError(
                f"waveform has shape {signals.shape}; (channels, samples) with channel {channel} "
                "is needed"
            )
        self.signal = signals[channel]
        rate = number("sample_frequency", how["sample_frequency"])
        self.shift = int(rate * number("frame_shift", how["frame_shift"]) * 0.001)
        self.size = int(rate * number("frame_length", how["frame_length"]) * 0.001)
        if not 2 <= self.size <= len(self.signal) or self.shift < 1 or rate <= 0:
            raise ValueError(
                f"frames of {self.size} samples, {self.shift} apart, cannot be cut from "
                f"{len(self.signal)} samples: give a longer signal, or another frame_length and "
                "frame_shift (milliseconds)"
            )
        rounded = bool(how["round_to_power_of_two"])
        self.padded = 1 << (self.size - 1).bit_length() if rounded else self.size
        if self.padded % 2:
            raise ValueError(
                f"frames of {self.padded} samples are odd: use round_to_power_of_two, or another "
                "frame_length"
            )
        if not 0 <= number("preemphasis_coefficient", how["preemphasis_coefficient"]) <= 1:
            raise ValueError("preemphasis_coefficient goes from 0 to 1")
        self.short = len(self.signal) < number("min_duration", how["min_duration"]) * rate
        self.rate, self.how = rate, how
        self.window = _window(how["window_type"], self.size, number("blackman_coeff", how["blackman_coeff"]))

    def cut(self) -> np.ndarray:
        """All frames, as a view of the signal or of the signal with its mirror images."""
        signal, size, shift = self.signal, self.size, self.shift
        several = 1 + (len(signal) - size) // shift
        if not self.how["snip_edges"]:
            several = (len(signal) + shift // 2) // shift
            before = size // 2 - shift // 2
            mirrored = signal[::-1]
            first = [mirrored[-before:], signal] if before > 0 else [signal[-before:]]
            signal = np.concatenate([*first, mirrored])
        windows = np.lib.stride_tricks.sliding_window_view(signal, size)
        return windows[::shift][:several]

    def each(
        self, compute: Callable[[np.ndarray], np.ndarray]
    ) -> tuple[np.ndarray, np.ndarray]:
        """What `compute` makes of the magnitudes of all frames, and the frames' log energies."""
        frames = self.cut()
        step = max(1, _AT_ONCE // self.padded)
        made, energies = [], []
        for first in range(0, len(frames), step):
            ready, energy = self._ready(frames[first : first + step])
            made.append(compute(np.abs(np.fft.rfft(ready, self.padded)).astype(ready.dtype)))
            energies.append(energy)
        return np.concatenate(made), np.concatenate(energies)

    def _ready(self, frames: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        how, dtype = self.how, frames.dtype
        dither = number("dither", how["dither"])
        if dither:
            frames = frames + _gaussian(frames.shape).astype(dtype) * dtype.type(dither)
        if how["remove_dc_offset"]:
            frames = frames - frames.mean(axis=1, keepdims=True)
        raw = self._energy(frames) if how["raw_energy"] else None
        share = how["preemphasis_coefficient"]
        if share:
            before = np.concatenate([frames[:, :1], frames[:, :-1]], axis=1)
            frames = frames - dtype.type(share) * before
        frames = frames * self.window.astype(dtype)
        return frames, self._energy(frames) if raw is None else raw

    def _energy(self, frames: np.ndarray) -> np.ndarray:
        level: np.ndarray = np.log(np.maximum(np.square(frames).sum(axis=1), _TINY))
        floor = number("energy_floor", self.how["energy_floor"])
        return np.maximum(level, math.log(floor)) if floor > 0 else level


def _gaussian(shape: tuple[int, ...]) -> np.ndarray:
    """Noise, as PyTorch draws it where the program uses it."""
    torch = torch_module()
    return np.asarray(torch.randn(shape).numpy() if torch is not None else np.random.standard_normal(shape))


def _window(kind: str, size: int, coefficient: float) -> np.ndarray:
    one_of("window_type", kind, _WINDOWS)
    turn = 2 * np.pi * np.arange(size) / (size - 1)
    hann = 0.5 - 0.5 * np.cos(turn)
    made = {
        "hanning": hann,
        "povey": hann**0.85,
        "hamming": 0.54 - 0.46 * np.cos(turn),
        "rectangular": np.ones(size),
        "blackman": coefficient - 0.5 * np.cos(turn) + (0.5 - coefficient) * np.cos(2 * turn),
    }
    return np.asarray(made[kind])


def _less_mean(features: np.ndarray, wanted: bool) -> np.ndarray:
    return features - features.mean(axis=0, keepdims=True) if wanted else features


@tensors
def spectrogram(
    waveform: Any,
    blackman_coeff: float = 0.42,
    channel: int = -1,
    dither: float = 0.0,
    energy_floor: float = 1.0,
    frame_length: float = 25.0,
    frame_shift: float = 10.0,
    min_duration: float = 0.0,
    preemphasis_coefficient: float = 0.97,
    raw_energy: bool = True,
    remove_dc_offset: bool = True,
    round_to_power_of_two: bool = True,
    sample_frequency: float = 16000.0,
    snip_edges: bool = True,
    subtract_mean: bool = False,
    window_type: str = "povey",
) -> Any:
    """Logarithms of power spectra, with the energy of each frame in place of its first bin."""
    how = dict(locals())
    frames = _Frames(how.pop("waveform"), how)
    if frames.short:
        return np.zeros(0, np.float32)
    levels, energies = frames.each(lambda found: np.log(np.maximum(np.square(found), _TINY)))
    levels[:, 0] = energies
    return _less_mean(levels, subtract_mean)


@tensors
def fbank(
    waveform: Any,
    blackman_coeff: float = 0.42,
    channel: int = -1,
    dither: float = 0.0,
    energy_floor: float = 1.0,
    frame_length: float = 25.0,
    frame_shift: float = 10.0,
    high_freq: float = 0.0,
    htk_compat: bool = False,
    low_freq: float = 20.0,
    min_duration: float = 0.0,
    num_mel_bins: int = 23,
    preemphasis_coefficient: float = 0.97,
    raw_energy: bool = True,
    remove_dc_offset: bool = True,
    round_to_power_of_two: bool = True,
    sample_frequency: float = 16000.0,
    snip_edges: bool = True,
    subtract_mean: bool = False,
    use_energy: bool = False,
    use_log_fbank: bool = True,
    use_power: bool = True,
    vtln_high: float = -500.0,
    vtln_low: float = 100.0,
    vtln_warp: float = 1.0,
    window_type: str = "povey",
) -> Any:
    """Logarithms of powers in mel filters; with `use_energy` the frame's energy beside them."""
    how = dict(locals())
    frames = _Frames(how.pop("waveform"), how)
    if frames.short:
        return np.zeros(0, np.float32)
    return _less_mean(_bands(frames, how), subtract_mean)


def _bands(frames: _Frames, how: dict[str, Any]) -> np.ndarray:
    """Mel levels of frames, with their energy where that is requested."""
    weights, _ = _banks(
        how["num_mel_bins"],
        frames.padded,
        frames.rate,
        how["low_freq"],
        how["high_freq"],
        how["vtln_low"],
        how["vtln_high"],
        how["vtln_warp"],
    )
    columns = np.pad(weights, [(0, 0), (0, 1)]).T.astype(frames.signal.dtype)

    def levels(found: np.ndarray) -> np.ndarray:
        powers: np.ndarray = (np.square(found) if how.get("use_power", True) else found) @ columns
        return np.log(np.maximum(powers, _TINY)) if how.get("use_log_fbank", True) else powers

    bands, energies = frames.each(levels)
    if how["use_energy"]:
        parts = [bands, energies[:, None]] if how["htk_compat"] else [energies[:, None], bands]
        bands = np.concatenate(parts, axis=1)
    return bands.astype(frames.signal.dtype)


@tensors
def mfcc(
    waveform: Any,
    blackman_coeff: float = 0.42,
    cepstral_lifter: float = 22.0,
    channel: int = -1,
    dither: float = 0.0,
    energy_floor: float = 1.0,
    frame_length: float = 25.0,
    frame_shift: float = 10.0,
    high_freq: float = 0.0,
    htk_compat: bool = False,
    low_freq: float = 20.0,
    num_ceps: int = 13,
    min_duration: float = 0.0,
    num_mel_bins: int = 23,
    preemphasis_coefficient: float = 0.97,
    raw_energy: bool = True,
    remove_dc_offset: bool = True,
    round_to_power_of_two: bool = True,
    sample_frequency: float = 16000.0,
    snip_edges: bool = True,
    subtract_mean: bool = False,
    use_energy: bool = False,
    vtln_high: float = -500.0,
    vtln_low: float = 100.0,
    vtln_warp: float = 1.0,
    window_type: str = "povey",
) -> Any:
    """Cepstra of `fbank`; with `use_energy` the first is the frame's energy."""
    how = dict(locals())
    kept, filters = count("num_ceps", num_ceps), count("num_mel_bins", num_mel_bins)
    if kept > filters:
        raise ValueError(f"num_ceps = {num_ceps} cannot be used: there are {num_mel_bins} filters")
    frames = _Frames(how.pop("waveform"), how)
    if frames.short:
        return np.zeros(0, np.float32)
    bands = _bands(frames, how)
    energies = None
    if use_energy:
        place = filters if htk_compat else 0
        energies, bands = bands[:, place], np.delete(bands, place, axis=1)
    found: np.ndarray = bands @ cosines(filters, kept).T.astype(bands.dtype)
    lifter = number("cepstral_lifter", cepstral_lifter)
    if lifter:
        weights = 1 + 0.5 * lifter * np.sin(np.pi * np.arange(kept) / lifter)
        found = found * weights.astype(found.dtype)
    if energies is not None:
        found[:, 0] = energies
    if htk_compat:
        first = found[:, :1] if use_energy else found[:, :1] * found.dtype.type(math.sqrt(2))
        found = np.concatenate([found[:, 1:], first], axis=1)
    return _less_mean(found, subtract_mean)


def _mels(hertz: Any) -> Any:
    return 1127.0 * np.log(1.0 + np.asarray(hertz, np.float64) / 700.0)


def _hertz(mels: Any) -> Any:
    return 700.0 * (np.exp(np.asarray(mels, np.float64) / 1127.0) - 1.0)


def get_mel_banks(
    num_bins: int,
    window_length_padded: int,
    sample_freq: float,
    low_freq: float,
    high_freq: float,
    vtln_low: float,
    vtln_high: float,
    vtln_warp_factor: float,
) -> Any:
    """The weights of Kaldi's mel filters, `(num_bins, window_length_padded/2)`, and their middles in Hz."""
    made = _banks(
        num_bins,
        window_length_padded,
        sample_freq,
        low_freq,
        high_freq,
        vtln_low,
        vtln_high,
        vtln_warp_factor,
    )
    return tensor(made) if torch_module() is not None else made


def _banks(
    num_bins: int,
    window_length_padded: int,
    sample_freq: float,
    low_freq: float,
    high_freq: float,
    vtln_low: float,
    vtln_high: float,
    vtln_warp_factor: float,
) -> tuple[np.ndarray, np.ndarray]:
    several, size = count("num_mel_bins", num_bins, 4), count("the frame", window_length_padded, 2)
    nyquist = 0.5 * number("sample_frequency", sample_freq)
    low, high = number("low_freq", low_freq), number("high_freq", high_freq)
    high = high + nyquist if high <= 0 else high
    if not 0 <= low < high <= nyquist:
        raise ValueError(f"low_freq = {low:g}, high_freq = {high:g}: 0 ≤ low < high ≤ {nyquist:g} Hz")
    if several * size > 1 << 26:
        raise ValueError(f"{several} filters over frames of {size} would take more than 256 MiB")
    ends = np.linspace(_mels(low), _mels(high), several + 2)
    left, middle, right = ends[:-2, None], ends[1:-1, None], ends[2:, None]
    warp = number("vtln_warp", vtln_warp_factor)
    if warp != 1.0:
        bends = vtln_low, vtln_high + nyquist if vtln_high < 0 else vtln_high
        if not low < bends[0] < bends[1] < high or warp <= 0:
            raise ValueError(
                f"vtln_low = {bends[0]:g}, vtln_high = {bends[1]:g}, vtln_warp = {warp:g}: both lie "
                f"between {low:g} and {high:g} Hz, and the warp is above 0"
            )
        left, middle, right = (
            _mels(_warped(_hertz(edge), bends, (low, high), warp)) for edge in (left, middle, right)
        )
    bins = _mels(sample_freq / size * np.arange(size // 2))[None]
    up, down = (bins - left) / (middle - left), (right - bins) / (right - middle)
    weights = np.maximum(0, np.minimum(up, down))
    if warp != 1.0:
        rising = (bins > left) & (bins <= middle)
        falling = (bins > middle) & (bins < right)
        weights = np.where(rising, up, 0) + np.where(falling, down, 0)
    return weights.astype(np.float32), _hertz(middle).astype(np.float32)


def _warped(
    hertz: np.ndarray, bends: tuple[float, float], ends: tuple[float, float], warp: float
) -> np.ndarray:
    """Frequencies of a vocal tract of another length: three straight lines."""
    first, second = bends[0] * max(1.0, warp), bends[1] * min(1.0, warp)
    slow = (first / warp - ends[0]) / (first - ends[0])
    fast = (ends[1] - second / warp) / (ends[1] - second)
    found = np.where(hertz < second, hertz / warp, ends[1] + fast * (hertz - ends[1]))
    found = np.where(hertz < first, ends[0] + slow * (hertz - ends[0]), found)
    return np.where((hertz < ends[0]) | (hertz > ends[1]), hertz, found)


def resample_waveform(
    waveform: Any, orig_freq: float, new_freq: float, lowpass_filter_width: int = 6
) -> Any:
    """A signal at another rate."""
    return resample(waveform, int(orig_freq), int(new_freq), lowpass_filter_width)
