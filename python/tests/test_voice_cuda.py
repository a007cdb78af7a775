"""Arrays of PyTorch and CuPy on a GPU, analysed where they lie; without a GPU, why not."""

import numpy as np
import pytest

from warpsmith import voice

RATE = 16000
FRAMES = {"n_fft": 512, "hop_length": 160}


def gpu_missing():
    try:
        voice.gpu._native.open_gpu(0)
    except RuntimeError:
        return True
    return False


WITHOUT_GPU = gpu_missing()


def signals():
    r = np.random.default_rng(5)
    t = np.arange(16001) / RATE
    tones = [np.sin(2 * np.pi * f * t + np.sin(5 * t)) for f in (110, 220, 330)]
    return (0.3 * np.stack(tones) + 0.01 * r.standard_normal((3, len(t)))).astype(np.float32)


# Bounds of the largest value: single precision in another order.
CALLS = {
    "stft": (lambda y, **d: voice.stft(y, **FRAMES, **d), 1e-5),
    "magnitudes": (lambda y, **d: voice.spectrogram(y, **FRAMES, **d), 1e-5),
    "powers": (lambda y, **d: voice.spectrogram(y, power=2, **FRAMES, **d), 1e-5),
    "mel": (lambda y, **d: voice.feature.melspectrogram(y=y, sr=RATE, **FRAMES, **d), 1e-4),
    "mel of long frames": (
        lambda y, **d: voice.feature.melspectrogram(y=y, sr=RATE, n_fft=2048, n_mels=64, **d),
        1e-4,
    ),
    "centroid": (lambda y, **d: voice.feature.spectral_centroid(y=y, sr=RATE, **FRAMES, **d), 1e-3),
    "flatness": (lambda y, **d: voice.feature.spectral_flatness(y=y, **FRAMES, **d), 1e-3),
    "chroma": (
        lambda y, **d: voice.feature.chroma_stft(y=y, sr=RATE, tuning=0.1, **FRAMES, **d),
        1e-3,
    ),
    "onset": (
        lambda y, **d: voice.onset.onset_strength(y=y, sr=RATE, n_fft=512, hop_length=160, **d),
        1e-3,
    ),
    "yin": (
        lambda y, **d: voice.yin(y, fmin=65, fmax=500, sr=RATE, frame_length=1024, **d),
        1e-3,
    ),
    "mfcc": (lambda y, **d: voice.feature.mfcc(y=y, sr=RATE, n_mfcc=13, **FRAMES, **d), 1e-4),
    "mfcc with a lifter": (
        lambda y, **d: voice.feature.mfcc(y=y, sr=RATE, lifter=22, top_db=None, n_mels=40, **d),
        1e-4,
    ),
    "constant-Q": (lambda y, **d: voice.cqt(y, sr=RATE, **d), 1e-4),
    "resample": (lambda y, **d: voice.resample(y, orig_sr=RATE, target_sr=22050, **d), 1e-5),
}


def every_call_with_every_library(test):
    """Runs a test for each, where there is a GPU."""
    for mark in (
        pytest.mark.parametrize("name", CALLS),
        pytest.mark.parametrize("library", ["torch", "cupy"]),
        pytest.mark.skipif(WITHOUT_GPU, reason="there is no GPU"),
    ):
        test = mark(test)
    return test


@every_call_with_every_library
def test_what_the_gpu_says_of_its_arrays_is_what_the_cpu_says(name, library):
    module = pytest.importorskip(library, reason=f"{library} is not installed")
    call, bound = CALLS[name]
    for y in (signals(), signals()[1], signals().reshape(3, 1, -1)):
        there = module.as_tensor(y, device="cuda") if library == "torch" else module.asarray(y)
        found = call(there, device="cuda")
        assert type(found) is type(there), "the result belongs to the library of the signal"
        ours = found.cpu().numpy() if library == "torch" else found.get()
        expected = call(y)
        assert ours.shape == expected.shape and ours.dtype == expected.dtype
        worst = np.abs(ours - expected).max() / np.abs(expected).max()
        assert worst < bound, worst


@every_call_with_every_library
def test_a_list_of_signals_gives_what_each_gives(name, library):
    module = pytest.importorskip(library, reason=f"{library} is not installed")
    call, bound = CALLS[name]
    all_of_them = signals()
    clips = [all_of_them[0], all_of_them[1][:9001], all_of_them[2][:12345], all_of_them[0][:4096]]
    lay = lambda y: module.as_tensor(y, device="cuda") if library == "torch" else module.asarray(y)
    found = voice.batch(call, [lay(y) for y in clips], device="cuda")
    together = call(voice.gpu.Several([lay(y) for y in clips]), device="cuda")
    assert len(found) == len(together) == len(clips)
    for y, alone, one in zip(clips, found, together):
        assert type(one) is type(lay(y))
        alone, one = (x.cpu().numpy() if library == "torch" else x.get() for x in (alone, one))
        expected = call(y)
        assert one.shape == alone.shape == expected.shape and one.dtype == expected.dtype
        worst = np.abs(one - expected).max() / np.abs(expected).max()
        assert worst < bound and np.abs(alone - expected).max() / np.abs(expected).max() < bound


@pytest.mark.skipif(WITHOUT_GPU, reason="there is no GPU")
@pytest.mark.parametrize("library", ["torch", "cupy"])
def test_pyin_on_the_gpu_follows_the_cpu(library):
    module = pytest.importorskip(library, reason=f"{library} is not installed")
    lay = lambda y: module.as_tensor(y, device="cuda") if library == "torch" else module.asarray(y)
    back = lambda x: x.cpu().numpy() if library == "torch" else x.get()
    how = {"fmin": 65, "fmax": 500, "sr": RATE, "frame_length": 1024}
    expected = voice.pyin(signals(), **how)
    found = [back(x) for x in voice.pyin(lay(signals()), device="cuda", **how)]
    for ours, theirs in zip(found, expected):
        assert ours.shape == theirs.shape and ours.dtype == theirs.dtype
    assert (found[1] == expected[1]).mean() > 0.99
    both = found[1] & expected[1]
    assert np.abs(found[0][both] / expected[0][both] - 1).max() < 1e-3
    assert np.isnan(found[0][~found[1]]).all()
    clips = [signals()[0], signals()[1][:9001]]
    for clip, track in zip(clips, voice.batch(voice.pyin, map(lay, clips), device="cuda", **how)):
        alone = voice.pyin(lay(clip), device="cuda", **how)
        for ours, theirs in zip(track, alone):
            np.testing.assert_array_equal(back(ours), back(theirs))


@pytest.mark.skipif(WITHOUT_GPU, reason="there is no GPU")
def test_results_of_unknown_libraries_go_by_dlpack():
    torch = pytest.importorskip("torch", reason="torch is not installed")

    class Foreign:
        def __init__(self, tensor):
            self.tensor = tensor
            self.__cuda_array_interface__ = tensor.__cuda_array_interface__

    y = torch.as_tensor(signals(), device="cuda")
    found = voice.spectrogram(Foreign(y), device="cuda", **FRAMES)
    assert found.__dlpack_device__() == (2, 0)
    expected = voice.spectrogram(y, device="cuda", **FRAMES)
    shown = torch.from_dlpack(found)
    assert torch.equal(shown, expected)
    del found
    # The memory lives as long as whoever shows it.
    torch.empty(1 << 24, device="cuda").fill_(7.0)
    assert torch.equal(shown, expected)
    capsule = voice.spectrogram(Foreign(y), device="cuda", **FRAMES).__dlpack__()
    del capsule


@pytest.mark.skipif(WITHOUT_GPU, reason="there is no GPU")
def test_work_of_the_library_before_is_seen():
    torch = pytest.importorskip("torch", reason="torch is not installed")
    y = torch.as_tensor(signals(), device="cuda")
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        # A long product first, so that the scaled signal is not there yet when the call begins.
        a = torch.ones(4096, 4096, device="cuda")
        for _ in range(20):
            a = a @ a / 4096
        doubled = y * (2 * a[0, 0])
        found = voice.spectrogram(doubled, device="cuda", **FRAMES)
    expected = 2 * voice.spectrogram(signals(), **FRAMES)
    assert np.abs(found.cpu().numpy() - expected).max() < 1e-4 * expected.max()


@pytest.mark.skipif(WITHOUT_GPU, reason="there is no GPU")
def test_what_the_gpu_cannot_is_an_error_that_says_so():
    torch = pytest.importorskip("torch", reason="torch is not installed")
    y = torch.as_tensor(signals(), device="cuda")
    with pytest.raises(ValueError, match="device="):
        voice.stft(y)
    with pytest.raises(ValueError, match="powers of two"):
        voice.stft(y, n_fft=400, device="cuda")
    with pytest.raises(ValueError, match="float64"):
        voice.stft(y.double(), device="cuda")
    with pytest.raises(ValueError, match="contiguous"):
        voice.stft(y[:, ::2], device="cuda")
    with pytest.raises(ValueError, match="host's memory"):
        voice.stft(signals(), device="cuda")
    with pytest.raises(ValueError, match="tuning"):
        voice.feature.chroma_stft(y=y, device="cuda")


@pytest.mark.skipif(not WITHOUT_GPU, reason="there is a GPU")
def test_without_a_gpu_the_call_says_so():
    with pytest.raises(RuntimeError, match='device="cuda" cannot be used'):
        voice.stft(signals(), device="cuda")
    with pytest.raises(ValueError, match="'cuda:N'"):
        voice.stft(signals(), device="tpu")
