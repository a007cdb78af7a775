"""Ambient music from a seed, as NumPy arrays and MIDI files."""

from __future__ import annotations

import os
import tempfile
import wave
from typing import Any

import numpy as np

from . import _native

_NUMBERS = (
    "bpm",
    "intensity",
    "complexity",
    "variety",
    "density",
    "brightness",
    "space",
    "volume",
    "trim",
    "texture",
)


def _changes(given: dict[str, Any]) -> list[tuple[str, float]]:
    unknown = sorted(set(given) - set(_NUMBERS))
    if unknown:
        raise TypeError(f"no parameter is called {unknown[0]!r}; there are {', '.join(_NUMBERS)}")
    return [(name, float(value)) for name, value in given.items() if value is not None]


def render(
    seed: int = 1,
    seconds: float = 30.0,
    *,
    rate: int = 48_000,
    preset: str = "focus",
    key: str | None = None,
    mode: str | None = None,
    **numbers: float,
) -> np.ndarray:
    """Stereo samples, frames by two, between -1 and 1. The same arguments give the same bytes.

    Presets are focus, meditation, sleep, bright, piano and pulse; bpm, intensity, complexity, variety,
    density, brightness, space, volume, trim and texture change what the preset says.

    >>> from warpsmith import synth
    >>> synth.render(7, 0.5, rate=16000, brightness=0.2).shape
    (8000, 2)
    """
    data = _native.render_music(seed, seconds, rate, preset, (key, mode), _changes(numbers))
    return np.frombuffer(data, np.float32).reshape(-1, 2)


def midi(
    seed: int = 1,
    seconds: float = 30.0,
    *,
    preset: str = "focus",
    key: str | None = None,
    mode: str | None = None,
    **numbers: float,
) -> bytes:
    """The notes of the same music as a MIDI file.

    >>> from warpsmith import synth
    >>> synth.midi(7, 10)[:4]
    b'MThd'
    """
    return _native.compose_midi(seed, seconds, preset, (key, mode), _changes(numbers))


def save(path: str | os.PathLike[str], signal: np.ndarray, rate: int = 48_000) -> None:
    """Write samples between -1 and 1 (frames, or frames by channels) as a 16-bit WAV file.

    >>> import pathlib, tempfile
    >>> from warpsmith import synth
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "a.wav"
    >>> synth.save(path, synth.render(7, 0.1))
    >>> path.stat().st_size
    19244
    """
    array = np.atleast_2d(np.asarray(signal, np.float32).T).T
    whole = np.clip(np.round(array * 32_767.0), -32_768, 32_767).astype("<i2")
    folder = os.path.dirname(os.path.abspath(path))
    handle, part = tempfile.mkstemp(dir=folder, suffix=".part")
    with os.fdopen(handle, "wb") as file, wave.open(file, "wb") as out:
        out.setnchannels(whole.shape[1])
        out.setsampwidth(2)
        out.setframerate(rate)
        out.writeframes(np.ascontiguousarray(whole).tobytes())
    os.replace(part, path)
