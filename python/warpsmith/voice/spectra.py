"""Short-time and constant-Q spectra, and signals from spectra."""

from __future__ import annotations

from typing import Any, Callable

import numpy as np

from .. import _native
from . import gpu
from .arguments import count, each_matrix, number, one_signal
from .framing import frames, inverse
from .framing import spectra as framed
from .tuning import piptrack, tuning_of
from .windows import Window


def stft(
    y: Any,
    *,
    n_fft: int = 2048,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Window = "hann",
    center: bool = True,
    dtype: Any = None,
    pad_mode: str = "constant",
    device: str | None = None,
) -> Any:
    """Complex short-time spectra, `(..., 1 + n_fft/2, frames)`.

    `window` is a name (`hann`, `hamming`, `blackman`, `boxcar` and SciPy's others), a name with its
    number (`("kaiser", beta)`), a function of the length, or the values. `pad_mode` is `constant`,
    `reflect` or another of `numpy.pad`. The work is done in single precision, whatever `dtype` the
    result has. `device="cuda"` takes a float32 array on a GPU (PyTorch, CuPy, or
    `__cuda_array_interface__`) and leaves the result there.

    >>> import numpy as np
    >>> from warpsmith import voice
    >>> voice.stft(np.ones(4096), n_fft=512).shape
    (257, 33)
    """
    of = frames(n_fft, hop_length, win_length, window, center, pad_mode)
    if gpu.computes_there(y, device):
        plain = of.plain('device="cuda"')
        return gpu.compute(y, device, lambda place: _native.gpu_stft(place, plain, "complex"))
    found = framed(y, of, "complex")
    return found if dtype is None else found.astype(dtype)


def spectrogram(
    y: Any,
    *,
    n_fft: int = 2048,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Window = "hann",
    center: bool = True,
    pad_mode: str = "constant",
    power: float = 1.0,
    device: str | None = None,
) -> Any:
    """`|stft|` to a power; magnitudes and powers are computed without the complex spectra."""
    of = frames(n_fft, hop_length, win_length, window, center, pad_mode)
    kind = "power" if power == 2 else "magnitude"
    if gpu.computes_there(y, device):
        plain = of.plain('device="cuda"')
        values = gpu.compute(y, device, lambda place: _native.gpu_stft(place, plain, kind))
        if power in (1, 2):
            return values
        return [value**power for value in values] if isinstance(values, list) else values**power
    values = framed(y, of, kind)
    return values if power in (1, 2) else np.power(values, np.float32(number("power", power)))


def istft(
    stft_matrix: Any,
    *,
    hop_length: int | None = None,
    win_length: int | None = None,
    n_fft: int | None = None,
    window: Window = "hann",
    center: bool = True,
    dtype: Any = None,
    length: int | None = None,
) -> np.ndarray:
    """The signal behind spectra, by overlapping and adding (Griffin and Lim 1984, equation 6).

    >>> import numpy as np
    >>> from warpsmith import voice
    >>> y = np.sin(np.arange(4096) / 10)
    >>> bool(np.abs(voice.istft(voice.stft(y), length=4096) - y).max() < 1e-5)
    True
    """
    spectra = np.require(np.asarray(stft_matrix), np.complex64, ["C", "ALIGNED"])
    if spectra.ndim < 2:
        raise ValueError(f"the spectra have shape {spectra.shape}; bins and frames are needed")
    size = 2 * (spectra.shape[-2] - 1) if n_fft is None else count("n_fft", n_fft)
    if size // 2 + 1 != spectra.shape[-2]:
        raise ValueError(f"{spectra.shape[-2]} bins do not come from n_fft = {size}")
    of = frames(size, hop_length, win_length, window, center, "constant")
    samples = of[1] * (spectra.shape[-1] - 1) + size - (2 * (size // 2) if center else 0)
    samples = samples if length is None else count("length", length)
    if 0 in spectra.shape:
        raise ValueError(f"the spectra have shape {spectra.shape}: there is nothing in them")
    # Where windows hardly overlap, samples are small numbers over small numbers: they have librosa's
    # rounding, or none of its digits.
    if of.foreign or 2 * of[1] > of[2]:
        found = inverse(spectra, of, samples, lambda weight: weight > np.finfo(weight.dtype).tiny)
    else:
        rows = spectra.reshape((-1,) + spectra.shape[-2:])
        signals = [np.asarray(_native.istft(row, of, samples)) for row in rows]
        found = np.stack(signals).reshape(spectra.shape[:-2] + (samples,))
    return found if dtype is None else found.astype(dtype)


def griffinlim(
    S: Any,
    *,
    n_iter: int = 32,
    hop_length: int | None = None,
    win_length: int | None = None,
    n_fft: int | None = None,
    window: Window = "hann",
    center: bool = True,
    dtype: Any = None,
    length: int | None = None,
    pad_mode: str = "constant",
    momentum: float = 0.99,
    init: str | None = "random",
    random_state: Any = 1,
) -> np.ndarray:
    """A signal whose magnitudes are near `S` (Griffin and Lim 1984; Perraudin and others 2013).

    Phases begin at random, or with `init=None` at 0. The same whole number as `random_state` gives
    the same signal, bit for bit; NumPy's generators and `None` draw one.
    """
    magnitudes = np.require(np.asarray(S), np.float32, ["C", "ALIGNED"])
    if magnitudes.ndim < 2 or 0 in magnitudes.shape:
        raise ValueError(f"S has shape {magnitudes.shape}; bins and frames are needed")
    if init not in ("random", None):
        raise ValueError(f"init = {init!r} cannot be used: 'random' and None are known")
    size = 2 * (magnitudes.shape[-2] - 1) if n_fft is None else count("n_fft", n_fft)
    of = frames(size, hop_length, win_length, window, center, pad_mode)
    samples = of[1] * (magnitudes.shape[-1] - 1) + size - (2 * (size // 2) if center else 0)
    rounds = count("n_iter", n_iter, 0), number("momentum", momentum)
    usual = init is not None and not of.foreign and of[5] != "reflect" and length is None
    if usual and size % 2 == 0:
        seed = _seed(random_state)
        rows = magnitudes.reshape((-1,) + magnitudes.shape[-2:])
        signals = [np.asarray(_native.griffin_lim(row, of, samples, *rounds, seed)) for row in rows]
        found = np.stack(signals).reshape(magnitudes.shape[:-2] + (samples,))
        return found if dtype is None else found.astype(dtype)
    if size // 2 + 1 != magnitudes.shape[-2]:
        raise ValueError(f"{magnitudes.shape[-2]} bins do not come from n_fft = {size}")
    how: dict[str, Any] = {"n_fft": size, "hop_length": of[1], "win_length": of[2]}
    how.update(window=window, center=center)
    wanted = samples if length is None else count("length", length)
    phases = np.ones(magnitudes.shape, np.complex64)
    if init is not None:
        drawn = np.random.default_rng(_seed(random_state)).random(magnitudes.shape)
        phases = np.exp(2j * np.pi * drawn).astype(np.complex64)
    found = rebuilt_from(
        magnitudes,
        phases,
        lambda spectra: istft(spectra, length=wanted, **how),
        lambda sound: stft(sound, pad_mode=pad_mode, **how),
        rounds[0],
        rounds[1] / (1 + rounds[1]),
    )
    return found if dtype is None else found.astype(dtype)


def rebuilt_from(
    magnitudes: np.ndarray,
    phases: np.ndarray,
    back: Callable[[np.ndarray], np.ndarray],
    forth: Callable[[np.ndarray], np.ndarray],
    rounds: int,
    momentum: float,
) -> np.ndarray:
    """The signal after so many rounds of Griffin and Lim, from given phases on."""
    before: np.ndarray | None = None
    for _ in range(rounds):
        rebuilt = forth(back(magnitudes * phases))
        several = min(rebuilt.shape[-1], phases.shape[-1])
        phases = np.zeros_like(phases)
        phases[..., :several] = rebuilt[..., :several]
        if before is not None and momentum:
            phases[..., :several] -= np.float32(momentum) * before[..., :several]
        phases /= np.abs(phases) + np.float32(1e-16)
        before = rebuilt
    return back(magnitudes * phases)


def _seed(random_state: Any) -> int:
    """A number for the native part's generator."""
    if random_state is None:
        return int(np.random.default_rng().integers(2**32))
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**32))
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31))
    return count("random_state", random_state, 0)


def phase_vocoder(
    D: Any, *, rate: float, hop_length: int | None = None, n_fft: int | None = None
) -> np.ndarray:
    """Spectra `rate` times as fast, at the same pitch (Flanagan and Golden 1966).

    >>> import numpy as np
    >>> from warpsmith import voice
    >>> voice.phase_vocoder(voice.stft(np.ones(8192)), rate=2.0).shape
    (1025, 9)
    """
    spectra = np.asarray(D)
    speed = number("rate", rate)
    if spectra.ndim < 2 or speed <= 0:
        raise ValueError(f"spectra of shape {spectra.shape} cannot be made {rate} times as fast")
    size = 2 * (spectra.shape[-2] - 1) if n_fft is None else count("n_fft", n_fft)
    hop = max(1, size // 4) if hop_length is None else count("hop_length", hop_length)
    advance = 2 * np.pi * hop * np.fft.rfftfreq(size)
    if len(advance) != spectra.shape[-2]:
        raise ValueError(f"{spectra.shape[-2]} bins do not come from n_fft = {size}")
    return advanced(spectra, np.arange(0, spectra.shape[-1], speed), advance)


def advanced(spectra: np.ndarray, steps: np.ndarray, advance: np.ndarray) -> np.ndarray:
    """Spectra between frames, at `steps`, with phases that go on by what lies between frames."""
    more = np.pad(spectra, [(0, 0)] * (spectra.ndim - 1) + [(0, 2)])
    at = steps.astype(np.int64)
    one, other = more[..., at], more[..., at + 1]
    share = steps - at
    levels = (1 - share) * np.abs(one) + share * np.abs(other)
    column = advance[:, None]
    turned = np.angle(other).astype(np.float64) - np.angle(one) - column
    turned = turned - 2 * np.pi * np.round(turned / (2 * np.pi)) + column
    first = np.angle(spectra[..., :1])
    phases = np.cumsum(np.concatenate([first, turned[..., :-1]], axis=-1), axis=-1)
    found: np.ndarray = (levels * np.exp(1j * phases)).astype(spectra.dtype)
    return found


def magphase(D: Any, *, power: float = 1) -> tuple[np.ndarray, np.ndarray]:
    """Magnitudes to a power, and phases as numbers of magnitude 1.

    >>> from warpsmith import voice
    >>> voice.magphase([3 + 4j])[0].tolist()
    [5.0]
    """
    spectra = np.asarray(D)
    magnitudes = np.abs(spectra)
    silent = magnitudes == 0
    phases = np.where(silent, 1, spectra / np.where(silent, 1, magnitudes))
    return magnitudes**power, phases.astype(np.result_type(spectra.dtype, np.complex64))


def cqt(
    y: Any,
    *,
    sr: float = 22050,
    hop_length: int = 512,
    fmin: float | None = None,
    n_bins: int = 84,
    bins_per_octave: int = 12,
    device: str | None = None,
) -> Any:
    """Complex constant-Q spectra from `fmin` (C1) on, as librosa's with `tuning=0.0`.

    `device="cuda"` takes a float32 array on a GPU and leaves the result there.
    """
    return vqt(
        y,
        sr=sr,
        hop_length=hop_length,
        fmin=fmin,
        n_bins=n_bins,
        bins_per_octave=bins_per_octave,
        gamma=0.0,
        device=device,
    )


def vqt(
    y: Any,
    *,
    sr: float = 22050,
    hop_length: int = 512,
    fmin: float | None = None,
    n_bins: int = 84,
    bins_per_octave: int = 12,
    gamma: float = 0.0,
    device: str | None = None,
) -> Any:
    """Variable-Q spectra: as `cqt`, with bands that are `gamma` Hz wider."""
    sizes = count("n_bins", n_bins), count("bins_per_octave", bins_per_octave)
    rate, hop = count("sr", sr), count("hop_length", hop_length)
    lowest, wider = None if fmin is None else number("fmin", fmin), number("gamma", gamma)
    how = rate, hop, lowest, *sizes, wider
    if gpu.computes_there(y, device):
        return gpu.compute(y, device, lambda place: _native.gpu_constant_q(place, *how))
    return each_matrix(y, lambda signal: _native.constant_q(signal, *how))


def estimate_tuning(
    *,
    y: Any = None,
    sr: float = 22050,
    S: Any = None,
    n_fft: int = 2048,
    resolution: float = 0.01,
    bins_per_octave: int = 12,
    hop_length: int | None = None,
    **kwargs: Any,
) -> float:
    """How far one signal is tuned from A4 = 440 Hz, semitones, −0.5 to below 0.5, in hundredths.

    Tops of spectra between bins, as librosa finds them (`piptrack` and `pitch_tuning`). `S` are
    magnitudes in place of the signal, `resolution` is that of the result, `bins_per_octave` are
    its steps, and `kwargs` are choices of `piptrack`.

    >>> import numpy as np
    >>> from warpsmith import voice
    >>> y = np.sin(2 * np.pi * 440 * 2 ** (0.3 / 12) * np.arange(22050) / 22050)
    >>> abs(voice.estimate_tuning(y=y, sr=22050) - 0.3) < 0.05
    True
    """
    if S is None and resolution == 0.01 and bins_per_octave == 12 and not kwargs:
        of = frames(n_fft, hop_length, None, "hann", True, "constant")
        return _native.estimate_tuning(one_signal(y), count("sr", sr), of, True)
    tops = piptrack(y=y, sr=sr, S=S, n_fft=n_fft, hop_length=hop_length, **kwargs)
    return tuning_of(*tops, resolution, bins_per_octave)
