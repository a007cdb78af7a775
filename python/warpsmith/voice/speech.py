"""Speech in a recording: where it is, how loud the recording is, and a picture of both."""

from __future__ import annotations

from os import PathLike
from typing import Any, NamedTuple, Sequence

import numpy as np

from .. import _native
from .arguments import count, each, number, one_signal, signals


class Loudness(NamedTuple):
    """Loudness over all channels (ITU-R BS.1770-4, EBU Tech 3341 and 3342); NaN is absent."""

    integrated_lufs: float
    range_lu: float
    momentary_max_lufs: float
    short_term_max_lufs: float
    true_peak_dbtp: float


def loudness(y: Any, *, sr: float) -> Loudness:
    """The loudness of a signal, or of `(channels, samples)` together.

    >>> import numpy as np
    >>> from warpsmith import voice
    >>> tone = np.sin(2 * np.pi * 997 * np.arange(96000) / 48000)
    >>> round(voice.loudness(tone, sr=48000).integrated_lufs, 1)
    -3.0
    """
    array = signals(y)
    if array.ndim > 2:
        raise ValueError(f"y has {array.ndim} dimensions; give (channels, samples)")
    return Loudness(*_native.loudness(array, count("sr", sr)))


def vad(
    y: Any,
    *,
    sr: float,
    method: str = "statistical",
    aggressiveness: int = 2,
    margin_db: float = 6.0,
    threshold: float | None = None,
    weights: str | PathLike[str] | None = None,
) -> np.ndarray:
    """Whether there is speech, for every 10 ms.

    `statistical` compares the bands of the whole signal with its noise, `periodicity` looks for the
    pitch of a voice, `energy` compares levels with the noise of the last seconds (`margin_db`),
    `webrtc` decides bit for bit as webrtcvad does (`aggressiveness` 0 to 3), `net` is a
    small network of our own for speech in loud noise, `neural` is Silero's network, whose `weights`
    silero-vad's wheel has.

    `threshold` is the probability that makes speech, 0.7 for `net` and 0.5 for `neural` if it is
    not given.

    >>> import numpy as np
    >>> from warpsmith import voice
    >>> bool(voice.vad(np.zeros(16000), sr=16000).any())
    False
    """
    rate = count("sr", sr)
    how = str(method), count("aggressiveness", aggressiveness, 0), number("margin_db", margin_db)
    if how[1] > 3:
        raise ValueError(f"aggressiveness = {aggressiveness} cannot be used: it goes from 0 to 3")
    more = None if threshold is None else number("threshold", threshold), weights
    return each(y, lambda signal: _native.speech(signal, rate, *how, *more))


def segments(
    y: Any,
    *,
    sr: float,
    pad: float = 0.0,
    min_speech: float = 0.0,
    min_pause: float = 0.0,
    max_length: float | None = None,
    **how: Any,
) -> np.ndarray:
    """Start and end of every stretch of speech in one signal, seconds, `(stretches, 2)`.

    For a recogniser: `pad` seconds of room around each, none shorter than `min_speech`, joined
    over pauses shorter than `min_pause`, and cut at their quietest places where they are longer
    than `max_length`. `how` are the choices of `vad`.

    >>> import numpy as np
    >>> from warpsmith import voice
    >>> y = 0.001 * np.random.default_rng(1).standard_normal(32000)
    >>> y[8000:16000] += np.sin(np.arange(8000) / 5) * np.sin(np.arange(8000) / 900)
    >>> voice.segments(y, sr=16000, pad=0.1).shape[1]
    2
    """
    signal, rate = one_signal(y), count("sr", sr)
    times = number("pad", pad), number("min_speech", min_speech), number("min_pause", min_pause)
    longest = None if max_length is None else number("max_length", max_length)
    decisions = vad(signal, sr=sr, **how).astype(np.uint8).tobytes()
    found = _native.speech_segments(signal, rate, decisions, *times, longest)
    return np.array(found, np.float64).reshape(-1, 2)


def turns(
    y: Any, *, sr: float, penalty: float = 1.5, side: float = 4.0, min_turn: float = 1.0
) -> tuple[np.ndarray, np.ndarray]:
    """Start and end of turns of speech in one signal, seconds, and how sure each change is.

    Changes of voice by Gaussians over cepstra and the Bayesian information criterion (Chen and
    Gopalakrishnan 1998), without a network: it does not know who speaks, and needs some seconds of
    each voice. `penalty` above 1 finds fewer changes, `side` are the seconds of speech on each side
    of one, `min_turn` the shortest turn. The second array is by how much two voices fit better than
    one at a turn's start, NaN for the first.

    >>> import numpy as np
    >>> from warpsmith import voice
    >>> times, gains = voice.turns(np.zeros(16000), sr=16000)
    >>> times.shape, gains.shape
    ((0, 2), (0,))
    """
    how = number("penalty", penalty), number("side", side), number("min_turn", min_turn)
    found = _native.turns(one_signal(y), count("sr", sr), *how)
    rows = np.array(found, np.float64).reshape(-1, 3)
    return rows[:, :2].copy(), rows[:, 2].copy()


def picture(
    y: Any,
    *,
    sr: float,
    kind: str = "png",
    title: str = "",
    lanes: Sequence[str] = ("wave", "spectrogram", "pitch", "speech"),
    width: int | None = None,
    height: int = 320,
    frequencies: str = "mel",
    fmax: float | None = None,
    range_db: float = 80.0,
) -> bytes:
    """Wave, spectrogram, pitch and speech of one signal over one axis of time: a file's bytes.

    `kind` is `png`, `svg` or `html`; a page plays the sound and has the `title`. `lanes` come from
    the top; `width` are the pixels of the axis of time and `height` those of the spectrogram, whose
    `frequencies` lie on a `mel` or a `linear` axis up to `fmax`, `range_db` below the loudest.

    >>> import numpy as np
    >>> from warpsmith import voice
    >>> voice.picture(np.sin(np.arange(16000) / 5), sr=16000, lanes=["wave"], width=300)[1:4]
    b'PNG'
    """
    if frequencies not in ("mel", "linear"):
        raise ValueError(f"frequencies = {frequencies!r} cannot be used: 'mel' and 'linear'")
    if isinstance(lanes, (str, bytes)) or not hasattr(lanes, "__iter__"):
        raise ValueError(f"lanes = {lanes!r} cannot be used: give a list of names")
    drawing = (
        [str(lane) for lane in lanes],
        None if width is None else count("width", width),
        count("height", height),
        frequencies == "mel",
        None if fmax is None else number("fmax", fmax),
        number("range_db", range_db),
    )
    return _native.picture(one_signal(y), count("sr", sr), str(kind), str(title), drawing)
