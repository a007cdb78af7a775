"""Streams give what the whole signal gives, whatever the blocks; batches what each signal gives."""

import signal as signals_of_the_system
import subprocess
import sys
import time

import numpy as np
import pytest

from warpsmith import voice

RATE = 16000
BLOCKS = [1, 37, 160, 4096, 10**6]


def sound(samples=RATE, seed=1):
    """A voice that pauses, over a little noise."""
    r = np.random.default_rng(seed)
    t = np.arange(samples) / RATE
    phase = 2 * np.pi * np.cumsum(150 + 30 * np.sin(3 * t)) / RATE
    y = sum(np.sin(k * phase) / k for k in range(1, 10)) * (np.sin(5 * t) > -0.5)
    return (0.1 * y + 0.01 * r.standard_normal(samples)).astype(np.float32)


FRAMES = {"n_fft": 512, "hop_length": 160, "win_length": 400}
LEVELS = {"frame_length": 512, "hop_length": 160}
PITCH = {"fmin": 65, "fmax": 500, "sr": RATE, "frame_length": 1024, "hop_length": 160}
STREAMS = {
    "stft": (lambda: voice.stream.stft(**FRAMES), lambda y: voice.stft(y, **FRAMES)),
    "mel": (
        lambda: voice.stream.melspectrogram(sr=RATE, n_mels=40, **FRAMES),
        lambda y: voice.feature.melspectrogram(y=y, sr=RATE, n_mels=40, **FRAMES),
    ),
    "mfcc": (
        lambda: voice.stream.mfcc(sr=RATE, n_mfcc=13, lifter=22, n_mels=40, **FRAMES),
        lambda y: voice.feature.mfcc(
            y=y, sr=RATE, n_mfcc=13, lifter=22, n_mels=40, top_db=None, **FRAMES
        ),
    ),
    "mirrored": (
        lambda: voice.stream.melspectrogram(sr=RATE, pad_mode="reflect", **FRAMES),
        lambda y: voice.feature.melspectrogram(y=y, sr=RATE, pad_mode="reflect", **FRAMES),
    ),
    "torchaudio": (
        lambda: voice.stream.mel(RATE, preset="torchaudio", log=False),
        lambda y: voice.mel(y, RATE, preset="torchaudio", log=False),
    ),
    "kaldi": (
        lambda: voice.stream.mel(RATE),
        lambda y: voice.mel(y, RATE, preset="kaldi"),
    ),
    "yin": (lambda: voice.stream.yin(**PITCH), lambda y: voice.yin(y, **PITCH)),
    "rms": (lambda: voice.stream.rms(**LEVELS), lambda y: voice.feature.rms(y=y, **LEVELS)),
    "crossings": (
        lambda: voice.stream.zero_crossing_rate(**LEVELS),
        lambda y: voice.feature.zero_crossing_rate(y, **LEVELS),
    ),
    "centroid": (
        lambda: voice.stream.spectral("centroid", sr=RATE, **FRAMES),
        lambda y: voice.feature.spectral_centroid(y=y, sr=RATE, **FRAMES),
    ),
    "flux": (
        lambda: voice.stream.spectral("flux", sr=RATE, **FRAMES),
        lambda y: voice.feature.spectral_flux(y=y, sr=RATE, **FRAMES),
    ),
    "chroma": (
        lambda: voice.stream.chroma_stft(sr=RATE, tuning=0.2, **FRAMES),
        lambda y: voice.feature.chroma_stft(y=y, sr=RATE, tuning=0.2, **FRAMES),
    ),
    "onset": (
        lambda: voice.stream.onset_strength(sr=RATE, hop_length=160, n_fft=512),
        lambda y: voice.onset.onset_strength(y=y, sr=RATE, hop_length=160, n_fft=512),
    ),
    "webrtc": (
        lambda: voice.stream.vad(sr=RATE),
        lambda y: voice.vad(y, sr=RATE, method="webrtc"),
    ),
    "energy": (
        lambda: voice.stream.vad(sr=RATE, method="energy"),
        lambda y: voice.vad(y, sr=RATE, method="energy"),
    ),
    "net": (
        lambda: voice.stream.vad(sr=RATE, method="net"),
        lambda y: voice.vad(y, sr=RATE, method="net"),
    ),
    "resample": (
        lambda: voice.stream.resample(orig_sr=RATE, target_sr=22050),
        lambda y: voice.resample(y, orig_sr=RATE, target_sr=22050),
    ),
    "deemphasis": (
        lambda: voice.stream.deemphasis(coef=0.9),
        lambda y: voice.effects.deemphasis(y, coef=0.9, zi=0.0),
    ),
    "biquad": (
        lambda: voice.stream.biquad("lowpass", sr=RATE, frequency=500),
        lambda y: voice.effects.biquad(y, "lowpass", sr=RATE, frequency=500),
    ),
    "reverb": (
        lambda: voice.stream.reverb(sr=RATE, decay_seconds=0.3),
        lambda y: voice.effects.reverb(y, sr=RATE, decay_seconds=0.3),
    ),
}


def streamed(make, y, block):
    stream = make()
    parts = [stream.process(y[at : at + block]) for at in range(0, len(y), block)]
    return [*parts, stream.finish()]


@pytest.mark.parametrize("name", STREAMS)
@pytest.mark.parametrize("block", BLOCKS)
def test_a_stream_gives_the_bits_of_the_whole(name, block):
    make, whole = STREAMS[name]
    y = sound(3001 if block == 1 else RATE)
    parts = np.concatenate(streamed(make, y, block), axis=-1)
    expected = whole(y)
    assert parts.shape == expected.shape and parts.dtype == expected.dtype
    assert (parts == expected).all()


def test_preemphasis_is_within_a_unit_in_the_last_place():
    y = sound()
    ours = np.concatenate(streamed(voice.stream.preemphasis, y, 99))
    assert np.abs(ours - voice.effects.preemphasis(y, zi=0.0)).max() < 1e-7


def test_pyin_says_of_a_stream_what_it_says_of_the_whole():
    y = sound(3 * RATE)
    f0, voiced, probability = voice.pyin(y, **PITCH)
    parts = streamed(lambda: voice.stream.pyin(**PITCH), y, 777)
    ours, ours_voiced, ours_probability = [np.concatenate(of) for of in zip(*parts)]
    assert (ours_voiced == voiced).all() and (ours_probability == probability).all()
    assert (ours[voiced] == f0[voiced]).all() and np.isnan(ours[~voiced]).all()


def test_the_network_says_of_a_stream_what_it_says_of_the_whole():
    y = sound(2 * RATE)
    whole = voice.pitch(y, sr=RATE, method="net")
    parts = streamed(lambda: voice.stream.pitch(sr=RATE), y, 777)
    for ours, expected in zip([np.concatenate(of) for of in zip(*parts)], whole):
        np.testing.assert_array_equal(ours, expected)
    stream, late = voice.stream.pitch(sr=RATE), []
    for at in range(0, len(y), 160):
        late += [(at + 160) / RATE - seconds for seconds in stream.process(y[at : at + 160])[0]]
    assert len(late) > 100 and max(late) < 0.5
    with pytest.raises(ValueError, match="'net' and 'swipe' decide"):
        voice.stream.pitch(sr=RATE, method="praat")


def test_swipe_says_of_a_stream_what_it_says_of_the_whole():
    y = sound(5 * RATE)
    whole = voice.pitch(y, sr=RATE, method="swipe")
    for block in (777, 10**6):
        parts = streamed(lambda: voice.stream.pitch(sr=RATE, method="swipe"), y, block)
        for ours, expected in zip([np.concatenate(of) for of in zip(*parts)], whole):
            np.testing.assert_array_equal(ours, expected)
    with pytest.raises(ValueError, match="is for method = 'net'"):
        voice.stream.pitch(sr=RATE, method="swipe", threshold=0.5)


def test_a_stream_that_has_ended_says_so():
    stream = voice.stream.rms()
    stream.finish()
    with pytest.raises(ValueError, match="has ended"):
        stream.process(sound(100))
    with pytest.raises(ValueError, match="'webrtc'"):
        voice.stream.vad(sr=RATE, method="statistical")
    with pytest.raises(ValueError, match="sample 1 is"):
        voice.stream.rms().process([0.0, np.inf])


def test_a_batch_is_each_signal_on_its_own_in_order():
    clips = [sound(n, seed=n) for n in (16000, 500, 9001, 160, 12345)]
    for workers in (1, 3, None):
        found = voice.batch(voice.feature.mfcc, clips, sr=RATE, workers=workers)
        for ours, clip in zip(found, clips):
            assert (ours == voice.feature.mfcc(y=clip, sr=RATE)).all()
    assert voice.batch(voice.pitch, [], sr=RATE) == []
    with pytest.raises(ValueError, match="n_mels"):
        voice.batch(voice.mel, clips, RATE, n_mels=0)
    with pytest.raises(ValueError, match="workers"):
        voice.batch(voice.mel, clips, RATE, workers=0)


@pytest.mark.parametrize("error", [KeyError("hop"), ValueError("too short"), OSError(5, "lost")])
def test_an_error_of_a_batch_says_which_signal_and_keeps_its_class(error):
    def fails(signal):
        if len(signal) == 2:
            raise error
        return len(signal)

    with pytest.raises(type(error)) as caught:
        voice.batch(fails, [[0], [0, 0], [0, 0, 0]])
    if type(error) is ValueError:
        assert str(caught.value) == "signal 1: too short"
    elif sys.version_info >= (3, 11):
        assert caught.value.__notes__ == ["while working on signal 1 of the batch"]
    else:
        assert caught.value is error


# A shell that starts something in the background has it ignore interrupts.
LONG = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
import numpy as np
from warpsmith import voice
y = np.random.default_rng(1).standard_normal(16000 * 1200).astype(np.float32)
print("begun", flush=True)
try:
    {call}
    print("done")
except KeyboardInterrupt:
    print("interrupted")
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGINT to send")
@pytest.mark.parametrize(
    "call",
    [
        "voice.pyin(y, fmin=65, fmax=800, sr=16000, hop_length=32)",
        "voice.griffinlim(np.abs(voice.stft(y[:800000], n_fft=512)), n_iter=100000)",
        "voice.batch(voice.pitch, [y, y, y, y], sr=16000, fmin=40, hop_length=16)",
    ],
)
def test_an_interrupt_ends_long_work(call):
    program = [sys.executable, "-c", LONG.format(call=call)]
    with subprocess.Popen(program, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout.readline() == "begun\n"
        time.sleep(1.0)
        running.send_signal(signals_of_the_system.SIGINT)
        try:
            out, _ = running.communicate(timeout=60)
        finally:
            running.kill()
    assert out == "interrupted\n"
