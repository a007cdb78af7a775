"""Makes a piece of known tempo and writes what librosa says of it as .npy files.

usage: music.py OUT_DIR RATE SECONDS SEED TRANSFORM HOP STRIDE

STRIDE keeps every so many values of long results. The same script made tests/golden/music
(8000 Hz, 5 s, seed 1, 512 points, hop 128, stride 16); tests/trials/music.rs runs it on fresh pieces
wherever librosa is installed.
"""
import os, sys, warnings

os.environ["OMP_NUM_THREADS"] = "1"
warnings.simplefilter("ignore")
import numpy as np
import librosa

out = sys.argv[1]
rate, seconds, seed, n_fft, hop, stride = (int(x) for x in sys.argv[2:8])
os.makedirs(out, exist_ok=True)
r = np.random.default_rng(seed)
n = rate * seconds
bpm = r.uniform(60, 180)
t = np.arange(n) / rate
y = 0.003 * r.standard_normal(n)


def add(at, length, sound):
    start = int(at * rate)
    stop = min(n, start + int(length * rate))
    if stop > start:
        s = np.arange(stop - start) / rate
        y[start:stop] += sound(s)


beat = r.uniform(0, 0.4)
count = 0
root = r.integers(40, 55)
while beat < seconds:
    add(beat, 0.2, lambda s: 0.5 * np.exp(-s * 25) * np.sin(2 * np.pi * 70 * s))
    if r.random() < 0.8:
        add(beat + 30 / bpm, 0.05, lambda s: 0.12 * np.exp(-s * 90) * r.standard_normal(len(s)))
    if count % 4 == 0:
        third = r.choice([3, 4])
        for note in (root, root + third, root + 7):
            f = 440 * 2 ** ((note - 57) / 12)
            add(beat, 4 * 60 / bpm, lambda s: 0.08 * np.exp(-s) * np.sin(2 * np.pi * f * s))
        root = root + r.choice([-5, 0, 2, 5])
    beat += 60 / bpm * (1 + 0.005 * r.standard_normal())
    count += 1
signal = np.clip(y * 32768, -32768, 32767).astype(np.int16)
y = signal.astype(np.float32) / 32768


def save(name, value):
    np.save(f"{out}/{name}.npy", np.ascontiguousarray(value))


save("signal", signal)
save("true_bpm", np.float32([bpm]))
onset = librosa.onset.onset_strength(y=y, sr=rate, hop_length=hop, n_fft=n_fft)
median = librosa.onset.onset_strength(y=y, sr=rate, hop_length=hop, n_fft=n_fft, aggregate=np.median)
save("median_onset", median)
tempogram = librosa.feature.tempogram(onset_envelope=onset, sr=rate, hop_length=hop, win_length=384)
save("tempogram", tempogram.T[::stride].astype(np.float32))
save("tempo", np.float32(librosa.feature.tempo(onset_envelope=onset, sr=rate, hop_length=hop)))
found, beats = librosa.beat.beat_track(onset_envelope=median, sr=rate, hop_length=hop)
save("beat_tempo", np.float32(np.atleast_1d(found)))
save("beats", beats.astype(np.float32))
_, beats = librosa.beat.beat_track(onset_envelope=median, sr=rate, hop_length=hop, bpm=bpm, trim=False)
save("true_beats", beats.astype(np.float32))
stft = librosa.stft(y, n_fft=n_fft, hop_length=hop)
for name, margin in (("", 1.0), ("margin_", (2.0, 3.0))):
    parts = librosa.decompose.hpss(stft, margin=margin)
    for part, spectrum in zip(("harmonic", "percussive"), parts):
        back = librosa.istft(spectrum, hop_length=hop, n_fft=n_fft, length=len(y))
        save(f"{name}{part}", back[::stride])
