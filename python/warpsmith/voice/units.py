"""Frames, samples and seconds; notes, mels and hertz: librosa's conversions."""

from __future__ import annotations

import re
from os import PathLike
from typing import Any

import numpy as np

from .. import _native
from .arguments import count, number, signals

_STEPS = {"C": 0, "D": 2, "E": 4, "F": 5, "G": 7, "A": 9, "B": 11}
_SIGNS = {"#": 1, "♯": 1, "b": -1, "♭": -1, "!": -1, "𝄪": 2, "𝄫": -2, "♮": 0, "n": 0}
_NAMES = ("C", "C♯", "D", "D♯", "E", "F", "F♯", "G", "G♯", "A", "A♯", "B")
_NOTE = re.compile(r"^([A-Ga-g])([#♯𝄪b!♭𝄫♮n]*)([+-]?\d+)?([+-]\d+)?$")


def fft_frequencies(*, sr: float = 22050, n_fft: int = 2048) -> np.ndarray:
    """The frequencies of the bins, Hz."""
    size = count("n_fft", n_fft)
    if size > 1 << 22:
        raise ValueError(f"n_fft = {size} cannot be used: at most {1 << 22} samples")
    return np.fft.rfftfreq(n=size, d=1.0 / rate_of(sr))


def cqt_frequencies(
    n_bins: int, *, fmin: float, bins_per_octave: int = 12, tuning: float = 0.0
) -> np.ndarray:
    """The frequencies of constant-Q bins, Hz."""
    octave = count("bins_per_octave", bins_per_octave)
    size = count("n_bins", n_bins)
    if size > 1 << 16:
        raise ValueError(f"n_bins = {size} cannot be used: at most {1 << 16}")
    steps = (np.arange(size) + number("tuning", tuning)) / octave
    with np.errstate(over="ignore"):
        frequencies: np.ndarray = number("fmin", fmin) * np.exp2(steps)
    return frequencies


def frames_to_samples(frames: Any, *, hop_length: int = 512, n_fft: int | None = None) -> Any:
    """The first samples of frames; with `n_fft`, the middles of frames that are not centred."""
    offset = 0 if n_fft is None else count("n_fft", n_fft) // 2
    return _floored(_numbers("frames", frames) * count("hop_length", hop_length) + offset)


def samples_to_frames(samples: Any, *, hop_length: int = 512, n_fft: int | None = None) -> Any:
    """The frames that samples lie in."""
    offset = 0 if n_fft is None else count("n_fft", n_fft) // 2
    return _floored(
        np.floor((_numbers("samples", samples) - offset) / count("hop_length", hop_length))
    )


def frames_to_time(
    frames: Any, *, sr: float = 22050, hop_length: int = 512, n_fft: int | None = None
) -> Any:
    """The times of frames, seconds; with `n_fft`, of the middles of frames that are not centred.

    >>> from warpsmith import voice
    >>> float(voice.frames_to_time(100, sr=22050, hop_length=441))
    2.0
    """
    samples = frames_to_samples(frames, hop_length=hop_length, n_fft=n_fft)
    return samples_to_time(samples, sr=sr)


def time_to_frames(
    times: Any, *, sr: float = 22050, hop_length: int = 512, n_fft: int | None = None
) -> Any:
    """The frames that times in seconds lie in.

    >>> from warpsmith import voice
    >>> voice.time_to_frames([0.0, 0.1, 1.0], sr=16000, hop_length=160).tolist()
    [0, 10, 100]
    """
    samples = time_to_samples(times, sr=sr)
    return samples_to_frames(samples, hop_length=hop_length, n_fft=n_fft)


def time_to_samples(times: Any, *, sr: float = 22050) -> Any:
    """The samples at times in seconds."""
    return _floored(_numbers("times", times) * rate_of(sr))


def samples_to_time(samples: Any, *, sr: float = 22050) -> Any:
    """The times of samples, seconds."""
    return _numbers("samples", samples) / rate_of(sr)


def samples_like(
    X: Any, *, hop_length: int = 512, n_fft: int | None = None, axis: int = -1
) -> np.ndarray:
    """The first samples of the frames of features `X`, or of so many frames."""
    several = int(X) if np.ndim(X) == 0 else np.shape(X)[axis]
    frames = np.arange(count("X", several, 0))
    return np.asarray(frames_to_samples(frames, hop_length=hop_length, n_fft=n_fft))


def times_like(
    X: Any, *, sr: float = 22050, hop_length: int = 512, n_fft: int | None = None, axis: int = -1
) -> np.ndarray:
    """The times of the frames of features `X`, or of so many frames, seconds.

    >>> from warpsmith import voice
    >>> voice.times_like(3, sr=16000, hop_length=160).tolist()
    [0.0, 0.01, 0.02]
    """
    samples = samples_like(X, hop_length=hop_length, n_fft=n_fft, axis=axis)
    return np.asarray(samples_to_time(samples, sr=sr))


def A_weighting(frequencies: Any, *, min_db: float | None = -80.0) -> Any:
    """The A-weighting of frequencies in Hz, dB (IEC 61672), at least `min_db`."""
    square = _numbers("frequencies", frequencies).astype(np.float64) ** 2
    const = np.array([12194.217, 20.598997, 107.65265, 737.86223]) ** 2
    with np.errstate(divide="ignore"):
        weights = 2.0 + 20.0 * (
            np.log10(const[0])
            + 2 * np.log10(square)
            - np.log10(square + const[0])
            - np.log10(square + const[1])
            - 0.5 * np.log10(square + const[2])
            - 0.5 * np.log10(square + const[3])
        )
    return weights if min_db is None else np.maximum(number("min_db", min_db), weights)


def get_duration(
    *,
    y: Any = None,
    sr: float = 22050,
    S: Any = None,
    n_fft: int = 2048,
    hop_length: int = 512,
    center: bool = True,
    path: str | PathLike[str] | None = None,
    filename: str | PathLike[str] | None = None,
) -> float:
    """The length in seconds of a signal, of the signal behind spectra, or of a file.

    A file is decoded, so that the length is that of the sound. `filename` is an older name of
    `path`.

    >>> import numpy as np
    >>> from warpsmith import voice
    >>> voice.get_duration(y=np.zeros(11025), sr=22050)
    0.5
    """
    path = filename if path is None else path
    if path is not None:
        samples, rate = _native.audio_length(path)
        return float(samples / rate)
    rate_hz = rate_of(sr)
    if y is not None:
        return float(signals(y).shape[-1] / rate_hz)
    if S is None:
        raise ValueError("give the signal as `y`, spectra as `S` or a file as `path`")
    frames = np.shape(S)[-1] if np.ndim(S) else 0
    size, hop = count("n_fft", n_fft), count("hop_length", hop_length)
    length = (frames - 1) * hop + (0 if center else size)
    # As librosa counts: centred frames of an even size begin a half before the signal.
    return float((length + (size % 2 if center else 0)) / rate_hz)


def to_mono(y: Any) -> np.ndarray:
    """The mean of the channels of `(channels, samples)`.

    >>> from warpsmith import voice
    >>> voice.to_mono([[0.0, 1.0], [1.0, 1.0]]).tolist()
    [0.5, 1.0]
    """
    array = signals(y)
    if array.ndim == 1:
        return array
    if 0 in array.shape[:-1]:
        raise ValueError(f"y has shape {array.shape}: there is no channel in it")
    mixed: np.ndarray = array.mean(axis=tuple(range(array.ndim - 1)), dtype=np.float32)
    return mixed


def hz_to_midi(frequencies: Any) -> Any:
    """MIDI numbers of frequencies in Hz; A4 = 440 Hz is 69."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return 12 * (np.log2(_numbers("frequencies", frequencies)) - np.log2(440.0)) + 69


def midi_to_hz(notes: Any) -> Any:
    """Frequencies of MIDI numbers, Hz."""
    with np.errstate(over="ignore"):
        return 440.0 * np.exp2((_numbers("notes", notes) - 69.0) / 12.0)


def note_to_midi(note: Any, *, round_midi: bool = True) -> Any:
    """MIDI numbers of names such as `A4`, `C#3`, `Bb-1` or `E2+20` (cents)."""
    if not isinstance(note, str):
        return np.array([note_to_midi(one, round_midi=round_midi) for one in note])
    found = _NOTE.match(note)
    if found is None:
        raise ValueError(f"note = {note!r} is no name of a note, such as 'A4' or 'C#3'")
    letter, signs, octave, cents = found.groups()
    value = (
        12 * (int(octave or 0) + 1)
        + _STEPS[letter.upper()]
        + sum(_SIGNS[sign] for sign in signs)
        + int(cents or 0) * 1e-2
    )
    return int(np.round(value)) if round_midi else value


def note_to_hz(note: Any, **how: Any) -> Any:
    """Frequencies of names of notes, Hz.

    >>> from warpsmith import voice
    >>> float(voice.note_to_hz("A4")), float(voice.midi_to_hz(69))
    (440.0, 440.0)
    """
    return midi_to_hz(note_to_midi(note, **how))


def midi_to_note(
    midi: Any, *, octave: bool = True, cents: bool = False, unicode: bool = True
) -> Any:
    """The names of MIDI numbers, with sharps; `♯`, or `#` with `unicode=False`.

    >>> from warpsmith import voice
    >>> voice.midi_to_note([60, 69.4], cents=True)
    ['C4+0', 'A4+40']
    """
    if np.ndim(midi) > 0:
        return [midi_to_note(one, octave=octave, cents=cents, unicode=unicode) for one in midi]
    if cents and not octave:
        raise ValueError("cents need the octave beside them")
    value = number("midi", midi)
    nearest = int(np.round(value))
    name = _NAMES[nearest % 12]
    name = name if unicode else name.replace("♯", "#")
    if octave:
        name = f"{name}{nearest // 12 - 1}"
    return f"{name}{int(100 * np.around(value - nearest, 2)):+d}" if cents else name


def hz_to_note(frequencies: Any, **how: Any) -> Any:
    """The names of the notes nearest to frequencies in Hz."""
    return midi_to_note(hz_to_midi(frequencies), **how)


def hz_to_mel(frequencies: Any, *, htk: bool = False) -> Any:
    """Mels on Slaney's curve, or on HTK's."""
    hertz = _numbers("frequencies", frequencies)
    if htk:
        return 2595.0 * np.log10(1.0 + hertz / 700.0)
    # Straight up to 1 kHz, logarithmic above (Slaney, Auditory Toolbox, 1998).
    high = 15.0 + np.log(np.maximum(hertz, 1000.0) / 1000.0) / (np.log(6.4) / 27.0)
    return np.where(hertz >= 1000.0, high, hertz / (200.0 / 3))[()]


def mel_to_hz(mels: Any, *, htk: bool = False) -> Any:
    """Frequencies of mels, Hz."""
    mel = _numbers("mels", mels)
    with np.errstate(over="ignore"):
        if htk:
            return 700.0 * (10.0 ** (mel / 2595.0) - 1.0)
        high = 1000.0 * np.exp(np.log(6.4) / 27.0 * (mel - 15.0))
    return np.where(mel >= 15.0, high, mel * (200.0 / 3))[()]


def mel_frequencies(
    n_mels: int = 128, *, fmin: float = 0.0, fmax: float = 11025.0, htk: bool = False
) -> np.ndarray:
    """`n_mels` frequencies from `fmin` to `fmax`, Hz, evenly apart in mels."""
    size = count("n_mels", n_mels)
    if size > 1 << 20:
        raise ValueError(f"n_mels = {size} cannot be used: at most {1 << 20}")
    ends = hz_to_mel(number("fmin", fmin), htk=htk), hz_to_mel(number("fmax", fmax), htk=htk)
    return np.asarray(mel_to_hz(np.linspace(*ends, size), htk=htk))


def rate_of(sr: float) -> float:
    """Samples per second, which for times need not be a whole number."""
    rate = number("sr", sr)
    if rate <= 0:
        raise ValueError(f"sr = {sr!r} cannot be used: it must be above 0")
    return rate


def _numbers(name: str, values: Any) -> Any:
    """Numbers as NumPy has them, one or many."""
    array = np.asanyarray(values)
    if array.dtype.kind not in "iuf":
        raise ValueError(f"{name} = {values!r} cannot be used: numbers are needed")
    return array.astype(np.float64) if array.dtype.kind == "f" else array.astype(np.int64)


def _floored(values: Any) -> Any:
    if values.dtype.kind == "f" and not (np.abs(values) < 2.0**62).all():
        raise ValueError("a place beyond 2^62 samples cannot be used")
    return values.astype(np.int64)
