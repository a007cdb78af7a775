"""Leading silence removed as SoX's `vad` does it, with torchaudio's arguments and numbers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..arguments import count, number
from .checks import sound
from .tensors import tensors


@tensors
def vad(
    waveform: Any,
    sample_rate: int,
    trigger_level: float = 7.0,
    trigger_time: float = 0.25,
    search_time: float = 1.0,
    allowed_gap: float = 0.25,
    pre_trigger_time: float = 0.0,
    boot_time: float = 0.35,
    noise_up_time: float = 0.1,
    noise_down_time: float = 0.01,
    noise_reduction_amount: float = 1.35,
    measure_freq: float = 20.0,
    measure_duration: float | None = None,
    measure_smooth_time: float = 0.4,
    hp_filter_freq: float = 50.0,
    lp_filter_freq: float = 6000.0,
    hp_lifter_freq: float = 150.0,
    lp_lifter_freq: float = 2000.0,
) -> Any:
    """A signal from a little before its first speech on; without speech nothing is left.

    Power in the cepstrum of a spectrum less its noise decides. `voice.segments` finds where speech
    begins and ends, by better detectors.
    """
    signal, rate = sound(waveform), count("sample_rate", sample_rate)
    rows = signal.reshape(-1, signal.shape[-1])
    often = number("measure_freq", measure_freq)
    spans = trigger_time, measure_smooth_time, noise_up_time, noise_down_time
    if often <= 0 or any(number("a time", span) <= 0 for span in spans):
        raise ValueError(
            f"measure_freq = {measure_freq} and trigger, smoothing and noise times of {spans} s: all "
            "must be above 0"
        )
    seconds = 2.0 / often if measure_duration is None else number("measure_duration", measure_duration)
    size = count("the samples of measure_duration", int(rate * seconds + 0.5))
    period = count("the samples between measures", int(rate / often + 0.5))
    kept = count("the measures of search_time", math.ceil(search_time * often))
    before = count("the samples of pre_trigger_time", int(pre_trigger_time * rate + 0.5), 0)
    gap = int(allowed_gap * often + 0.5)
    boot = int(boot_time * often - 0.5)
    trigger = math.exp(-1.0 / (trigger_time * often))
    measures = [
        _Measure(
            rate,
            size,
            (hp_filter_freq, lp_filter_freq),
            (hp_lifter_freq, lp_lifter_freq),
            noise_reduction_amount,
            math.exp(-1.0 / (measure_smooth_time * often)),
            (math.exp(-1.0 / (noise_up_time * often)), math.exp(-1.0 / (noise_down_time * often))),
        )
        for _ in rows
    ]
    found = np.zeros((len(rows), kept))
    mean = np.zeros(len(rows))
    booted = at = 0
    for end in range(size, rows.shape[-1], period):
        flush, triggered = 0, False
        for channel, row in enumerate(rows):
            level = measures[channel].of(row[end - size : end], booted)
            found[channel, at] = level
            mean[channel] = mean[channel] * trigger + level * (1 - trigger)
            triggered = triggered or bool(mean[channel] >= trigger_level)
            if triggered:
                flush = min(max(flush, _silent(found[channel], at, trigger_level, gap)), kept)
        if triggered:
            start = end - (before + kept * period + size) + (kept - flush) * period
            return np.ascontiguousarray(signal[..., max(start, 0) :])
        at = (at + 1) % kept
        if booted >= 0:
            booted = -1 if booted == boot else booted + 1
    if signal.shape[-1] >= before:
        return np.ascontiguousarray(signal[..., :before])
    return signal


def _silent(levels: np.ndarray, newest: int, trigger_level: float, gap: int) -> int:
    """How many of the last measures belong to what triggered, looking back from the newest."""
    several = len(levels)
    last_trigger = last_zero = several
    at, back = newest, 0
    for back in range(several):
        if levels[at] >= trigger_level and back <= last_trigger + gap:
            last_zero = last_trigger = back
        elif levels[at] == 0 and last_trigger >= last_zero:
            last_zero = back
        at = (at + several - 1) % several
    return min(back, last_zero)


class _Measure:
    """The power in the cepstrum of one channel, over smoothed spectra and their noise."""

    def __init__(
        self,
        rate: int,
        size: int,
        band: tuple[float, float],
        lifter: tuple[float, float],
        reduction: float,
        smooth: float,
        noise: tuple[float, float],
    ) -> None:
        length = 16
        while length < size:
            length *= 2
        self._length, self._smooth, self._reduction = length, smooth, reduction
        self._up, self._down = noise
        self._window = _hann(size) * np.float32(2 / math.sqrt(size))
        start = max(int(band[0] / rate * length + 0.5), 1)
        end = min(int(band[1] / rate * length + 0.5), length // 2)
        if end <= start:
            raise ValueError(f"no bin lies between {band[0]:g} and {band[1]:g} Hz")
        self._band = slice(start, end)
        self._lift = _hann(end - start) * np.float32(2 / math.sqrt(end - start))
        if min(lifter) <= 0:
            raise ValueError(f"the lifter from {lifter[0]:g} to {lifter[1]:g} Hz must lie above 0")
        first, last = math.ceil(rate * 0.5 / lifter[1]), math.floor(rate * 0.5 / lifter[0])
        self._cepstrum = slice(first, min(last, length // 4))
        if self._cepstrum.stop <= first:
            raise ValueError(f"nothing lies between the lifter's {lifter[0]:g} and {lifter[1]:g} Hz")
        self._spectrum = np.zeros(end - start, np.float32)
        self._noise = np.zeros(end - start, np.float32)

    def of(self, samples: np.ndarray, booted: int) -> float:
        """The measure of the newest samples; `booted` counts the first ones, and is −1 later."""
        spectrum = np.abs(np.fft.rfft(samples * self._window, self._length))[self._band]
        keep = booted / (1.0 + booted) if booted >= 0 else self._smooth
        self._spectrum = (self._spectrum * keep + spectrum * (1 - keep)).astype(np.float32)
        power = np.square(self._spectrum)
        rises = power > self._noise
        hold = 0.0 if booted >= 0 else np.where(rises, self._up, self._down)
        self._noise = (self._noise * hold + power * (1 - hold)).astype(np.float32)
        clean = np.sqrt(np.maximum(0, power - self._reduction * self._noise))
        line = np.zeros(self._length // 2, np.float32)
        line[self._band] = clean * self._lift
        total = float(np.square(np.abs(np.fft.rfft(line)[self._cepstrum])).sum())
        if total <= 0:
            return 0.0
        return max(0.0, 21 + math.log(total / (self._cepstrum.stop - self._cepstrum.start)))


def _hann(size: int) -> np.ndarray:
    return (0.5 - 0.5 * np.cos(2 * np.pi * np.arange(size) / size)).astype(np.float32)
