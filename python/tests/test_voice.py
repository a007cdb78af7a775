import io
import wave
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from warpsmith import voice

RATE = 16000
TONE = np.sin(2 * np.pi * 220 * np.arange(RATE) / RATE).astype(np.float32)


def write(path, signal, rate=RATE):
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1 if signal.ndim == 1 else signal.shape[0])
        file.setsampwidth(2)
        file.setframerate(rate)
        file.writeframes((np.atleast_2d(signal).T * 32767).astype("<i2").tobytes())
    return path


def test_a_tone_has_its_pitch():
    assert abs(np.median(voice.yin(TONE, fmin=65, fmax=800, sr=RATE)) - 220) < 0.5
    frequency, voiced, probability = voice.pyin(TONE, fmin=65, fmax=800, sr=RATE)
    assert voiced.mean() > 0.9 and len(probability) == len(frequency)
    assert abs(np.nanmedian(frequency) - 220) < 2
    # SWIPE' looks for harmonics, and a tone without any is heard one percent too high.
    for method, bound in [("praat", 0.5), ("swipe", 4), ("hq", 0.5)]:
        seconds, hertz, sure = voice.pitch(TONE, sr=RATE, method=method)
        assert abs(np.nanmedian(hertz) - 220) < bound, method
        assert len(seconds) == len(hertz) == len(sure)


def test_the_network_hears_a_voice_in_noise_and_its_threshold_is_a_probability():
    n = np.arange(2 * RATE)
    voiced = sum(np.sin(2 * np.pi * 150 * k * n / RATE) / k for k in range(1, 12)) * (n < RATE)
    noise = np.random.default_rng(1).standard_normal(len(n))
    y = 0.1 * voiced + 0.05 * noise
    seconds, hertz, sure = voice.pitch(y, sr=RATE, method="net")
    speaking = (seconds > 0.1) & (seconds < 0.9)
    assert np.abs(hertz[speaking] / 150 - 1).max() < 0.02
    assert np.isnan(hertz[seconds > 1.2]).mean() > 0.9
    everywhere = voice.pitch(y, sr=RATE, method="net", threshold=0)[1]
    assert not np.isnan(everywhere).any() and (everywhere[speaking] == hertz[speaking]).all()
    decisions = voice.vad(y, sr=RATE, method="net")
    assert decisions[20:80].mean() > decisions[130:].mean()
    with pytest.raises(ValueError, match="from 0 to 1"):
        voice.pitch(y, sr=RATE, method="net", threshold=1.5)
    with pytest.raises(ValueError, match="'net'"):
        voice.pitch(y, sr=RATE, threshold=0.5)


def test_one_sample_has_no_pitch():
    _, voiced, probability = voice.pyin(TONE[1:2], fmin=65, fmax=800, sr=RATE)
    assert not voiced.any() and not probability.any()


def test_features_stand_before_frames_and_batches_before_both():
    assert voice.mel(TONE, RATE, preset="whisper").shape == (80, 100)
    assert voice.mfcc(TONE, RATE, preset="kaldi", n_mfcc=13).shape == (13, 98)
    batch = np.stack([TONE, 0.5 * TONE, -TONE]).reshape(3, 1, -1)
    mel = voice.feature.melspectrogram(y=batch, sr=RATE, n_mels=40)
    assert mel.shape == (3, 1, 40, 32) and mel.dtype == np.float32
    alone = voice.feature.melspectrogram(y=batch[1, 0], sr=RATE, n_mels=40)
    assert (mel[1, 0] == alone).all()
    assert voice.vad(batch, sr=RATE).shape == (3, 1, 101)


def test_results_are_arrays_of_the_caller():
    spectra = voice.stft(TONE)
    assert spectra.flags.writeable and spectra.flags.c_contiguous
    spectra[0, 0] = 1
    mel = voice.feature.melspectrogram(y=TONE, sr=RATE)
    mel *= 2


def test_settings_that_take_turns_give_the_same_numbers_every_time():
    def features(sizes):
        return voice.feature.melspectrogram(y=TONE, sr=RATE, n_fft=512, n_mels=20 + sizes)

    first = [features(sizes) for sizes in range(12)]
    with ThreadPoolExecutor(4) as pool:
        again = list(pool.map(features, [*range(12)] * 3))
    for n, found in enumerate(again):
        assert np.array_equal(found, first[n % 12])
    loud = voice.stft(TONE, n_fft=512)
    assert np.array_equal(voice.stft(TONE, n_fft=512), loud)
    assert not np.shares_memory(voice.stft(TONE, n_fft=512), loud)


def test_spectra_can_be_turned_back():
    for n_fft, hop, window, center in [(512, 128, "hann", True), (400, 100, "hamming", True)]:
        sizes = {"hop_length": hop, "window": window, "center": center}
        spectra = voice.stft(TONE, n_fft=n_fft, **sizes)
        back = voice.istft(spectra, n_fft=n_fft, length=RATE, **sizes)
        assert np.abs(back - TONE).max() < 1e-5
    magnitudes = voice.spectrogram(TONE, n_fft=512, hop_length=128)
    again = voice.griffinlim(magnitudes, hop_length=128, length=RATE)
    assert again.shape == (RATE,)
    nearness = voice.spectrogram(again, n_fft=512, hop_length=128) - magnitudes
    assert np.linalg.norm(nearness) < 0.2 * np.linalg.norm(magnitudes)


def test_speech_loudness_and_formants_have_numbers():
    quiet = np.zeros(RATE, np.float32)
    found = voice.segments(np.concatenate([quiet, TONE, quiet]), sr=RATE)
    assert found.shape == (1, 2) and abs(found[0] - [1, 2]).max() < 0.3
    measured = voice.loudness(np.stack([TONE, TONE]), sr=RATE)
    assert -2 < measured.integrated_lufs < 2 and measured.true_peak_dbtp > -0.1
    times, hertz, width = voice.formants(TONE + 0.01 * np.sin(np.arange(RATE)), sr=RATE)
    assert hertz.shape == width.shape == (5, len(times))


def test_sounds_are_changed():
    assert voice.effects.time_stretch(TONE, rate=0.5).shape == (2 * RATE,)
    higher = voice.effects.pitch_shift(TONE, sr=RATE, n_steps=12)
    assert abs(np.median(voice.yin(higher, fmin=65, fmax=800, sr=RATE)) - 440) < 2
    assert voice.effects.denoise(TONE, sr=RATE).shape == TONE.shape


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: voice.mel(np.zeros(100, np.int16), RATE), ValueError, "int16"),
        (lambda: voice.mel(np.full(1000, np.nan), RATE), ValueError, "sample 0 is NaN"),
        (lambda: voice.mel(TONE, RATE, preset="nobody"), ValueError, "preset"),
        (lambda: voice.mel(TONE, 22050, preset="whisper"), ValueError, "resample"),
        (lambda: voice.stft(TONE, n_fft=0), ValueError, "n_fft = 0"),
        (lambda: voice.stft(TONE, window="square"), ValueError, "square"),
        (lambda: voice.stft(TONE, pad_mode="wrap"), ValueError, "wrap"),
        (lambda: voice.stft(TONE, n_fft=1 << 31), ValueError, "at most 4194304"),
        (lambda: voice.stft(TONE[:10], center=False), ValueError, "shorter than a frame"),
        (lambda: voice.stft(TONE[:0]), ValueError, "the signal is empty"),
        (lambda: voice.stft(TONE, window=np.ones(2047)), ValueError, "win_length = 2048"),
        (lambda: voice.batch(voice.stft, [TONE, TONE * np.nan]), ValueError, "signal 1: sample 0"),
        (lambda: voice.load(io.StringIO("RIFF")), ValueError, "mode 'rb'"),
        (lambda: voice.load(io.BytesIO(b"RIFF")), ValueError, "cannot decode `the sound`"),
        (lambda: voice.mel(TONE, RATE, n_mels=10**9), ValueError, "65536"),
        (lambda: voice.effects.time_stretch(TONE, rate=1e-12), ValueError, "TiB"),
        (lambda: voice.formants(TONE, sr=RATE, n_formants=10**5), ValueError, "at most 100"),
        (lambda: voice.formants(TONE, sr=RATE, window_seconds=2**32), ValueError, "up to 10 s"),
        (lambda: voice.harmonicity(TONE, sr=RATE, hop_seconds=1e-9), ValueError, "hop_seconds"),
        (lambda: voice.pitch(TONE, sr=RATE, fmin=1e-9), ValueError, "at least"),
        (lambda: voice.cqt(TONE, n_bins=10**6, bins_per_octave=10**6), ValueError, "frame"),
        (lambda: voice.load("nowhere.wav"), FileNotFoundError, "nowhere.wav"),
        (lambda: voice.load(__file__), ValueError, "not a known audio file"),
    ],
)
def test_bad_input_is_an_error_that_says_what(call, error, words):
    with pytest.raises(error, match=words):
        call()


def test_a_file_is_read_as_a_whole_or_in_part(tmp_path):
    path = write(tmp_path / "tone.wav", np.stack([TONE, 0 * TONE]))
    signal, rate = voice.load(path, sr=None)
    assert rate == RATE and np.abs(signal - TONE / 2).max() < 1e-4
    both, _ = voice.load(path, sr=None, mono=False, offset=0.25, duration=0.5)
    assert both.shape == (2, 8000)
    assert np.abs(both[0] - TONE[4000:12000]).max() < 1e-4
    one = write(tmp_path / "one.wav", TONE)
    assert voice.load(one, sr=None, mono=False)[0].shape == (RATE,)
    assert voice.load(path)[1] == 22050 and voice.load(path)[0].shape == (22050,)
    assert voice.load(path, sr=None, offset=9)[0].shape == (0,)


class Gives:
    """A reader of whatever kind."""

    def __init__(self, contents):
        self.contents = contents

    def read(self):
        return self.contents


def test_a_file_in_memory_is_the_file(tmp_path):
    path = write(tmp_path / "tone.wav", np.stack([TONE, 0 * TONE]))
    with open(path, "rb") as file:
        contents = file.read()
        file.seek(0)
        others = Gives(bytearray(contents)), Gives(memoryview(contents))
        for source in (file, io.BytesIO(contents), *others):
            part = voice.load(source, sr=None, mono=False, offset=0.25, duration=0.5)
            whole = voice.load(path, sr=None, mono=False, offset=0.25, duration=0.5)
            assert part[1] == whole[1] and (part[0] == whole[0]).all()
    with pytest.raises(ValueError, match="gives NoneType instead of bytes"):
        voice.load(Gives(None))


def test_the_tuning_is_estimated_unless_it_is_given():
    sharp = np.sin(2 * np.pi * 440 * 2 ** (0.4 / 12) * np.arange(22050) / 22050)
    assert abs(voice.estimate_tuning(y=sharp, sr=22050) - 0.4) < 0.06
    own, standard = [voice.feature.chroma_stft(y=sharp, tuning=t) for t in (None, 0.0)]
    assert own[9, 20] == 1 and own[10, 20] < standard[10, 20]


def test_voice_quality_has_praats_measures():
    t = np.arange(2 * RATE) / RATE
    r = np.random.default_rng(3)
    y = sum(np.sin(2 * np.pi * 120 * k * t) / k for k in range(1, 8))
    y = (0.2 * y + 0.002 * r.standard_normal(len(t))).astype(np.float32)
    times = voice.pulses(y, sr=RATE)
    assert abs(np.diff(times).mean() - 1 / 120) < 1e-5
    measured = voice.perturbation(y, sr=RATE, pulses=times)
    assert measured == voice.perturbation(y, sr=RATE)
    assert 0 < measured.jitter_local < 0.003 and 0 < measured.shimmer_local < 0.02
    assert measured.periods > 200
    for method in ("cc", "ac"):
        seconds, hnr = voice.harmonicity(y, sr=RATE, method=method)
        assert seconds.shape == hnr.shape and 25 < np.nanmean(hnr) < 50
    assert voice.cpps(y, sr=RATE) > 10
    silence = voice.perturbation(np.zeros(RATE, np.float32), sr=RATE)
    assert silence.periods == 0 and np.isnan(silence.jitter_local)


def test_sounds_are_filtered_and_put_into_rooms():
    assert np.abs(voice.effects.biquad(TONE, "notch", sr=RATE, frequency=220)[-2000:]).max() < 0.05
    both = voice.effects.normalize(np.stack([TONE, 0.5 * TONE]), sr=RATE, lufs=-23)
    assert abs(voice.loudness(both, sr=RATE).integrated_lufs + 23) < 0.01
    room = voice.effects.reverb(TONE, sr=RATE, decay_seconds=0.5)
    assert room.shape == (RATE + RATE // 2,) and np.abs(room[RATE : RATE + 800]).max() > 0.01
    answer = np.zeros(500, np.float32)
    answer[300] = 1
    moved = voice.effects.convolve(TONE, answer)
    assert np.abs(moved[300 : 300 + RATE] - TONE).max() < 1e-5
    assert voice.picture(TONE, sr=RATE, kind="svg").startswith(b"<svg")


def test_threads_run_side_by_side():
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(4) as pool:
        several = list(pool.map(lambda gain: voice.mfcc(gain * TONE, RATE), [0.1, 0.5, 1.0, 1.0]))
    assert (several[2] == several[3]).all() and (several[0] != several[1]).any()
