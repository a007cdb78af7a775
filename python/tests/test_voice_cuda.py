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
    "resample": (lambda y, **d: voice.resample(y, orig_sr=RATE, target_sr=22050, **d), 1e-5),
}


@pytest.mark.skipif(WITHOUT_GPU, reason="there is no GPU")
@pytest.mark.parametrize("library", ["torch", "cupy"])
@pytest.mark.parametrize("name", CALLS)
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
