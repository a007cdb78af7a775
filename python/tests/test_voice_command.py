"""The command and the library say the same: every verb has its function, every setting its argument."""

import re
import subprocess
import sys

import numpy as np
import pytest

from test_voice import write
from warpsmith import voice

RATE = 16000

#: Where the work of each verb is in Python.
VERBS = {
    "analyze": "analyze",
    "pitch": "pitch",
    "vad": "vad",
    "segments": "segments",
    "turns": "turns",
    "mel": "mel",
    "mfcc": "mfcc",
    "spectrogram": "spectrogram",
    "cqt": "cqt",
    "shape": "feature.spectral_centroid",
    "chroma": "feature.chroma_stft",
    "onsets": "onset.onset_detect",
    "tempo": "tempo",
    "beats": "beat_track",
    "tempogram": "tempogram",
    "key": "key",
    "loudness": "loudness",
    "formants": "formants",
    "quality": "quality",
    "egemaps": "egemaps",
    "picture": "picture",
    "hpss": "hpss",
    "denoise": "effects.denoise",
    "pitch-shift": "effects.pitch_shift",
    "stretch": "effects.time_stretch",
    "convert": "resample",
}


def run(*words):
    command = [sys.executable, "-m", "warpsmith", "voice", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True)


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    """A file, and its samples as the program reads them."""
    t = np.arange(2 * RATE) / RATE
    phase = 2 * np.pi * np.cumsum(140 + 25 * np.sin(3 * t)) / RATE
    y = sum(np.sin(k * phase) / k for k in range(1, 10)) * (np.sin(5 * t) > -0.5)
    noise = np.random.default_rng(3).standard_normal(len(t))
    path = write(tmp_path_factory.mktemp("sound") / "voice.wav", 0.1 * y + 0.005 * noise)
    return path, voice.load(path, sr=None)[0]


@pytest.fixture()
def command(sound, tmp_path):
    """What a verb writes of the file, a row to a frame."""
    path, y = sound

    def numbers(verb, *words):
        out = tmp_path / "out.npy"
        done = run(verb, path, *words, "--as", "npy", "--output", out)
        assert done.returncode == 0, done.stderr
        return np.load(out)

    return numbers, y


def test_every_verb_of_the_command_has_its_function():
    listed = run("--help").stdout.split("Commands:")[1].split("Options:")[0]
    verbs = set(re.findall(r"^  ([a-z][a-z-]+)\s", listed, re.M)) - {"help"}
    assert verbs == set(VERBS)
    for name in VERBS.values():
        function = voice
        for part in name.split("."):
            function = getattr(function, part)
        assert callable(function)


SIZES = {"n_fft": 512, "hop_length": 160}
MEL = ["--transform", 512, "--hop", 160, "--filters", 40]
MELS = [
    (["--window-shape", "hamming"], {"window": "hamming"}),
    (["--window-shape", "kaiser:8"], {"window": ("kaiser", 8.0)}),
    (["--win-length", 400], {"win_length": 400}),
    (["--low", 80, "--high", 7000], {"fmin": 80.0, "fmax": 7000.0}),
    (["--mel-scale", "htk"], {"htk": True}),
    (["--norm", "none"], {"norm": None}),
    (["--padding", "reflect"], {"pad_mode": "reflect"}),
    (["--padding", "none"], {"center": False}),
]


@pytest.mark.parametrize("words, options", MELS, ids=lambda x: str(x)[:24])
def test_settings_of_mel_are_those_of_the_library(command, words, options):
    numbers, y = command
    found = numbers("mel", *MEL, *words, "--power")
    expected = voice.feature.melspectrogram(y=y, sr=RATE, n_mels=40, **SIZES, **options)
    assert found.shape == expected.T.shape and (found == expected.T).all()


@pytest.mark.parametrize("words, options", MELS[:3] + MELS[6:], ids=lambda x: str(x)[:24])
def test_settings_of_spectra_are_those_of_the_library(command, words, options):
    numbers, y = command
    found = numbers("spectrogram", "--transform", 512, "--hop", 160, *words)
    assert (found == voice.spectrogram(y, **SIZES, **options).T).all()


def test_settings_of_cepstra_are_those_of_the_library(command):
    numbers, y = command
    words = ["--coefficients", 13, "--lifter", 22, "--top-db", 60]
    how = {"sr": RATE, "n_mfcc": 13, "lifter": 22, "top_db": 60, "n_mels": 40, **SIZES}
    expected = voice.feature.mfcc(y=y, **how)
    assert (numbers("mfcc", *MEL, *words) == expected.T).all()
    unlimited = voice.feature.mfcc(y=y, **{**how, "top_db": None})
    assert (numbers("mfcc", *MEL, *words[:4], "--top-db", "none") == unlimited.T).all()
    moving = numbers("mfcc", *MEL, *words, "--delta", "1,2", "--delta-width", 5)
    stacked = [expected] + [voice.feature.delta(expected, width=5, order=n) for n in (1, 2)]
    assert (moving == np.concatenate(stacked).T).all()
    # Within each frame, as Kaldi does: without overlap, and with the first sample as its own
    # predecessor, that is the emphasis of each frame alone.
    rows = numbers("spectrogram", "--transform", 64, "--hop", 64, "--window-shape", "boxcar",
                   "--padding", "none", "--pre-emphasis", 0.5)
    frames = y[: len(rows) * 64].reshape(-1, 64).astype(np.float64)
    before = np.concatenate([frames[:, :1], frames[:, :-1]], axis=1)
    assert np.abs(rows - np.abs(np.fft.rfft(frames - 0.5 * before))).max() < 1e-5


def test_settings_of_shapes_are_those_of_the_library(command):
    numbers, y = command
    words = ["--transform", 1024, "--hop", 256, "--rolloff", 0.95, "--contrast-octaves", 4,
             "--contrast-low", 150, "--contrast-share", 0.05]
    found = numbers("shape", *words)
    sizes = {"n_fft": 1024, "hop_length": 256}
    share = voice.feature.spectral_rolloff(y=y, sr=RATE, roll_percent=0.95, **sizes)[0]
    # A sum that just reaches the share may do so one bin later.
    assert np.abs(found[:, 2] - share).max() <= 1.01 * RATE / 1024
    assert (found[:, 2] == share).mean() > 0.99
    contrast = voice.feature.spectral_contrast(
        y=y, sr=RATE, fmin=150, n_bands=4, quantile=0.05, **sizes
    )
    assert found.shape[1] == 7 + 5 and np.abs(found[:, 7:] - contrast.T).max() < 0.01
    like = numbers("shape", "--like", "librosa")
    centroid = voice.feature.spectral_centroid(y=y, sr=RATE, n_fft=2048, hop_length=512)[0]
    assert (like[:, 0] == centroid).all()


def test_settings_of_chroma_onsets_and_notes_are_librosas_on_request(command):
    numbers, y = command
    assert (numbers("chroma", "--like", "librosa") == voice.feature.chroma_stft(y=y, sr=RATE).T).all()
    strength = voice.onset.onset_strength(y=y, sr=RATE)
    assert (numbers("onsets", "--frames", "--like", "librosa")[:, 1] == strength).all()
    notes = np.abs(voice.cqt(y, sr=RATE, n_bins=60))
    found = numbers("cqt", "--like", "librosa", "--bins", 60)
    assert np.abs(found - notes.T).max() < 1e-6


def test_settings_of_pitch_are_those_of_the_library(command):
    numbers, y = command
    sizes = {"fmin": 65, "fmax": 800, "sr": RATE, "frame_length": 1024, "hop_length": 160}
    found = numbers("pitch", "--method", "yin", "--trough", 0.3)
    assert (found[:, 1] == voice.yin(y, trough_threshold=0.3, **sizes)).all()
    words = ["--beta", "3,12", "--boltzmann", 1.5, "--no-trough", 0.02, "--semitone-bins", 5,
             "--max-transition", 20, "--switch", 0.05]
    f0, voiced, probability = voice.pyin(
        y, beta_parameters=(3, 12), boltzmann_parameter=1.5, no_trough_prob=0.02, resolution=0.2,
        max_transition_rate=20, switch_prob=0.05, **sizes,
    )
    found = numbers("pitch", *words)
    assert (found[:, 2] == voiced).all() and (found[:, 3] == probability).all()
    assert (found[voiced, 1] == f0[voiced]).all()


def test_settings_of_effects_are_those_of_the_library(sound, tmp_path):
    path, y = sound
    out = tmp_path / "out.wav"

    def made(*words):
        done = run(*words[:1], path, *words[1:], "--output", out, "--force")
        assert done.returncode == 0, done.stderr
        return voice.load(out, sr=None, mono=False)[0]

    sizes = {"n_fft": 512, "hop_length": 64}
    words = ["--transform", 512, "--hop", 64]
    stretched = voice.effects.time_stretch(y, rate=1.3, **sizes)
    assert (made("stretch", "--speed", 1.3, *words) == stretched).all()
    shifted = voice.effects.pitch_shift(y, sr=RATE, n_steps=3, **sizes)
    assert (made("pitch-shift", "--semitones", 3, *words) == shifted).all()
    tones, clicks = voice.hpss(y, kernel_size=(17, 9), margin=(2.0, 3.0))
    words = ["--median", "17,9", "--exceed", "2,3"]
    assert (made("hpss", "--part", "harmonic", *words) == tones).all()
    assert (made("hpss", "--part", "percussive", *words) == clicks).all()
    room = voice.effects.reverb(y, sr=RATE, decay_seconds=0.5, size=2, damping=0.6, wet=0.5)
    words = ["--reverb", "0.5s", "--room", 2, "--damping", 0.6, "--wet", 0.5]
    assert (made("convert", *words) == room).all()
    loud = voice.effects.normalize(y, sr=RATE, lufs=-30.0)
    assert (made("convert", "--loudness", -30) == loud).all()
    cut, _ = voice.effects.trim(y, top_db=30)
    assert (made("convert", "--trim", 30) == cut).all()
    # The file has 16 bits: as many keep it, 24 do too.
    for bits in (16, 24):
        assert (made("convert", "--bits", bits) == y).all()
    assert (np.abs(made("convert", "--bits", 16, "--peak", -6) * 32768) % 1 == 0).all()


@pytest.mark.parametrize(
    "words, said",
    [
        (["mel", "--window-shape", "triangle"], "hann, hamming"),
        (["mel", "--window-shape", "kaiser:nan"], "beta from 0 to 700"),
        (["mel", "--win-length", "0"], "window length"),
        (["mel", "--pre-emphasis", "2"], "from 0 to 1"),
        (["mel", "--top-db", "-3"], "`--top-db` cannot be `-3`"),
        (["mel", "--power", "--top-db", "60"], "powers are none"),
        (["mel", "--preset", "kaldi", "--top-db", "60"], "`kaldi` are none"),
        (["mel", "--low", "9000"], "9000"),
        (["mel", "--delta", "3"], "3"),
        (["mfcc", "--delta", "1", "--delta-width", "4"], "odd number"),
        (["mfcc", "--lifter", "inf"], "0 to 1e6"),
        (["shape", "--rolloff", "1.5"], "between 0 and 1"),
        (["shape", "--contrast-octaves", "99"], "octaves"),
        (["shape", "--contrast-low", "nan"], "octaves"),
        (["pitch", "--trough", "0.2"], "`--method yin`"),
        (["pitch", "--method", "praat", "--switch", "0.1"], "`--method pyin`"),
        (["pitch", "--beta", "0,2"], "1 to 100"),
        (["pitch", "--semitone-bins", "0"], "1..=100"),
        (["pitch", "--max-transition", "1e9"], "0 to 1000"),
        (["convert", "--reverb", "1s", "--wet", "2", "--output", "x.wav"], "wet"),
        (["convert", "--wet", "0.5", "--output", "x.wav"], "--reverb"),
        (["hpss", "--part", "rest", "--exceed", "1,2,3", "--output", "x.wav"], "one or two"),
        (["stretch", "--speed", "1", "--transform", "0", "--output", "x.wav"], "a frame needs at least one sample"),
    ],
    ids=lambda x: " ".join(x)[:40] if isinstance(x, list) else None,
)
def test_hostile_settings_are_refused_by_name(sound, tmp_path, words, said):
    words = [str(tmp_path / word) if word == "x.wav" else word for word in words]
    done = run(words[0], sound[0], *words[1:])
    assert done.returncode == 2 and said in done.stderr, done.stderr
