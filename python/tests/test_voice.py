import numpy as np
import pytest

from warpsmith import voice

RATE = 16000
TONE = np.sin(2 * np.pi * 220 * np.arange(RATE) / RATE).astype(np.float32)


def test_a_tone_has_its_pitch():
    assert abs(np.median(voice.yin(TONE, RATE)) - 220) < 0.5
    frequency, voiced, probability = voice.pyin(TONE, RATE)
    assert voiced.mean() > 0.9 and len(probability) == len(frequency)
    assert abs(np.median(frequency[voiced]) - 220) < 2


def test_features_have_the_preset_s_shape():
    mel = voice.mel(TONE, RATE, preset="whisper")
    assert mel.dtype == np.float32 and mel.shape[1] == 80
    assert voice.mfcc(TONE, RATE, coefficients=13).shape[1] == 13
    power = voice.mel(TONE, RATE, log=False)
    assert (power >= 0).all() and power.argmax() % power.shape[1] < power.shape[1] // 2


def test_bad_input_is_an_error_that_says_what():
    with pytest.raises(ValueError, match="one channel"):
        voice.mel(np.zeros((2, 100), np.float32), RATE)
    with pytest.raises(RuntimeError):
        voice.mel(np.array([np.nan] * 1000, np.float32), RATE)
    with pytest.raises(RuntimeError, match="preset"):
        voice.mel(TONE, RATE, preset="nobody")


def test_a_file_is_read(tmp_path):
    import wave

    path = tmp_path / "tone.wav"
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(RATE)
        file.writeframes((TONE * 32000).astype("<i2").tobytes())
    signal, rate = voice.load(path)
    assert rate == RATE and len(signal) == RATE
    assert np.abs(signal - TONE * 32000 / 32768).max() < 1e-4
