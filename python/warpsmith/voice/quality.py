"""How regular a voice is, and its resonances, as Praat defines them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .. import _native
from .arguments import count, number, one_signal, signals, span


class Perturbation(NamedTuple):
    """The irregularity of a voice; shares, not per cent. NaN where too few periods follow."""

    jitter_local: float
    jitter_absolute_s: float
    jitter_rap: float
    jitter_ppq5: float
    shimmer_local: float
    shimmer_db: float
    shimmer_apq3: float
    shimmer_apq5: float
    shimmer_apq11: float
    #: Pairs of neighbouring periods that were compared.
    periods: int


def formants(
    y: Any,
    *,
    sr: float,
    n_formants: int = 5,
    fmax: float = 5500.0,
    window_seconds: float = 0.025,
    hop_seconds: float = 0.01,
    preemphasis_from: float = 50.0,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Times (s), frequencies and bandwidths (Hz) of resonances below `fmax`, as Praat finds them.

    Burg's linear prediction (Praat: *To Formant (burg)*). The matrices are `(n_formants, frames)`;
    NaN where a frame has fewer.

    >>> import numpy as np
    >>> from warpsmith import voice
    >>> y = np.sin(np.arange(16000) / 5) + 0.01 * np.sin(np.arange(16000))
    >>> times, hertz, width = voice.formants(y, sr=16000)
    >>> hertz.shape == (5, len(times))
    True
    """
    kept = count("n_formants", n_formants)
    rest = [
        number(name, value)
        for name, value in [
            ("fmax", fmax),
            ("window_seconds", window_seconds),
            ("hop_seconds", hop_seconds),
            ("preemphasis_from", preemphasis_from),
        ]
    ]
    rate = count("sr", sr)
    _check_hop(hop_seconds, rate)
    seconds, hertz, width = _native.formants(one_signal(y), rate, kept, *rest)
    return np.asarray(seconds), np.asarray(hertz), np.asarray(width)


def pulses(y: Any, *, sr: float, fmin: float = 75.0, fmax: float = 600.0) -> np.ndarray:
    """Times of the pulses of the voice, seconds (Praat: *To PointProcess (cc)*).

    >>> import numpy as np
    >>> from warpsmith import voice
    >>> y = np.sin(2 * np.pi * 100 * np.arange(16000) / 16000)
    >>> bool(abs(np.diff(voice.pulses(y, sr=16000)).mean() - 0.01) < 1e-6)
    True
    """
    found, _, _ = _native.pulses(one_signal(y), count("sr", sr), span(fmin, fmax))
    return np.asarray(found)


def perturbation(
    y: Any, *, sr: float, fmin: float = 75.0, fmax: float = 600.0, pulses: Any = None
) -> Perturbation:
    """Jitter and shimmer of one signal, with Praat's standard settings.

    `pulses` are the times of the voice's, seconds, where they are known already.

    >>> import numpy as np
    >>> from warpsmith import voice
    >>> y = np.sin(2 * np.pi * 100 * np.arange(16000) / 16000)
    >>> bool(voice.perturbation(y, sr=16000).jitter_local < 1e-4)
    True
    """
    signal, rate = one_signal(y), count("sr", sr)
    if pulses is None:
        pulses, _, _ = _native.pulses(signal, rate, span(fmin, fmax))
    times = np.asarray(pulses, np.float64)
    if times.ndim != 1 or not np.isfinite(times).all() or (np.diff(times) <= 0).any():
        raise ValueError("pulses are times in seconds, one after the other")
    values, periods = _native.perturbation(signal, rate, times.tolist())
    return Perturbation._make([*values, periods])


def harmonicity(
    y: Any,
    *,
    sr: float,
    fmin: float = 75.0,
    hop_seconds: float = 0.01,
    method: str = "cc",
) -> tuple[np.ndarray, np.ndarray]:
    """Times (s) and harmonics-to-noise ratio (dB) of every frame; NaN where nothing repeats itself.

    `cc` is Praat's *To Harmonicity (cc)*, `ac` its *(ac)* (Boersma 1993). Praat's HNR of a
    recording is the mean of the frames that have one, `numpy.nanmean`.

    >>> import numpy as np
    >>> from warpsmith import voice
    >>> noise = np.random.default_rng(1).standard_normal(16000)
    >>> y = np.sin(2 * np.pi * 100 * np.arange(16000) / 16000)
    >>> times, hnr = voice.harmonicity(y + 0.1 * noise, sr=16000)
    >>> bool(14 < np.nanmean(hnr) < 20)
    True
    """
    if method not in ("cc", "ac"):
        raise ValueError(f"method = {method!r} cannot be used: 'cc' and 'ac' are known")
    low, step = number("fmin", fmin), number("hop_seconds", hop_seconds)
    signal, rate = one_signal(y), count("sr", sr)
    _check_hop(step, rate)
    seconds, decibels = _native.harmonicity(signal, rate, low, step, method == "ac")
    return np.asarray(seconds), np.asarray(decibels)


def cpps(y: Any, *, sr: float, fmin: float = 60.0, fmax: float = 330.0) -> float:
    """The smoothed cepstral peak prominence of one signal, dB, with Praat's settings (*Get CPPS*).

    `fmin` and `fmax` bound the peak. NaN where the signal is shorter than a window (0.1 s).

    >>> import numpy as np
    >>> from warpsmith import voice
    >>> pulses = np.zeros(16000); pulses[::160] = 1.0
    >>> voice.cpps(pulses, sr=16000) > 20
    True
    """
    return _native.cepstral_prominence(one_signal(y), count("sr", sr), span(fmin, fmax))


def quality(
    y: Any, *, sr: float, fmin: float = 75.0, fmax: float = 600.0
) -> dict[str, float]:
    """All figures of one voice's quality by their names, as Praat's standard settings give them.

    Pitch, the share of voiced frames, jitter and shimmer (shares, not per cent), both
    harmonics-to-noise ratios, CPPS, and the vibrato's rate and depth. NaN is absent.

    >>> import numpy as np
    >>> from warpsmith import voice
    >>> found = voice.quality(np.sin(2 * np.pi * 100 * np.arange(16000) / 16000), sr=16000)
    >>> round(found["pitch_median_hz"]), found["jitter_local"] < 1e-4
    (100, True)
    """
    return _native.quality(one_signal(y), count("sr", sr), span(fmin, fmax))


def vibrato(f0: Any, *, hop_seconds: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rate (Hz), depth (cents) and regularity (0 to 1) of the vibrato around each frame of pitch.

    `f0` is a track in Hz, 0 or NaN where unvoiced. NaN where there is no vibrato.

    >>> import numpy as np
    >>> from warpsmith import voice
    >>> f0 = 220 * 2 ** (0.05 * np.sin(2 * np.pi * 5.5 * np.arange(300) * 0.01))
    >>> rate, depth, regularity = voice.vibrato(f0, hop_seconds=0.01)
    >>> round(float(np.nanmedian(rate)), 1), round(float(np.nanmedian(depth)))
    (5.5, 60)
    """
    track = np.nan_to_num(signals(f0, "f0"), nan=0.0)
    if track.ndim != 1:
        raise ValueError(f"f0 has {track.ndim} dimensions; give one track")
    rate, depth, regularity = np.asarray(_native.vibrato(track, number("hop_seconds", hop_seconds)))
    return rate, depth, regularity


def _check_hop(hop_seconds: float, rate: int) -> None:
    if not hop_seconds * rate >= 1:
        raise ValueError(
            f"hop_seconds = {hop_seconds} cannot be used: at {rate} Hz a sample lasts {1 / rate} s"
        )
