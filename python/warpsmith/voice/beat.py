"""Tempo, beats and key of a recording."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .. import _native
from . import onset
from .arguments import count, each_matrix, number, one_signal, signals
from .units import frames_to_samples, frames_to_time

#: Names of the pitch classes.
_CLASSES = ("C", "C#", "D", "D#", "E", "F", "F#", "G", "G#", "A", "A#", "B")


class Key(NamedTuple):
    """The key of a piece, and how well it fits."""

    #: Such as `A minor`; empty where nothing has a pitch.
    name: str
    #: The correlation of the piece's pitch classes with the key's profile, −1 to 1.
    correlation: float
    #: All 24 keys with their correlations, the best first.
    ranking: tuple[tuple[str, float], ...]
    #: Semitones from A4 = 440 Hz.
    tuning: float
    #: Shares of C, C# and so on.
    classes: np.ndarray


def beat_track(
    *,
    y: Any = None,
    sr: float = 22050,
    onset_envelope: Any = None,
    hop_length: int = 512,
    start_bpm: float = 120.0,
    tightness: float = 100.0,
    trim: bool = True,
    bpm: float | None = None,
    units: str = "frames",
) -> tuple[Any, np.ndarray]:
    """The tempo in beats per minute and the frames (or `units="samples"`, `"time"`) of the beats.

    The path through the rises in level that hits most of them while it keeps the tempo (Ellis
    2007), with librosa's numbers. `bpm` is the tempo where it is known. As in librosa, a tempo that
    was found is an array of one number, and 0.0 where nothing rises.

    >>> import numpy as np
    >>> from warpsmith import voice
    >>> y = np.zeros(8 * 22050); y[::11025] = 1.0
    >>> tempo, beats = voice.beat_track(y=y, sr=22050, units="time")
    >>> bool(abs(np.median(np.diff(beats)) - 0.5) < 0.02)
    True
    """
    rate, hop = count("sr", sr), count("hop_length", hop_length)
    if onset_envelope is None:
        onset_envelope = _native.median_rises(one_signal(y), rate, 2048, hop)
    rises = one_signal(np.asarray(onset_envelope), "onset_envelope")
    if units not in ("frames", "samples", "time"):
        raise ValueError(
            f"units = {units!r} cannot be used: 'frames', 'samples' and 'time' are known"
        )
    how = hop, number("start_bpm", start_bpm), 1.0, 8.0, 320.0
    how_strict = number("tightness", tightness), bool(trim)
    known: Any = bpm if bpm is None else number("bpm", bpm)
    if not rises.any():
        return 0.0, np.zeros(0, np.int64)
    if bpm is None:
        found = _native.tempo(rises, rate, (*how, *how_strict))
        known = np.array([found])
    frames = np.array(
        _native.beats(rises, rate, float(np.asarray(known).item()), (*how, *how_strict)), np.int64
    )
    if units == "samples":
        return known, frames_to_samples(frames, hop_length=hop)
    if units == "time":
        return known, frames_to_time(frames, sr=rate, hop_length=hop)
    return known, frames


def tempo(
    *,
    y: Any = None,
    sr: float = 22050,
    onset_envelope: Any = None,
    hop_length: int = 512,
    start_bpm: float = 120.0,
    std_bpm: float = 1.0,
    ac_size: float = 8.0,
    max_tempo: float | None = 320.0,
) -> np.ndarray:
    """The tempo, beats per minute, as an array of one number; 0 where nothing rises.

    The lag at which the rises in level are most like themselves on average, among the tempos that
    are likely around `start_bpm` (librosa's `feature.tempo`).

    >>> import numpy as np
    >>> from warpsmith import voice
    >>> y = np.zeros(8 * 22050); y[::11025] = 1.0
    >>> bool(abs(voice.tempo(y=y, sr=22050)[0] - 120) < 3)
    True
    """
    rate, hop = count("sr", sr), count("hop_length", hop_length)
    rises = _rises(y, rate, onset_envelope, hop)
    if rises.ndim != 1:
        raise ValueError(f"there are {rises.ndim} dimensions of rises; give one signal")
    fastest = 1000.0 if max_tempo is None else number("max_tempo", max_tempo)
    spread, window = number("std_bpm", std_bpm), number("ac_size", ac_size)
    how = hop, number("start_bpm", start_bpm), spread, window, fastest, 100.0, True
    found = _native.tempo(rises, rate, how)
    return np.array([0.0 if found is None else found])


def tempogram(
    *,
    y: Any = None,
    sr: float = 22050,
    onset_envelope: Any = None,
    hop_length: int = 512,
    win_length: int = 384,
) -> np.ndarray:
    """How similar the rises around each frame are to themselves some frames later.

    Autocorrelations of `win_length` frames under a Hann window, the largest of each frame 1:
    `(..., win_length, frames)` (librosa's `feature.tempogram`).

    >>> import numpy as np
    >>> from warpsmith import voice
    >>> y = np.zeros(4 * 22050); y[::11025] = 1.0
    >>> voice.tempogram(y=y, sr=22050).shape
    (384, 173)
    """
    rises = _rises(y, count("sr", sr), onset_envelope, count("hop_length", hop_length))
    lags = count("win_length", win_length)
    return each_matrix(rises, lambda row: np.asarray(_native.tempogram(row, lags)).T)


def key(
    y: Any, *, sr: float = 22050, profile: str = "temperley", tuning: float | None = None
) -> Key:
    """The key of one piece, by how well its pitch classes fit what listeners expect in each.

    `profile` is `temperley` (1999) or `krumhansl` (Krumhansl and Kessler 1982); `tuning` semitones
    from A4 = 440 Hz, estimated by default.

    >>> import numpy as np
    >>> from warpsmith import voice
    >>> t = np.arange(22050) / 22050
    >>> chord = sum(np.sin(2 * np.pi * f * t) for f in (261.63, 329.63, 392.0))
    >>> voice.key(chord / 3, sr=22050).name
    'C major'
    """
    tuned = None if tuning is None else number("tuning", tuning)
    keys, semitones, classes = _native.key(one_signal(y), count("sr", sr), str(profile), tuned)
    ranking = tuple(
        (f"{_CLASSES[tonic]} {'major' if major else 'minor'}", fit) for tonic, major, fit in keys
    )
    name, fit = ranking[0] if ranking else ("", float("nan"))
    return Key(name, fit, ranking, semitones, np.array(classes))


def _rises(y: Any, rate: int, onset_envelope: Any, hop: int) -> np.ndarray:
    if onset_envelope is not None:
        return signals(onset_envelope, "onset_envelope")
    return np.asarray(onset.onset_strength(y=y, sr=rate, hop_length=hop))
