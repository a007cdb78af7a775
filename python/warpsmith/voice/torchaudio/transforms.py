"""Features with torchaudio's names: objects that are made once and called with signals.

A call takes NumPy arrays or PyTorch tensors of the CPU and gives what it was given. Objects are no
modules of PyTorch: they have no parameters and give no gradients.

>>> import numpy as np
>>> from warpsmith.voice import transforms
>>> mel = transforms.MelSpectrogram(sample_rate=16000, n_fft=400, n_mels=80)
>>> mel(np.sin(np.arange(16000) / 5)).shape
(80, 81)
"""

from __future__ import annotations

import math
from typing import Any, Sequence

import numpy as np

from .. import feature
from ..arguments import count, number
from ..windows import Window, values
from . import functional
from .checks import floats, one_of, sound, spectra
from .features import dct_rows, linear_weights, mel_weights
from .tensors import array, is_tensor, tensor, whole

__all__ = [
    "AddNoise",
    "AmplitudeToDB",
    "ComputeDeltas",
    "Convolve",
    "Deemphasis",
    "FFTConvolve",
    "Fade",
    "FrequencyMasking",
    "GriffinLim",
    "InverseMelScale",
    "InverseSpectrogram",
    "LFCC",
    "Loudness",
    "MFCC",
    "MelScale",
    "MelSpectrogram",
    "MuLawDecoding",
    "MuLawEncoding",
    "PitchShift",
    "Preemphasis",
    "Resample",
    "SlidingWindowCmn",
    "SpecAugment",
    "SpectralCentroid",
    "Spectrogram",
    "Speed",
    "SpeedPerturbation",
    "TimeMasking",
    "TimeStretch",
    "Vad",
    "Vol",
]

#: What torchaudio adds to powers before it takes logarithms.
_OFFSET = 1e-6


class _Transform:
    """A call that gives an array of the library that it was given one of."""

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        """What the object makes of a signal or of features."""
        given = [*arguments, *options.values()]
        found = self._compute(
            *[array(value) for value in arguments],
            **{name: array(value) for name, value in options.items()},
        )
        return tensor(found) if any(is_tensor(value) for value in given) else found

    def forward(self, *arguments: Any, **options: Any) -> Any:
        """The call by PyTorch's name."""
        return self(*arguments, **options)

    def to(self, *arguments: Any, **options: Any) -> Any:
        """Itself, on the CPU: there is nothing to move. Another device is an error."""
        for value in [*arguments, *options.values()]:
            kind = getattr(value, "type", value)
            if isinstance(kind, str) and kind != "cpu":
                raise ValueError(
                    f"`{value}` cannot be used: transforms work on the CPU; "
                    'voice.stft(…, device="cuda") and its like work on a GPU'
                )
        return self

    def eval(self) -> Any:
        """Itself: training and evaluation are the same here."""
        return self

    def train(self, mode: bool = True) -> Any:
        """Itself: training and evaluation are the same here."""
        return self

    def _compute(self, *arguments: Any, **options: Any) -> Any:
        raise NotImplementedError


class _Framed(_Transform):
    """What the transforms over frames share: sizes and the window."""

    def __init__(
        self,
        n_fft: int,
        win_length: int | None,
        hop_length: int | None,
        window_fn: Window,
        wkwargs: Any,
        parts: int = 2,
    ) -> None:
        self.n_fft = count("n_fft", n_fft)
        self.win_length = self.n_fft if win_length is None else count("win_length", win_length)
        under = max(1, self.win_length // parts)
        self.hop_length = under if hop_length is None else count("hop_length", hop_length)
        self.window: Any = window_fn
        if callable(window_fn):
            made: Any = window_fn(self.win_length, **(wkwargs or {}))
            self.window = array(made)
        elif wkwargs:
            raise ValueError("wkwargs are for a window_fn that is a function")
        values(self.window, self.win_length)

    def _sizes(self) -> dict[str, Any]:
        return {
            "window": self.window,
            "n_fft": self.n_fft,
            "hop_length": self.hop_length,
            "win_length": self.win_length,
        }


class Spectrogram(_Framed):
    """`|stft|` to `power`, or with `power=None` the complex spectra.

    Frames of `n_fft` samples, `hop_length` (half the window) apart, mirrored at the ends.
    `window_fn` is a function of the length, such as `torch.hann_window`, or a name.
    """

    def __init__(
        self,
        n_fft: int = 400,
        win_length: int | None = None,
        hop_length: int | None = None,
        pad: int = 0,
        window_fn: Window = "hann",
        power: float | None = 2.0,
        normalized: bool | str = False,
        wkwargs: Any = None,
        center: bool = True,
        pad_mode: str = "reflect",
        onesided: bool = True,
        return_complex: bool | None = None,
    ) -> None:
        super().__init__(n_fft, win_length, hop_length, window_fn, wkwargs)
        self.power = power
        self._how: dict[str, Any] = {
            "pad": pad,
            "power": power,
            "normalized": normalized,
            "center": center,
            "pad_mode": pad_mode,
            "onesided": onesided,
        }

    def _compute(self, waveform: Any) -> Any:
        return functional.spectrogram(waveform, **self._sizes(), **self._how)


class InverseSpectrogram(_Framed):
    """The signal behind complex spectra; a call takes its `length`, too."""

    def __init__(
        self,
        n_fft: int = 400,
        win_length: int | None = None,
        hop_length: int | None = None,
        pad: int = 0,
        window_fn: Window = "hann",
        normalized: bool | str = False,
        wkwargs: Any = None,
        center: bool = True,
        pad_mode: str = "reflect",
        onesided: bool = True,
    ) -> None:
        super().__init__(n_fft, win_length, hop_length, window_fn, wkwargs)
        self._how: dict[str, Any] = {
            "pad": pad,
            "normalized": normalized,
            "center": center,
            "pad_mode": pad_mode,
            "onesided": onesided,
        }

    def _compute(self, spectrogram: Any, length: int | None = None) -> Any:
        how = {**self._sizes(), **self._how}
        return functional.inverse_spectrogram(spectrogram, length, **how)


class GriffinLim(_Framed):
    """A signal whose magnitudes to `power` are near the given ones."""

    def __init__(
        self,
        n_fft: int = 400,
        n_iter: int = 32,
        win_length: int | None = None,
        hop_length: int | None = None,
        window_fn: Window = "hann",
        power: float = 2.0,
        wkwargs: Any = None,
        momentum: float = 0.99,
        length: int | None = None,
        rand_init: bool = True,
    ) -> None:
        super().__init__(n_fft, win_length, hop_length, window_fn, wkwargs)
        if number("power", power) <= 0 or not 0 <= number("momentum", momentum) < 1:
            raise ValueError(
                f"power = {power}, momentum = {momentum}: power is above 0, momentum from 0 to below 1"
            )
        self._how: dict[str, Any] = {
            "power": power,
            "n_iter": count("n_iter", n_iter, 0),
            "momentum": momentum,
            "length": length,
            "rand_init": rand_init,
        }

    def _compute(self, specgram: Any) -> Any:
        return functional.griffinlim(specgram, **self._sizes(), **self._how)


class AmplitudeToDB(_Transform):
    """Powers (`stype="power"`) or magnitudes in dB, within `top_db` of the largest."""

    def __init__(self, stype: str = "power", top_db: float | None = None) -> None:
        one_of("stype", stype, ("power", "magnitude", "amplitude"))
        if top_db is not None and number("top_db", top_db) < 0:
            raise ValueError(f"top_db = {top_db} cannot be used: it must not be below 0")
        self.stype, self.top_db = stype, top_db
        self._multiplier = 10.0 if stype == "power" else 20.0

    def _compute(self, x: Any) -> Any:
        return functional.amplitude_to_DB(x, self._multiplier, 1e-10, 0.0, self.top_db)


class MelScale(_Transform):
    """Mel filters over spectra of `n_stft` bins; HTK's curve without a norm unless said otherwise."""

    def __init__(
        self,
        n_mels: int = 128,
        sample_rate: int = 16000,
        f_min: float = 0.0,
        f_max: float | None = None,
        n_stft: int = 201,
        norm: str | None = None,
        mel_scale: str = "htk",
    ) -> None:
        self.n_mels, self.sample_rate = n_mels, count("sample_rate", sample_rate)
        self.f_min = f_min
        self.f_max = float(self.sample_rate // 2) if f_max is None else f_max
        how = self.f_min, self.f_max, n_mels, self.sample_rate, norm, mel_scale
        #: The weights, `(n_stft, n_mels)`.
        self.fb = mel_weights(n_stft, *how)

    def _compute(self, specgram: Any) -> Any:
        return _weighed(specgram, self.fb)


def _weighed(specgram: Any, weights: np.ndarray) -> np.ndarray:
    levels = spectra(specgram)
    if levels.shape[-2] != len(weights):
        raise ValueError(f"there are {levels.shape[-2]} bins; the filters have {len(weights)}")
    found: np.ndarray = weights.T.astype(levels.dtype) @ levels
    return found


class InverseMelScale(_Transform):
    """Spectra that mel filters would make the given levels of, by least squares, none below 0.

    Of many such spectra the smallest, as torchaudio's driver `gelsd` finds it; its standard driver
    gives the same where the filters depend on each other in no way.
    """

    def __init__(
        self,
        n_stft: int,
        n_mels: int = 128,
        sample_rate: int = 16000,
        f_min: float = 0.0,
        f_max: float | None = None,
        norm: str | None = None,
        mel_scale: str = "htk",
        driver: str = "gels",
    ) -> None:
        one_of("driver", driver, ("gels", "gelsy", "gelsd", "gelss"))
        rate = count("sample_rate", sample_rate)
        high = float(rate // 2) if f_max is None else f_max
        #: The weights, `(n_stft, n_mels)`.
        self.fb = mel_weights(n_stft, f_min, high, n_mels, rate, norm, mel_scale)
        self._inverse = np.linalg.pinv(self.fb.T.astype(np.float64)).astype(np.float32)

    def _compute(self, melspec: Any) -> Any:
        levels = spectra(melspec, "melspec")
        if levels.shape[-2] != self.fb.shape[1]:
            raise ValueError(
                f"there are {levels.shape[-2]} mel bins; the filters have {self.fb.shape[1]}"
            )
        return np.maximum(0, self._inverse.astype(levels.dtype) @ levels)


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
        pad: int = 0,
        n_mels: int = 128,
        window_fn: Window = "hann",
        power: float = 2.0,
        normalized: bool | str = False,
        wkwargs: Any = None,
        center: bool = True,
        pad_mode: str = "reflect",
        onesided: bool | None = None,
        norm: str | None = None,
        mel_scale: str = "htk",
    ) -> None:
        self.spectrogram = Spectrogram(
            n_fft,
            win_length,
            hop_length,
            pad,
            window_fn,
            power,
            normalized,
            wkwargs,
            center,
            pad_mode,
        )
        bins = self.spectrogram.n_fft // 2 + 1
        self.mel_scale = MelScale(n_mels, sample_rate, f_min, f_max, bins, norm, mel_scale)
        self.sample_rate, self.n_mels, self.power = self.mel_scale.sample_rate, n_mels, power
        self.n_fft = self.spectrogram.n_fft
        self.hop_length, self.win_length = self.spectrogram.hop_length, self.spectrogram.win_length
        self.f_min, self.f_max = self.mel_scale.f_min, self.mel_scale.f_max
        # Spectra and filters in one go, where the bins lie where torchaudio takes them to be.
        one_go = power == 2 and not pad and not normalized and pad_mode in ("reflect", "constant")
        self._at_once: dict[str, Any] | None = None
        if one_go and self.n_fft % 2 == 0 and self.sample_rate % 2 == 0:
            self._at_once = {
                "sr": self.sample_rate,
                "n_mels": n_mels,
                "fmin": f_min,
                "fmax": self.f_max,
                "htk": mel_scale == "htk",
                "norm": norm,
                "center": center,
                "pad_mode": pad_mode,
                **self.spectrogram._sizes(),
            }

    def _compute(self, waveform: Any) -> Any:
        signal = sound(waveform)
        short = self.n_fft // 2 >= signal.shape[-1]
        if self._at_once is not None and not short:
            return feature.melspectrogram(y=signal, **self._at_once)
        return self.mel_scale._compute(self.spectrogram._compute(signal))


class MFCC(_Transform):
    """Cepstral coefficients of mel powers in dB, 80 dB below the largest of the call at least.

    With `log_mels`, of the natural logarithms of powers. `melkwargs` are the options of
    `MelSpectrogram`.
    """

    def __init__(
        self,
        sample_rate: int = 16000,
        n_mfcc: int = 40,
        dct_type: int = 2,
        norm: str | None = "ortho",
        log_mels: bool = False,
        melkwargs: Any = None,
    ) -> None:
        one_of("dct_type", dct_type, (2,))
        self.MelSpectrogram = MelSpectrogram(sample_rate, **(melkwargs or {}))
        self.sample_rate, self.n_mfcc, self.log_mels = sample_rate, n_mfcc, log_mels
        self._rows = dct_rows(n_mfcc, self.MelSpectrogram.n_mels, norm)

    def _compute(self, waveform: Any) -> Any:
        return self._rows @ _levels(self.MelSpectrogram._compute(waveform), self.log_mels)


class LFCC(_Transform):
    """Cepstral coefficients of powers in filters that are evenly apart in hertz.

    `speckwargs` are the options of `Spectrogram`.
    """

    def __init__(
        self,
        sample_rate: int = 16000,
        n_filter: int = 128,
        f_min: float = 0.0,
        f_max: float | None = None,
        n_lfcc: int = 40,
        dct_type: int = 2,
        norm: str | None = "ortho",
        log_lf: bool = False,
        speckwargs: Any = None,
    ) -> None:
        one_of("dct_type", dct_type, (2,))
        self.Spectrogram = Spectrogram(**(speckwargs or {}))
        self.sample_rate, self.n_lfcc, self.log_lf = sample_rate, n_lfcc, log_lf
        high = float(sample_rate // 2) if f_max is None else f_max
        bins = self.Spectrogram.n_fft // 2 + 1
        self._weights = linear_weights(bins, f_min, high, n_filter, sample_rate)
        self._rows = dct_rows(n_lfcc, n_filter, norm)

    def _compute(self, waveform: Any) -> Any:
        powers = _weighed(self.Spectrogram._compute(waveform), self._weights)
        return self._rows @ _levels(powers, self.log_lf)


def _levels(powers: np.ndarray, natural: bool) -> Any:
    if natural:
        return np.log(powers + powers.dtype.type(_OFFSET))
    return functional.amplitude_to_DB(powers, 10.0, 1e-10, 0.0, 80.0)


class MuLawEncoding(_Transform):
    """Samples within full scale as whole numbers."""

    def __init__(self, quantization_channels: int = 256) -> None:
        self.quantization_channels = count("quantization_channels", quantization_channels, 2)

    def _compute(self, x: Any) -> Any:
        return functional.mu_law_encoding(x, self.quantization_channels)


class MuLawDecoding(_Transform):
    """The inverse of `MuLawEncoding`."""

    def __init__(self, quantization_channels: int = 256) -> None:
        self.quantization_channels = count("quantization_channels", quantization_channels, 2)

    def _compute(self, x_mu: Any) -> Any:
        return functional.mu_law_decoding(x_mu, self.quantization_channels)


class Resample(_Transform):
    """Another rate, by torchaudio's filter; `voice.resample` has one of 120 dB."""

    def __init__(
        self,
        orig_freq: int = 16000,
        new_freq: int = 16000,
        resampling_method: str = "sinc_interp_hann",
        lowpass_filter_width: int = 6,
        rolloff: float = 0.99,
        beta: float | None = None,
        *,
        dtype: Any = None,
    ) -> None:
        self.orig_freq = count("orig_freq", orig_freq)
        self.new_freq = count("new_freq", new_freq)
        how = lowpass_filter_width, rolloff, resampling_method, beta
        self._how = self.orig_freq, self.new_freq, *how
        # What cannot be used is said here, and the filters are made once.
        functional.resample(np.zeros(1, np.float32), *self._how)

    def _compute(self, waveform: Any) -> Any:
        return functional.resample(waveform, *self._how)


class ComputeDeltas(_Transform):
    """How features move along the last axis."""

    def __init__(self, win_length: int = 5, mode: str = "replicate") -> None:
        self.win_length, self.mode = count("win_length", win_length, 3), mode

    def _compute(self, specgram: Any) -> Any:
        return functional.compute_deltas(specgram, self.win_length, self.mode)


class TimeStretch(_Transform):
    """Complex spectra at another speed and the same pitch; a call takes a rate of its own."""

    def __init__(
        self, hop_length: int | None = None, n_freq: int = 201, fixed_rate: float | None = None
    ) -> None:
        bins = count("n_freq", n_freq, 2)
        hop = bins - 1 if hop_length is None else count("hop_length", hop_length)
        self.fixed_rate = fixed_rate
        self._advance = np.linspace(0, math.pi * hop, bins)[:, None]

    def _compute(self, complex_specgrams: Any, overriding_rate: float | None = None) -> Any:
        rate = self.fixed_rate if overriding_rate is None else overriding_rate
        if rate is None:
            raise ValueError("give a fixed_rate, or a rate to the call")
        return functional.phase_vocoder(complex_specgrams, rate, self._advance)


class Fade(_Transform):
    """A signal that is faded in and out.

    `fade_shape` is `linear`, `exponential`, `logarithmic`, `quarter_sine` or `half_sine`.
    """

    def __init__(
        self, fade_in_len: int = 0, fade_out_len: int = 0, fade_shape: str = "linear"
    ) -> None:
        self.fade_in_len = count("fade_in_len", fade_in_len, 0)
        self.fade_out_len = count("fade_out_len", fade_out_len, 0)
        self.fade_shape = one_of("fade_shape", fade_shape, tuple(_FADES))

    def _compute(self, waveform: Any) -> Any:
        signal = floats(waveform)
        samples = signal.shape[-1]
        if max(self.fade_in_len, self.fade_out_len) > samples:
            raise ValueError(
                f"the signal has {samples} samples; it is faded over {self.fade_in_len} and "
                f"{self.fade_out_len}"
            )
        level = np.ones(samples)
        rising, falling = _FADES[self.fade_shape]
        level[: self.fade_in_len] *= np.clip(rising(np.linspace(0, 1, self.fade_in_len)), 0, 1)
        end = samples - self.fade_out_len
        level[end:] *= np.clip(falling(np.linspace(0, 1, self.fade_out_len)), 0, 1)
        return signal * level.astype(signal.dtype)


#: How a fade goes from 0 to 1, and how from 1 to 0.
_FADES: dict[str, Any] = {
    "linear": (lambda t: t, lambda t: 1 - t),
    "exponential": (lambda t: 2 ** (t - 1) * t, lambda t: 2**-t * (1 - t)),
    "logarithmic": (lambda t: np.log10(0.1 + t) + 1, lambda t: np.log10(1.1 - t) + 1),
    "quarter_sine": (
        lambda t: np.sin(t * math.pi / 2),
        lambda t: np.sin(t * math.pi / 2 + math.pi / 2),
    ),
    "half_sine": (
        lambda t: np.sin(t * math.pi - math.pi / 2) / 2 + 0.5,
        lambda t: np.sin(t * math.pi + math.pi / 2) / 2 + 0.5,
    ),
}


class _AxisMasking(_Transform):
    """A mask over features or frames."""

    def __init__(self, mask_param: int, axis: int, iid_masks: bool, p: float = 1.0) -> None:
        self.mask_param = count("mask_param", mask_param, 0)
        self.axis, self.iid_masks, self.p = axis, iid_masks, p
        if not 0.0 <= number("p", p) <= 1.0:
            raise ValueError(f"p = {p} cannot be used: it goes from 0 to 1")

    def _compute(self, specgram: Any, mask_value: float = 0.0) -> Any:
        mask = functional.mask_along_axis_iid if self.iid_masks else functional.mask_along_axis
        axis = self.axis + np.ndim(specgram) - 3
        return mask(specgram, self.mask_param, mask_value, axis, p=self.p)


class FrequencyMasking(_AxisMasking):
    """Features with up to `freq_mask_param` neighbouring rows masked, drawn at each call."""

    def __init__(self, freq_mask_param: int, iid_masks: bool = False) -> None:
        super().__init__(freq_mask_param, 1, iid_masks)


class TimeMasking(_AxisMasking):
    """Features with up to `time_mask_param` neighbouring frames masked, at most the share `p`."""

    def __init__(self, time_mask_param: int, iid_masks: bool = False, p: float = 1.0) -> None:
        super().__init__(time_mask_param, 2, iid_masks, p)


class SpecAugment(_Transform):
    """Several masks over frames and features (Park and others 2019)."""

    def __init__(
        self,
        n_time_masks: int,
        time_mask_param: int,
        n_freq_masks: int,
        freq_mask_param: int,
        iid_masks: bool = True,
        p: float = 1.0,
        zero_masking: bool = False,
    ) -> None:
        self._masks = [(2, time_mask_param)] * count("n_time_masks", n_time_masks, 0)
        self._masks += [(1, freq_mask_param)] * count("n_freq_masks", n_freq_masks, 0)
        self.iid_masks, self.p, self.zero_masking = iid_masks, p, zero_masking

    def _compute(self, specgram: Any) -> Any:
        values = spectra(specgram)
        value = 0.0 if self.zero_masking else float(values.mean())
        own = self.iid_masks and values.ndim > 2
        mask = functional.mask_along_axis_iid if own else functional.mask_along_axis
        for axis, widest in self._masks:
            values = mask(values, widest, value, axis + values.ndim - 3, p=self.p)
        return values


class Loudness(_Transform):
    """The loudness of `(…, channels, samples)` in LKFS; `voice.loudness` has BS.1770's filters."""

    def __init__(self, sample_rate: int) -> None:
        self.sample_rate = count("sample_rate", sample_rate)

    def _compute(self, waveform: Any) -> Any:
        return functional.loudness(waveform, self.sample_rate)


class Vol(_Transform):
    """A signal with a gain (`amplitude`, `power` or `db`), within full scale."""

    def __init__(self, gain: float, gain_type: str = "amplitude") -> None:
        one_of("gain_type", gain_type, ("amplitude", "power", "db"))
        if gain_type != "db" and number("gain", gain) < 0:
            raise ValueError(f"gain = {gain} cannot be used: it must not be below 0")
        self.gain, self.gain_type = gain, gain_type

    def _compute(self, waveform: Any) -> Any:
        signal = floats(waveform)
        if self.gain_type == "db":
            signal = functional.gain(signal, self.gain)
        else:
            root = self.gain if self.gain_type == "amplitude" else math.sqrt(self.gain)
            signal = signal * signal.dtype.type(root)
        return np.clip(signal, -1, 1)


class SlidingWindowCmn(_Transform):
    """Features `(…, frames, features)` less their mean over the frames around."""

    def __init__(
        self,
        cmn_window: int = 600,
        min_cmn_window: int = 100,
        center: bool = False,
        norm_vars: bool = False,
    ) -> None:
        self._how = cmn_window, min_cmn_window, center, norm_vars

    def _compute(self, specgram: Any) -> Any:
        return functional.sliding_window_cmn(specgram, *self._how)


class Vad(_Transform):
    """A signal without what is before its first speech; `how` are the choices of `vad`."""

    def __init__(self, sample_rate: int, trigger_level: float = 7.0, **how: Any) -> None:
        self.sample_rate = count("sample_rate", sample_rate)
        self._how = {"trigger_level": trigger_level, **how}
        # A choice that `vad` does not have is said here.
        functional.vad(np.zeros(1, np.float32), self.sample_rate, **self._how)

    def _compute(self, waveform: Any) -> Any:
        return functional.vad(waveform, self.sample_rate, **self._how)


class SpectralCentroid(_Framed):
    """The mean frequency of the magnitudes of each frame, Hz: `(…, frames)`."""

    def __init__(
        self,
        sample_rate: int,
        n_fft: int = 400,
        win_length: int | None = None,
        hop_length: int | None = None,
        pad: int = 0,
        window_fn: Window = "hann",
        wkwargs: Any = None,
    ) -> None:
        super().__init__(n_fft, win_length, hop_length, window_fn, wkwargs)
        self.sample_rate, self.pad = count("sample_rate", sample_rate), pad

    def _compute(self, waveform: Any) -> Any:
        how = {**self._sizes(), "pad": self.pad}
        return functional.spectral_centroid(waveform, self.sample_rate, **how)


class PitchShift(_Framed):
    """A signal `n_steps` steps of the octave higher, as long as before."""

    def __init__(
        self,
        sample_rate: int,
        n_steps: float,
        bins_per_octave: int = 12,
        n_fft: int = 512,
        win_length: int | None = None,
        hop_length: int | None = None,
        window_fn: Window = "hann",
        wkwargs: Any = None,
    ) -> None:
        super().__init__(n_fft, win_length, hop_length, window_fn, wkwargs, 4)
        self._how = count("sample_rate", sample_rate), number("n_steps", n_steps)
        self._octave = count("bins_per_octave", bins_per_octave)

    def _compute(self, waveform: Any) -> Any:
        return functional.pitch_shift(waveform, *self._how, self._octave, **self._sizes())


class Convolve(_Transform):
    """The convolution of two signals; `mode` is `full`, `valid` or `same`."""

    def __init__(self, mode: str = "full") -> None:
        self.mode = one_of("mode", mode, ("full", "valid", "same"))

    def _compute(self, x: Any, y: Any) -> Any:
        return functional.convolve(x, y, self.mode)


class FFTConvolve(Convolve):
    """The same: all convolutions are by Fourier transforms here."""


class Speed(_Transform):
    """A signal `factor` times as fast and as high, and the lengths that signals have then."""

    def __init__(self, orig_freq: int, factor: float) -> None:
        self.orig_freq = count("orig_freq", orig_freq)
        self.factor = number("factor", factor)
        if self.factor <= 0:
            raise ValueError(f"factor = {factor} cannot be used: it must be above 0")

    def _compute(self, waveform: Any, lengths: Any = None) -> Any:
        return functional.speed(waveform, self.orig_freq, self.factor, lengths)


class SpeedPerturbation(_Transform):
    """`Speed` with one of `factors`, drawn at each call."""

    def __init__(self, orig_freq: int, factors: Sequence[float]) -> None:
        self._speeds = [Speed(orig_freq, factor) for factor in factors]
        if not self._speeds:
            raise ValueError("factors is empty; give one or more")

    def _compute(self, waveform: Any, lengths: Any = None) -> Any:
        return self._speeds[whole(len(self._speeds))]._compute(waveform, lengths)


class AddNoise(_Transform):
    """A signal with noise that is `snr` dB below it."""

    def _compute(self, waveform: Any, noise: Any, snr: Any, lengths: Any = None) -> Any:
        return functional.add_noise(waveform, noise, snr, lengths)


class Preemphasis(_Transform):
    """`x[n] − coeff·x[n−1]`."""

    def __init__(self, coeff: float = 0.97) -> None:
        self.coeff = number("coeff", coeff)

    def _compute(self, waveform: Any) -> Any:
        return functional.preemphasis(waveform, self.coeff)


class Deemphasis(_Transform):
    """The inverse of `Preemphasis`, within full scale."""

    def __init__(self, coeff: float = 0.97) -> None:
        self.coeff = number("coeff", coeff)

    def _compute(self, waveform: Any) -> Any:
        return functional.deemphasis(waveform, self.coeff)
