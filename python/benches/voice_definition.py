"""Constant-Q spectra and time stretches beside their definitions in double precision.

    python python/benches/voice_definition.py

The definition of a constant-Q bin is the inner product of the signal with a windowed oscillation,
computed here directly, at the signal's own rate. librosa and `warpsmith.voice` both lower the rate
octave by octave and leave out the smallest hundredth of each filter. The definition of a stretch is
librosa's own formula in double precision. Needs librosa.
"""

import librosa
import numpy as np

from warpsmith import voice


def signal(seed, sr, seconds=2.0):
    """Harmonics that glide and pause over a little noise, loud from the first sample on."""
    r = np.random.default_rng(seed)
    t = np.arange(int(sr * seconds)) / sr
    phase = 2 * np.pi * np.cumsum(r.uniform(90, 300) * 2 ** (0.3 * np.sin(5 * t))) / sr
    y = sum(np.sin(k * phase + k * k) / k for k in range(1, 12))
    gate = np.clip(3 * np.sin(2 * np.pi * 1.7 * t + 1), 0, 1)
    return (0.15 * gate * y + 0.002 * r.standard_normal(len(t))).astype(np.float32)


def direct(y, sr, hop, fmin, bins, per_octave):
    """Inner products with every filter at every frame, float64, zeros beyond the ends."""
    frequencies = fmin * 2.0 ** (np.arange(bins) / per_octave)
    filters, lengths = librosa.filters.wavelet(
        freqs=frequencies, sr=sr, window="hann", filter_scale=1, norm=1, pad_fft=True,
        dtype=np.complex128, gamma=0,
    )
    size = filters.shape[-1]
    # A product of spectra is a sum over a filter read backwards.
    filters = filters[:, -np.arange(size)]
    padded = np.pad(y.astype(np.float64), size // 2)
    frames = 1 + len(y) // hop
    columns = np.stack([padded[t * hop : t * hop + size] for t in range(frames)], axis=1)
    return (filters @ columns) * np.sqrt(lengths)[:, None]


def worst(a, b):
    frames = min(a.shape[-1], b.shape[-1])
    return np.abs(a[..., :frames] - b[..., :frames]).max() / np.abs(b).max()


def main():
    print("| constant-Q | librosa, ours | librosa, definition | ours, definition |")
    print("|---|---|---|---|")
    cases = [(22050, 512, 84, 12), (44100, 512, 84, 12), (22050, 256, 60, 12), (44100, 1024, 48, 24)]
    for sr, hop, bins, per_octave in cases:
        y, fmin = signal(1, sr), librosa.note_to_hz("C1")
        sizes = {"sr": sr, "hop_length": hop, "fmin": fmin, "n_bins": bins}
        sizes["bins_per_octave"] = per_octave
        theirs = librosa.cqt(y, tuning=0.0, **sizes)
        ours = voice.cqt(y, **sizes)
        truth = direct(y, sr, hop, fmin, bins, per_octave)
        print(
            f"| {sr} Hz, hop {hop}, {bins} bins, {per_octave} to an octave | "
            f"{worst(ours, theirs):.0e} | {worst(theirs, truth):.1e} | {worst(ours, truth):.1e} |"
        )
    print()
    print("| stretch | librosa, definition | ours, definition |")
    print("|---|---|---|")
    for silence in (False, True):
        for rate in (0.7, 1.0, 1.3):
            y = signal(2, 22050)
            if silence:
                y[10000:20000] = 0
            truth = librosa.effects.time_stretch(y.astype(np.float64), rate=rate)
            theirs = librosa.effects.time_stretch(y, rate=rate)
            ours = voice.effects.time_stretch(y, rate=rate)
            name = f"{rate} times the speed" + (", with digital silence" if silence else "")
            print(f"| {name} | {worst(theirs, truth):.0e} | {worst(ours, truth):.0e} |")


if __name__ == "__main__":
    main()
