"""Speech in a recording: where it is, how loud the recording is, and a picture of both."""

from __future__ import annotations

from os import PathLike
from typing import Any, NamedTuple

import numpy as np

from .. import _native
from .arguments import count, each, number, one_signal, signals

#: Seconds between decisions about speech.
HOP_SECONDS = 0.01


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

    `threshold` is the probability that makes speech, 0.4 for `net` and 0.5 for `neural` if it is
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


def segments(y: Any, *, sr: float, **how: Any) -> np.ndarray:
    """Start and end of every stretch of speech in one signal, seconds, `(stretches, 2)`.

    `how` are the choices of `vad`.
    """
    decisions = vad(one_signal(y), sr=sr, **how)
    found = _native.speech_segments(decisions.astype(np.uint8).tobytes(), HOP_SECONDS)
    return np.array(found, np.float64).reshape(-1, 2)


def picture(y: Any, *, sr: float, kind: str = "png", title: str = "") -> bytes:
    """A spectrogram with the pitch over it and speech marked under it: a file's bytes.

    `kind` is `png`, `svg` or `html`; a page has the `title`.

    >>> import numpy as np
    >>> from warpsmith import voice
    >>> voice.picture(np.sin(np.arange(16000) / 5), sr=16000)[1:4]
    b'PNG'
    """
    return _native.picture(one_signal(y), count("sr", sr), str(kind), str(title))
