"""Constant-Q spectra and time stretches beside their definitions in double precision.

    python python/benches/voice_definition.py

The definition of a constant-Q bin is the inner product of the signal with a windowed oscillation,
computed here directly, at the signal's own rate. librosa and `warpsmith.voice` both lower the rate
octave by octave and leave out the smallest hundredth of each filter. The definition of a stretch is
librosa's own formula in double precision.

Where the rate is lowered by four or more before the highest octave, two more columns tell what that
one conversion does: librosa beside librosa with halvings one after the other instead of its
one call of libsoxr, and librosa beside ours where both hear the signal that librosa converted.
Needs librosa.
"""

import unittest.mock

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


def halved(y, *, orig_sr, target_sr, **_):
    """As librosa.resample with `scale=True`, by halvings one after the other."""
    y, factor = np.asarray(y), round(orig_sr / target_sr)
    while factor > 1:
        y = resample(y, orig_sr=2, target_sr=1, res_type="soxr_hq", scale=True)
        factor //= 2
    return y


resample = librosa.resample


def early(y, sr, hop, fmin, bins, per_octave):
    """The first conversion of librosa's: by how much, librosa by halvings, ours behind librosa's own."""
    factors = []

    def noted(y, **given):
        factors.append(round(given["orig_sr"] / given["target_sr"]))
        return resample(y, **given)

    sizes = {"n_bins": bins, "bins_per_octave": per_octave}
    plain = {"sr": sr, "hop_length": hop, "fmin": fmin, **sizes}
    with unittest.mock.patch("librosa.core.audio.resample", noted):
        theirs = librosa.cqt(y, tuning=0.0, **plain)
    factor = factors[0] if factors else 1
    if factor < 4:
        return None
    with unittest.mock.patch("librosa.core.audio.resample", halved):
        apart = librosa.cqt(y, tuning=0.0, **plain)
    # As if it were played faster: the rate stays a whole number.
    low = resample(y, orig_sr=factor, target_sr=1, res_type="soxr_hq", scale=True)
    behind = voice.cqt(low, sr=sr, hop_length=hop // factor, fmin=fmin * factor, **sizes)
    frames = min(behind.shape[1], theirs.shape[1])
    theirs, behind = theirs[:, :frames], behind[:, :frames]
    behind = behind * (np.vdot(behind, theirs) / np.vdot(behind, behind)).real
    return factor, worst(apart, theirs), worst(behind, theirs)


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
    print("| constant-Q, first conversion | librosa by halvings | ours behind librosa's |")
    print("|---|---|---|")
    for sr, hop, bins, per_octave in cases:
        y, fmin = signal(1, sr), librosa.note_to_hz("C1")
        found = early(y, sr, hop, fmin, bins, per_octave)
        if found is not None:
            factor, apart, behind = found
            of = f"{sr} Hz, hop {hop}, {per_octave} to an octave"
            print(f"| {of}: 1/{factor} | {apart:.0e} | {behind:.0e} |")
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
