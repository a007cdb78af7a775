"""Files with torchaudio's habits: `(channels, samples)` at their own rate."""

from __future__ import annotations

import dataclasses
from os import PathLike, fspath
from typing import IO, Any

import numpy as np

from ... import _native
from ..arguments import count
from .checks import one_of
from .tensors import array, tensor, torch_module

#: What is written for the type of the samples unless `encoding` says otherwise.
_CODINGS = {"float32": "f32", "int16": "s16"}
_NAMED = {("PCM_S", 16): "s16", ("PCM_S", 24): "s24", ("PCM_F", 32): "f32"}


@dataclasses.dataclass(frozen=True)
class AudioMetaData:
    """What a file holds."""

    sample_rate: int
    num_frames: int
    num_channels: int
    #: 0: not told.
    bits_per_sample: int = 0
    encoding: str = "UNKNOWN"


def load(
    uri: str | PathLike[str] | IO[bytes],
    frame_offset: int = 0,
    num_frames: int = -1,
    normalize: bool = True,
    channels_first: bool = True,
    format: str | None = None,
    buffer_size: int = 4096,
    backend: str | None = None,
) -> tuple[Any, int]:
    """A file's samples, `(channels, samples)`, and their rate.

    A tensor in programs that have imported PyTorch, otherwise an array. The kind of file is seen in
    the file: `format`, `buffer_size` and `backend` change nothing. Samples are floats with full
    scale at 1; `normalize=False` cannot be used.

    >>> from warpsmith.voice import torchaudio
    >>> torchaudio.load("missing.wav")
    Traceback (most recent call last):
    ...
    FileNotFoundError: cannot read `missing.wav`: No such file or directory (os error 2)
    """
    if not normalize:
        raise ValueError("normalize=False cannot be used: multiply by 32768 for 16-bit integers")
    first = count("frame_offset", frame_offset, 0)
    several = None if num_frames == -1 else count("num_frames", num_frames)
    name, contents = _source(uri)
    rate = _native.read_audio(name, False, 0.0, 0.0, contents)[1] if first or several else 1
    # A quarter of a sample more, so that rounding of seconds takes none away.
    offset = (first + 0.25) / rate if first else 0.0
    duration = None if several is None else (several + 0.25) / rate
    data, rate = _native.read_audio(name, False, offset, duration, contents)
    samples = np.asarray(data)
    samples = samples if channels_first else np.ascontiguousarray(samples.T)
    return (tensor(samples) if torch_module() is not None else samples), rate


def info(
    uri: str | PathLike[str],
    format: str | None = None,
    buffer_size: int = 4096,
    backend: str | None = None,
) -> AudioMetaData:
    """Rate, samples and channels of a file, which is decoded: the length is that of the sound."""
    samples, rate = _native.audio_length(uri)
    channels = np.asarray(_native.read_audio(uri, False, 0.0, 0.0)[0]).shape[0]
    return AudioMetaData(rate, samples, channels)


def save(
    uri: str | PathLike[str],
    src: Any,
    sample_rate: int,
    channels_first: bool = True,
    format: str | None = None,
    encoding: str | None = None,
    bits_per_sample: int | None = None,
    buffer_size: int = 4096,
    backend: str | None = None,
    compression: Any = None,
) -> None:
    """Writes `(channels, samples)` as a WAV file: of 32-bit floats, and of 16-bit integers as such.

    `encoding="PCM_S"` with `bits_per_sample` 16 or 24 writes integers, cut off at full scale,
    `encoding="PCM_F"` floats. A file takes its name when it is complete.

    >>> import numpy as np, pathlib, tempfile
    >>> from warpsmith.voice import torchaudio
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "tone.wav"
    >>> torchaudio.save(path, np.sin(np.arange(800, dtype=np.float32) / 5)[None], 8000)
    >>> torchaudio.info(path).num_frames
    800
    """
    if hasattr(uri, "write"):
        raise ValueError("give the name of a file: open files are not written to")
    kind = format or str(fspath(uri)).rpartition(".")[2]
    if kind.lower() not in ("wav", "wave"):
        raise ValueError(
            f"`{fspath(uri)}`: only WAV is written; name it `.wav`, and convert it with "
            "`ffmpeg -i IN.wav OUT`"
        )
    if compression is not None:
        raise ValueError(f"compression = {compression!r} cannot be used: WAV has none")
    samples = np.asarray(array(src))
    if samples.ndim != 2 or 0 in samples.shape:
        raise ValueError(f"src has shape {samples.shape}; (channels, samples) is needed")
    if samples.dtype.name not in _CODINGS:
        raise ValueError(f"src holds {samples.dtype}; float32 and int16 are written: convert it")
    coding = _CODINGS[samples.dtype.name]
    if encoding is not None or bits_per_sample is not None:
        one_of("encoding", encoding, (None, "PCM_S", "PCM_F"))
        name = encoding or ("PCM_F" if bits_per_sample == 32 else "PCM_S")
        bits = bits_per_sample or (32 if name == "PCM_F" else 16)
        if (name, bits) not in _NAMED:
            raise ValueError(
                f"encoding = {encoding!r} with bits_per_sample = {bits_per_sample!r} cannot be used: "
                "PCM_S of 16 and 24 and PCM_F of 32 bits are known"
            )
        coding = _NAMED[name, bits]
    if samples.dtype == np.int16:
        samples = samples.astype(np.float32) / np.float32(32768)
    rows = np.require(samples if channels_first else samples.T, np.float32, ["C", "ALIGNED"])
    _native.write_wav(fspath(uri), rows, count("sample_rate", sample_rate), coding)


def list_audio_backends() -> list[str]:
    """The one backend that there is."""
    return ["warpsmith"]


def get_audio_backend() -> str:
    """The one backend that there is."""
    return "warpsmith"


def set_audio_backend(backend: str | None) -> None:
    """Does nothing: files are read in one way."""


def _source(uri: Any) -> tuple[Any, bytes | None]:
    """The name of a file, and its contents where it is open."""
    if not hasattr(uri, "read"):
        return uri, None
    contents = uri.read()
    if not isinstance(contents, (bytes, bytearray, memoryview)):
        raise ValueError(f"the file gives {type(contents).__name__}; open it for bytes, mode 'rb'")
    name = getattr(uri, "name", None)
    return (name if isinstance(name, str) else "the sound"), bytes(contents)
