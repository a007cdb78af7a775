"""Audio from files, and at another rate."""

from __future__ import annotations

from os import PathLike
from typing import IO, Any

import numpy as np

from .. import _native
from . import gpu
from .arguments import count, each, number


def load(
    path: str | PathLike[str] | IO[bytes],
    *,
    sr: float | None = 22050,
    mono: bool = True,
    offset: float = 0.0,
    duration: float | None = None,
    dtype: Any = np.float32,
    res_type: str = "high",
) -> tuple[np.ndarray, int]:
    """A file's samples and their rate: WAV, FLAC, MP3, OGG, AIFF, CAF or M4A.

    As librosa does, this resamples to 22050 Hz unless `sr` says otherwise; `sr=None` keeps the
    file's rate. `mono` takes the mean of the channels, otherwise the shape is
    `(channels, samples)`, and `(samples,)` of one channel. `offset` and `duration` are seconds;
    nothing after them is decoded. `dtype` is that of the result (samples are decoded in single
    precision), `res_type` as for `resample`.

    A file that is open for bytes, such as `io.BytesIO`, is read from where it stands; what ends
    before its header says is taken as far as it goes there, as from a pipe.

    >>> from warpsmith import voice
    >>> voice.load("missing.wav")
    Traceback (most recent call last):
    ...
    FileNotFoundError: cannot read `missing.wav`: No such file or directory (os error 2)
    """
    first = number("offset", offset)
    seconds = None if duration is None else number("duration", duration)
    if first < 0 or (seconds is not None and seconds < 0):
        raise ValueError(f"offset = {offset} and duration = {duration}: neither may be below 0")
    if hasattr(path, "read"):
        contents = path.read()
        if isinstance(contents, str):
            raise ValueError("the file gives text; open it for bytes, with mode 'rb'")
        if not isinstance(contents, (bytes, bytearray, memoryview)):
            raise ValueError(f"the file gives {type(contents).__name__} instead of bytes")
        contents = bytes(contents)
        name = getattr(path, "name", None)
        name = name if isinstance(name, str) else "the sound"
        data, rate = _native.read_audio(name, bool(mono), first, seconds, contents)
    else:
        data, rate = _native.read_audio(path, bool(mono), first, seconds)
    y = np.asarray(data)
    y = y[0] if len(y) == 1 else y
    if sr is not None and count("sr", sr) != rate:
        y, rate = resample(y, orig_sr=rate, target_sr=sr, res_type=res_type), int(sr)
    return y.astype(_float_type(dtype), copy=False), rate


def get_samplerate(path: str | PathLike[str]) -> int:
    """The samples per second of a file, without decoding more of it than its beginning."""
    return int(_native.read_audio(path, False, 0.0, 0.0)[1])


def _float_type(dtype: Any) -> np.dtype[Any]:
    found: np.dtype[Any] = np.dtype(dtype)
    if found.kind != "f":
        raise ValueError(f"dtype = {dtype!r} cannot be used: samples are floats, full scale at 1")
    return found


#: Our filter that keeps as much of the band as each of librosa's.
_FILTERS = {
    "soxr_vhq": "highest",
    "soxr_hq": "high",
    "soxr_mq": "fast",
    "soxr_lq": "fast",
    "soxr_qq": "fast",
    "kaiser_best": "high",
    "kaiser_fast": "fast",
    "sinc_best": "highest",
    "sinc_medium": "high",
    "sinc_fastest": "fast",
    "fft": "highest",
    "scipy": "highest",
    "polyphase": "high",
}


def librosa_filters() -> tuple[str, ...]:
    """librosa's names of filters that stand for one of ours."""
    return tuple(_FILTERS)


def resample(
    y: Any,
    *,
    orig_sr: float,
    target_sr: float,
    res_type: str = "high",
    fix: bool = True,
    scale: bool = False,
    axis: int = -1,
    device: str | None = None,
) -> Any:
    """`y` at another rate, by a windowed sinc; as long in seconds, rounded up to a sample.

    `res_type` is how sharply frequencies are cut that the new rate cannot hold: `fast` (80 dB),
    `high` (120 dB, passband to 90 % of the lower Nyquist frequency) or `highest`. librosa's names
    stand for these: `soxr_hq` and `kaiser_best` for `high`, `soxr_mq` and `kaiser_fast` for `fast`,
    `soxr_vhq` for `highest`.

    With `scale` the result has the energy of `y`; `axis` is that of the
    samples. The length is always that of librosa's `fix=True`. `device="cuda"` takes a float32
    array on a GPU and leaves the result there.

    >>> import numpy as np
    >>> from warpsmith import voice
    >>> voice.resample(np.zeros(44100), orig_sr=44100, target_sr=16000).shape
    (16000,)
    """
    rates = count("orig_sr", orig_sr), count("target_sr", target_sr)
    if not fix:
        raise ValueError("fix=False cannot be used: the length is always that of fix=True")
    quality = _FILTERS.get(str(res_type), str(res_type))
    if gpu.computes_there(y, device):
        return gpu.compute(
            y, device, lambda place: _native.gpu_resample(place, *rates, quality)
        )
    signals = y if axis == -1 else np.moveaxis(np.asarray(y), axis, -1)
    found = each(signals, lambda signal: _native.resample(signal, *rates, quality))
    if scale:
        found = found / np.float32(np.sqrt(rates[1] / rates[0]))
    return found if axis == -1 else np.moveaxis(found, -1, axis)
