"""From sound to sound."""

from __future__ import annotations

from typing import Any, Callable

import numpy as np

from .. import _native
from .arguments import count, each, number, one_signal, signals
from .decibels import Reference, amplitude_to_db
from .feature import rms
from .files import librosa_filters


def time_stretch(
    y: Any, *, rate: float, n_fft: int = 2048, hop_length: int | None = None
) -> np.ndarray:
    """`y` at `rate` times its speed and at the same pitch, by a phase vocoder.

    The vocoder of Flanagan and Golden (1966), with librosa's grid of frames.

    >>> import numpy as np
    >>> from warpsmith import voice
    >>> voice.effects.time_stretch(np.sin(np.arange(8000) / 5), rate=2).shape
    (4000,)
    """
    speed, (size, hop) = number("rate", rate), _sizes(n_fft, hop_length)
    return each(y, lambda signal: _native.time_stretch(signal, speed, size, hop))


def pitch_shift(
    y: Any,
    *,
    sr: float,
    n_steps: float,
    bins_per_octave: int = 12,
    res_type: str = "high",
    scale: bool = False,
    n_fft: int = 2048,
    hop_length: int | None = None,
) -> np.ndarray:
    """`y`, `n_steps` steps of the octave higher and as long as before.

    A stretch by the vocoder of `time_stretch`, then another rate by the filter `high` (librosa's
    names of filters are taken, and stand for it). With `scale` the result has the energy of `y`.

    >>> import numpy as np
    >>> from warpsmith import voice
    >>> y = np.sin(2 * np.pi * 220 * np.arange(16000) / 16000)
    >>> higher = voice.effects.pitch_shift(y, sr=16000, n_steps=12)
    >>> f0 = voice.yin(higher, fmin=65, fmax=800, sr=16000)
    >>> higher.shape, round(float(np.median(f0)))
    ((16000,), 440)
    """
    count("sr", sr)
    size, hop = _sizes(n_fft, hop_length)
    steps = number("n_steps", n_steps)
    semitones = 12.0 * steps / count("bins_per_octave", bins_per_octave)
    if res_type not in ("high", *librosa_filters()):
        raise ValueError(f"res_type = {res_type!r} cannot be used: the filter is 'high'")
    found = each(y, lambda signal: _native.pitch_shift(signal, semitones, size, hop))
    return found * np.float32(2 ** (-semitones / 24)) if scale else found


def trim(
    y: Any,
    *,
    top_db: float = 60,
    ref: Reference | None = None,
    frame_length: int = 2048,
    hop_length: int = 512,
    aggregate: Callable[..., Any] | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """`y` without what is `top_db` below its loudest frame at either end, and where that was.

    `ref` is the level that `top_db` counts from, or a function that finds it. Of several channels
    `aggregate` makes one level, by default the largest.

    >>> import numpy as np
    >>> from warpsmith import voice
    >>> y = np.zeros(30000); y[10240:20480] = np.sin(np.arange(10240) / 5)
    >>> voice.effects.trim(y)[1].tolist()
    [9728, 21504]
    """
    loud = np.flatnonzero(_loud(y, top_db, ref, frame_length, hop_length, aggregate))
    if len(loud) == 0:
        return np.asarray(y)[..., :0], np.array([0, 0])
    start, end = loud[0] * hop_length, (loud[-1] + 1) * hop_length
    end = min(end, np.shape(y)[-1])
    return np.asarray(y)[..., start:end], np.array([start, end])


def split(
    y: Any,
    *,
    top_db: float = 60,
    ref: Reference | None = None,
    frame_length: int = 2048,
    hop_length: int = 512,
    aggregate: Callable[..., Any] | None = None,
) -> np.ndarray:
    """The parts of `y` between silences, as first and last samples: `(parts, 2)`.

    Silence is `top_db` below `ref`, by default the loudest frame; of several channels `aggregate`
    makes one level, by default the largest.

    >>> import numpy as np
    >>> from warpsmith import voice
    >>> y = np.zeros(30000); y[10240:20480] = np.sin(np.arange(10240) / 5)
    >>> voice.effects.split(y).tolist()
    [[9728, 21504]]
    """
    loud = _loud(y, top_db, ref, frame_length, hop_length, aggregate)
    edges = np.flatnonzero(np.diff(np.concatenate([[False], loud, [False]]).astype(np.int8)))
    samples = np.minimum(edges * count("hop_length", hop_length), np.shape(y)[-1])
    parts: np.ndarray = samples.reshape(-1, 2)
    return parts


def remix(y: Any, intervals: Any, *, align_zeros: bool = True) -> np.ndarray:
    """The parts of `y` from `intervals` of samples, `(parts, 2)`, one after the other.

    With `align_zeros` parts begin and end where the mean of the channels crosses zero nearest.

    >>> from warpsmith import voice
    >>> voice.effects.remix([0.0, 1.0, 2.0, 3.0], [[2, 4], [0, 1]], align_zeros=False).tolist()
    [2.0, 3.0, 0.0]
    """
    signal = signals(y)
    parts = np.asarray(list(intervals), np.int64).reshape(-1, 2)
    if align_zeros:
        mono = signal.reshape(-1, signal.shape[-1]).mean(axis=0)
        negative = np.signbit(np.where(np.abs(mono) <= 1e-10, 0.0, mono))
        zeros = np.append(np.flatnonzero(np.append(True, negative[1:] != negative[:-1])), len(mono))
        nearest = np.abs(parts[..., None] - zeros).argmin(axis=-1)
        parts = zeros[nearest]
    if len(parts) == 0:
        return signal[..., :0]
    return np.concatenate([signal[..., start:end] for start, end in parts], axis=-1)


def _loud(
    y: Any,
    top_db: float,
    ref: Reference | None,
    frame_length: int,
    hop_length: int,
    aggregate: Callable[..., Any] | None,
) -> np.ndarray:
    """Whether each frame is louder than silence."""
    least = -number("top_db", top_db)
    level = rms(y=y, frame_length=frame_length, hop_length=hop_length)[..., 0, :]
    decibels = amplitude_to_db(level, ref=np.max if ref is None else ref, top_db=None)
    if decibels.ndim > 1:
        decibels = (aggregate or np.max)(decibels, axis=tuple(range(decibels.ndim - 1)))
    return np.asarray(decibels > least)


def hpss(
    y: Any,
    *,
    kernel_size: int | tuple[int, int] = 31,
    power: float = 2.0,
    margin: float | tuple[float, float] = 1.0,
    n_fft: int = 2048,
    hop_length: int | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """The tones and the clicks of `y`, each as long as it.

    Medians along time and along frequency (Fitzgerald 2010; margins after Driedger 2014), with
    librosa's numbers. `kernel_size` and `margin` are those of both parts, or a pair.

    >>> import numpy as np
    >>> from warpsmith import voice
    >>> y = np.sin(np.arange(16000) / 5); y[8000] += 5.0
    >>> tones, clicks = voice.effects.hpss(y)
    >>> bool(np.abs(clicks).argmax() == 8000)
    True
    """
    sizes = _sizes(n_fft, hop_length)
    kernels, margins = _pair("kernel_size", kernel_size), _pair("margin", margin)
    how = (
        count("kernel_size", kernels[0]),
        count("kernel_size", kernels[1]),
        number("power", power),
        number("margin", margins[0]),
        number("margin", margins[1]),
    )

    def compute(signal: np.ndarray) -> np.ndarray:
        parts = _native.split_tones(signal, *sizes, how)
        return np.stack([np.asarray(part) for part in parts])

    both = each(y, compute)
    return both[..., 0, :], both[..., 1, :]


def harmonic(y: Any, **how: Any) -> np.ndarray:
    """The tones of `y`; `how` are the choices of `hpss`."""
    return hpss(y, **how)[0]


def percussive(y: Any, **how: Any) -> np.ndarray:
    """The clicks of `y`; `how` are the choices of `hpss`."""
    return hpss(y, **how)[1]


def preemphasis(y: Any, *, coef: float = 0.97, zi: Any = None) -> np.ndarray:
    """`y[n] − coef·y[n−1]`; the first sample continues the line through the first two.

    >>> from warpsmith import voice
    >>> voice.effects.preemphasis([1.0, 1.0, 0.0], coef=0.5, zi=0.0).tolist()
    [1.0, 0.5, -0.5]
    """
    signal = signals(y)
    if signal.shape[-1] < 2 and zi is None:
        raise ValueError("the signal has fewer than two samples; give `zi`")
    before = 2 * signal[..., :1] - signal[..., 1:2] if zi is None else np.asarray(zi, np.float32)
    out = signal.copy()
    out[..., 1:] -= np.float32(coef) * signal[..., :-1]
    out[..., :1] += before
    return out


def deemphasis(y: Any, *, coef: float = 0.97, zi: Any = None) -> np.ndarray:
    """The inverse of `preemphasis`: `x[n] = y[n] + coef·x[n−1]`.

    >>> import numpy as np
    >>> from warpsmith import voice
    >>> y = np.sin(np.arange(100) / 5)
    >>> back = voice.effects.deemphasis(voice.effects.preemphasis(y))
    >>> bool(np.abs(back - y).max() < 1e-5)
    True
    """
    signal, factor = signals(y).copy(), number("coef", coef)
    if signal.shape[-1] < 2 and zi is None:
        raise ValueError("the signal has fewer than two samples; give `zi`")
    if zi is None:
        # What `preemphasis` has made of the first two samples, turned round.
        signal[..., :1] = (signal[..., :1] + signal[..., 1:2]) / np.float32(3 - factor)
    else:
        signal[..., :1] += np.asarray(zi, np.float32)
    return each(signal, lambda row: _native.deemphasise(row, factor))


def denoise(
    y: Any,
    *,
    sr: float,
    reduction_db: float = 20.0,
    margin_db: float = 2.0,
    noise: tuple[float, float] | None = None,
) -> np.ndarray:
    """`y` without its steady noise (Ephraim and Malah 1984).

    `noise` are seconds that hold nothing else, from and to; by default the quietest frames count.

    >>> import numpy as np
    >>> from warpsmith import voice
    >>> hiss = 0.01 * np.random.default_rng(1).standard_normal(16000)
    >>> bool(np.std(voice.effects.denoise(hiss, sr=16000)) < 0.3 * np.std(hiss))
    True
    """
    rate = count("sr", sr)
    levels = number("reduction_db", reduction_db), number("margin_db", margin_db)
    part = None
    if noise is not None:
        seconds = [number("noise", value) for value in noise]
        if len(seconds) != 2 or not 0 <= seconds[0] < seconds[1]:
            raise ValueError(f"noise = {noise!r} cannot be used: two seconds, from and to")
        part = int(seconds[0] * rate), int(seconds[1] * rate)
    return each(y, lambda signal: _native.denoise(signal, rate, *levels, part))


def reverb(
    y: Any,
    *,
    sr: float,
    decay_seconds: float = 1.2,
    size: float = 1.0,
    damping: float = 0.3,
    wet: float = 0.3,
) -> np.ndarray:
    """`y` in a room in which sound falls by 60 dB in `decay_seconds`; as much longer.

    A feedback delay network of eight lines (Jot and Chaigne 1991). `size` is that of the room
    over a middle-sized one, `damping` how much faster high frequencies fade (0 to below 1), `wet`
    the share of the room in the result.

    >>> import numpy as np
    >>> from warpsmith import voice
    >>> voice.effects.reverb(np.ones(100), sr=8000, decay_seconds=0.5).shape
    (4100,)
    """
    room = [
        number(name, value)
        for name, value in [
            ("decay_seconds", decay_seconds),
            ("size", size),
            ("damping", damping),
            ("wet", wet),
        ]
    ]
    rate = count("sr", sr)
    return each(y, lambda signal: _native.reverb(signal, rate, *room))


def convolve(y: Any, response: Any) -> np.ndarray:
    """The convolution of `y` with a response, `samples + response − 1` long, by overlap-save.

    >>> from warpsmith import voice
    >>> [round(float(x), 6) for x in voice.effects.convolve([1.0, 2.0], [1.0, 0.5])]
    [1.0, 2.5, 1.0]
    """
    impulse = one_signal(response, "response")
    return each(y, lambda signal: _native.convolve(signal, impulse))


def biquad(
    y: Any, kind: str, *, sr: float, frequency: float, q: float = 0.7071, gain_db: float = 0.0
) -> np.ndarray:
    """`y` through a filter of second order (Bristow-Johnson's Audio EQ Cookbook).

    `kind` is `lowpass`, `highpass`, `bandpass`, `notch`, `allpass`, `peaking`, `lowshelf` or
    `highshelf`; the last three take `gain_db`.

    >>> import numpy as np
    >>> from warpsmith import voice
    >>> low = voice.effects.biquad(np.ones(4000), "lowpass", sr=8000, frequency=100)
    >>> round(float(low[-1]), 3)
    1.0
    """
    of = count("sr", sr), number("frequency", frequency), number("q", q), number("gain_db", gain_db)
    return each(y, lambda signal: _native.biquad(signal, str(kind), *of))


def normalize(
    y: Any,
    *,
    sr: float,
    peak: float | None = None,
    rms: float | None = None,
    lufs: float | None = None,
) -> np.ndarray:
    """`y`, or all of `(channels, samples)`, with one gain that brings it to a level.

    Give one of `peak` and `rms` (dBFS) and `lufs` (ITU-R BS.1770-4). Silence is an error.

    >>> from warpsmith import voice
    >>> voice.effects.normalize([0.1, -0.25], sr=16000, peak=0.0).tolist()
    [0.4000000059604645, -1.0]
    """
    named = ("peak", peak), ("rms", rms), ("lufs", lufs)
    targets = [(name, level) for name, level in named if level is not None]
    if len(targets) != 1:
        raise ValueError(f"give one of peak, rms and lufs, not {len(targets)}")
    array = signals(y)
    if array.ndim > 2:
        raise ValueError(f"y has {array.ndim} dimensions; give (channels, samples)")
    ((measure, level),) = targets
    sound, _ = _native.normalise(array, count("sr", sr), measure, number(measure, level))
    return np.asarray(sound)


def _pair(name: str, value: Any) -> tuple[Any, Any]:
    if isinstance(value, (tuple, list)):
        if len(value) != 2:
            raise ValueError(f"{name} = {value!r} cannot be used: give one value, or two")
        return value[0], value[1]
    return value, value


def _sizes(n_fft: int, hop_length: int | None) -> tuple[int, int]:
    size = count("n_fft", n_fft)
    return size, max(1, size // 4) if hop_length is None else count("hop_length", hop_length)
