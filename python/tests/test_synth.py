import numpy as np
import pytest

from warpsmith import synth, voice


def test_the_same_seed_is_the_same_bytes_and_another_is_not():
    a = synth.render(7, 2.0, rate=16000)
    assert a.shape == (32000, 2) and a.dtype == np.float32
    assert (a == synth.render(7, 2.0, rate=16000)).all()
    assert (a != synth.render(8, 2.0, rate=16000)).any()
    assert 0.01 < np.abs(a).max() <= 1.0


def test_parameters_are_checked_by_name_and_range():
    with pytest.raises(TypeError, match="loudness"):
        synth.render(1, 1.0, loudness=1)
    with pytest.raises(ValueError, match="bpm"):
        synth.render(1, 1.0, bpm=400)
    with pytest.raises(ValueError, match="seconds"):
        synth.render(1, 0.0)
    with pytest.raises(ValueError):
        synth.render(1, 1.0, preset="loud")
    loud, quiet = (synth.render(3, 2.0, volume=v) for v in (0.9, 0.2))
    assert np.abs(loud).max() > np.abs(quiet).max()


def test_a_saved_file_is_what_was_rendered(tmp_path):
    path = tmp_path / "a.wav"
    music = synth.render(7, 1.0)
    synth.save(path, music)
    signal, rate = voice.load(path, sr=None)
    assert rate == 48000 and len(signal) == 48000
    assert np.abs(signal - music.mean(axis=1)).max() < 1e-4
    assert synth.midi(7, 10.0).startswith(b"MThd")
