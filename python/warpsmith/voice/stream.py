"""Analyses and changes of sound that is still arriving.

Each function makes a [Stream](#warpsmithvoicestreamstream) with the options of the call of the same
name for whole signals. A stream takes blocks of any sizes; the results, one after the other, are
bit for bit those of the whole signal, whatever the blocks are. Where that is not so, the function's
documentation says what is.

>>> import numpy as np
>>> from warpsmith import voice
>>> y = np.sin(np.arange(16000) / 5).astype(np.float32)
>>> stream = voice.stream.melspectrogram(sr=16000, n_mels=40)
>>> parts = [stream.process(block) for block in np.array_split(y, 7)] + [stream.finish()]
>>> whole = voice.feature.melspectrogram(y=y, sr=16000, n_mels=40)
>>> bool((np.concatenate(parts, axis=-1) == whole).all())
True
"""

from __future__ import annotations

from os import PathLike
from typing import Any, Callable

import numpy as np

from .. import _native
from . import pitch as _pitch
from .arguments import bank, beyond, count, number, one_signal, span
from .framing import frames
from .windows import Window


class Stream:
    """An analysis or a change of sound with what it remembers.

    What has the features of frames is `(features, frames)`, as of whole signals; a block that
    completes no frame gives no columns.
    """

    def __init__(
        self, native: Any, shape: Callable[[list[np.ndarray]], Any] | None = None
    ) -> None:
        self._native = native
        self._shape = shape or _first

    def process(self, block: Any) -> Any:
        """Takes the next samples; what they complete."""
        return self._shape([np.asarray(of) for of in self._native.process(one_signal(block))])

    def finish(self) -> Any:
        """Ends the signal; what is left of it. The stream is not to be used after that."""
        return self._shape([np.asarray(of) for of in self._native.finish()])


def _first(found: list[np.ndarray]) -> np.ndarray:
    return found[0]


def _matrix(found: list[np.ndarray]) -> np.ndarray:
    return found[0].T


def stft(
    *,
    n_fft: int = 2048,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Window = "hann",
    center: bool = True,
    pad_mode: str = "constant",
) -> Stream:
    """Complex short-time spectra; zeros lie beyond the ends, or with `pad_mode="reflect"` the sound mirrored."""
    of = frames(n_fft, hop_length, win_length, window, center, pad_mode).plain("a stream")
    return Stream(_native.SoundStream.stft(of), _matrix)


def melspectrogram(
    *,
    sr: float = 22050,
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
    norm: str | None = "slaney",
) -> Stream:
    """Mel powers."""
    of = frames(n_fft, hop_length, win_length, window, center, pad_mode).plain("a stream")
    filters = bank(n_mels, fmin, fmax, htk, norm)
    return Stream(
        _native.SoundStream.mel(count("sr", sr), of, filters, False, None, 0.0), _matrix
    )


def mfcc(
    *,
    sr: float = 22050,
    n_mfcc: int = 20,
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
) -> Stream:
    """Cepstral coefficients, as those of whole signals with `top_db=None`."""
    of = frames(n_fft, hop_length, win_length, window, center, pad_mode).plain("a stream")
    filters = bank(n_mels, fmin, fmax, htk, mel_norm)
    kept, length = count("n_mfcc", n_mfcc), number("lifter", lifter)
    return Stream(
        _native.SoundStream.mel(count("sr", sr), of, filters, True, kept, length), _matrix
    )


def mel(
    sr: float,
    *,
    preset: str = "kaldi",
    log: bool = True,
    n_fft: int | None = None,
    hop_length: int | None = None,
    n_mels: int | None = None,
) -> Stream:
    """Kaldi's features, or the powers (`log=False`) of another preset.

    The logarithms of the others reach down to a level below the loudest frame, which a stream does
    not know.
    """
    named = {"n_fft": n_fft, "hop_length": hop_length, "n_mels": n_mels}
    sizes = [None if size is None else count(name, size) for name, size in named.items()]
    stage = "log-mel" if log else "mel"
    rate = count("sr", sr)
    return Stream(_native.SoundStream.preset(rate, str(preset), stage, 0, *sizes), _matrix)


def yin(
    *,
    fmin: float,
    fmax: float,
    sr: float = 22050,
    frame_length: int = 2048,
    hop_length: int | None = None,
    trough_threshold: float = 0.1,
    center: bool = True,
) -> Stream:
    """The fundamental frequency of every frame, Hz."""
    of = _pitch._frames(fmin, fmax, frame_length, hop_length, center, "constant")
    threshold = number("trough_threshold", trough_threshold)
    return Stream(_native.SoundStream.yin(count("sr", sr), *of, threshold))


def pyin(
    *,
    fmin: float,
    fmax: float,
    sr: float = 22050,
    frame_length: int = 2048,
    hop_length: int | None = None,
    fill_na: float | None = np.nan,
    center: bool = True,
) -> Stream:
    """Frequency, voicing and its probability: three arrays.

    A frame comes out once all paths to the present agree on it, 512 frames later at the latest.
    Voicing, and the frequency of voiced frames, are those of the whole signal; with `fill_na=None`,
    the frequency of unvoiced frames in a pause of more than 512 frames may differ.
    """
    of = _pitch._frames(fmin, fmax, frame_length, hop_length, center, "constant")

    def filled(found: list[np.ndarray]) -> tuple[np.ndarray, ...]:
        f0, voiced, probability = found
        if fill_na is not None:
            f0[~voiced] = fill_na
        return f0, voiced, probability

    return Stream(_native.SoundStream.pyin(count("sr", sr), *of), filled)


def pitch(
    *,
    sr: float,
    method: str = "net",
    fmin: float = 65.0,
    fmax: float = 800.0,
    threshold: float | None = None,
) -> Stream:
    """Times (s), frequencies (Hz, NaN where unvoiced) and how sure they are: three arrays.

    A frame of `net` comes out less than half a second after its time, of `swipe` some seconds.
    `threshold` is that of `net`.
    """
    if method not in ("net", "swipe"):
        raise ValueError(
            f"method = {method!r} cannot be used: 'net' and 'swipe' decide without the rest of the "
            "signal; stream.pyin and stream.yin do too"
        )
    rate = count("sr", sr)
    least = None if threshold is None else number("threshold", threshold)
    if least is not None and method != "net":
        raise ValueError(f"threshold = {threshold!r} is for method = 'net'")

    def voiced(found: list[np.ndarray]) -> tuple[np.ndarray, ...]:
        seconds, hertz, sure = found
        hertz[hertz == 0] = np.nan
        return seconds, hertz, sure

    hop = max(1, rate // 100)
    if method == "net":
        native = _native.SoundStream.net_pitch(rate, span(fmin, fmax), hop, least)
    else:
        native = _native.SoundStream.swipe(rate, span(fmin, fmax), hop)
    return Stream(native, voiced)


def rms(*, frame_length: int = 2048, hop_length: int = 512, center: bool = True) -> Stream:
    """The root of the mean square of every frame, `(1, frames)`."""
    sizes = count("frame_length", frame_length), count("hop_length", hop_length)
    return Stream(_native.SoundStream.levels(*sizes, beyond(center, "constant")), _matrix)


def zero_crossing_rate(
    *, frame_length: int = 2048, hop_length: int = 512, center: bool = True
) -> Stream:
    """The share of neighbouring samples whose signs differ, `(1, frames)`."""
    sizes = count("frame_length", frame_length), count("hop_length", hop_length)
    native = _native.SoundStream.levels(*sizes, beyond(center, "constant"))
    return Stream(native, lambda found: found[1].T)


def spectral(
    name: str,
    *,
    sr: float = 22050,
    n_fft: int = 2048,
    hop_length: int = 512,
    win_length: int | None = None,
    window: Window = "hann",
    center: bool = True,
) -> Stream:
    """`feature.spectral_NAME`, `(1, frames)`.

    `name` is `centroid`, `bandwidth`, `rolloff`, `flatness`, `entropy`, `flux` or `slope`.
    """
    of = frames(n_fft, hop_length, win_length, window, center, "constant").plain("a stream")
    return Stream(_native.SoundStream.spectral_shape(count("sr", sr), of, str(name)), _matrix)


def chroma_stft(
    *,
    sr: float = 22050,
    n_fft: int = 2048,
    hop_length: int = 512,
    win_length: int | None = None,
    window: Window = "hann",
    center: bool = True,
    tuning: float = 0.0,
) -> Stream:
    """The power of the twelve pitch classes; the tuning is given, because a stream has no end."""
    of = frames(n_fft, hop_length, win_length, window, center, "constant").plain("a stream")
    tuned = number("tuning", tuning)
    return Stream(_native.SoundStream.chroma(count("sr", sr), of, tuned), _matrix)


def onset_strength(*, sr: float = 22050, hop_length: int = 512, n_fft: int = 2048) -> Stream:
    """How much the level rises in every frame.

    Levels are not limited to 80 dB below the loudest frame, which a stream does not know: where a
    whole signal has such quiet frames, its strengths differ there.
    """
    sizes = count("sr", sr), count("n_fft", n_fft), count("hop_length", hop_length)
    return Stream(_native.SoundStream.onset_strength(*sizes))


def vad(
    *,
    sr: float,
    method: str = "webrtc",
    aggressiveness: int = 2,
    margin_db: float = 6.0,
    threshold: float | None = None,
    weights: str | PathLike[str] | None = None,
) -> Stream:
    """Whether there is speech, for every 10 ms: `webrtc`, `energy`, `net`, or `neural` at 16 kHz."""
    rate = count("sr", sr)
    least = None if threshold is None else number("threshold", threshold)
    if method == "webrtc":
        doubt = count("aggressiveness", aggressiveness, 0)
        if doubt > 3:
            raise ValueError(f"aggressiveness = {doubt} cannot be used: it goes from 0 to 3")
        return Stream(_native.SoundStream.webrtc(rate, doubt))
    if method == "energy":
        return Stream(_native.SoundStream.energy(rate, number("margin_db", margin_db)))
    if method == "neural" and weights is not None:
        if rate != 16000:
            raise ValueError(f"sr = {rate}: the network hears 16000 Hz; resample first")
        return Stream(_native.SoundStream.neural(least, weights))
    if method == "net":
        return Stream(_native.SoundStream.net_speech(rate, least))
    raise ValueError(
        f"method = {method!r} cannot be used: 'webrtc', 'energy', 'net', and 'neural' with "
        "`weights` decide without the rest of the signal"
    )


def resample(*, orig_sr: float, target_sr: float, res_type: str = "high") -> Stream:
    """The samples at another rate."""
    rates = count("orig_sr", orig_sr), count("target_sr", target_sr)
    return Stream(_native.SoundStream.resample(*rates, str(res_type)))


def preemphasis(*, coef: float = 0.97) -> Stream:
    """`y[n] − coef·y[n−1]` with silence before the first sample: `effects.preemphasis(zi=0)`.

    A fused multiply-add rounds once: within a unit in the last place of the whole signal's.
    """
    return Stream(_native.SoundStream.emphasis(number("coef", coef), False))


def deemphasis(*, coef: float = 0.97) -> Stream:
    """The inverse of `preemphasis`: `effects.deemphasis(zi=0)`."""
    return Stream(_native.SoundStream.emphasis(number("coef", coef), True))


def biquad(
    kind: str, *, sr: float, frequency: float, q: float = 0.7071, gain_db: float = 0.0
) -> Stream:
    """The samples through a filter of second order."""
    of = count("sr", sr), number("frequency", frequency), number("q", q), number("gain_db", gain_db)
    return Stream(_native.SoundStream.biquad(str(kind), *of))


def reverb(
    *,
    sr: float,
    decay_seconds: float = 1.2,
    size: float = 1.0,
    damping: float = 0.3,
    wet: float = 0.3,
) -> Stream:
    """The samples in a room; `finish` brings what is still heard of it."""
    room = [number("room", value) for value in (decay_seconds, size, damping, wet)]
    return Stream(_native.SoundStream.reverb(count("sr", sr), *room))
