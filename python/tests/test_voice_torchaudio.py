"""The calls of the page "From torchaudio" beside torchaudio, over random settings."""

import numpy as np
import pytest

from warpsmith.voice import torchaudio as ours

torch = pytest.importorskip("torch", reason="torch is not installed")
torchaudio = pytest.importorskip("torchaudio", reason="torchaudio is not installed")

import torchaudio.compliance.kaldi as kaldi  # noqa: E402
import torchaudio.functional as F  # noqa: E402
import torchaudio.transforms as T  # noqa: E402

RATES = [8000, 11025, 16000, 22050, 44100, 48000]
KINDS = ["voice", "noise", "constant", "silence", "clipped", "faint", "click"]


def signal(r, kind, samples):
    t = np.arange(samples)
    glide = 2 * np.pi * np.cumsum(0.01 + 0.005 * np.sin(t / 900))
    return {
        "voice": 0.3 * np.sin(glide) * (0.5 + 0.5 * np.sin(t / 2000)),
        "noise": 0.2 * r.standard_normal(samples),
        "constant": np.full(samples, 0.3),
        "silence": np.zeros(samples),
        "clipped": np.clip(3 * np.sin(t / 7), -1, 1),
        "faint": 1e-6 * r.standard_normal(samples),
        "click": np.where(t == samples // 2, 1.0, 0.0),
    }[kind] + (0.01 * r.standard_normal(samples) if kind == "voice" else 0)


def waves(r, kinds=KINDS, shape=None, samples=None):
    """Signals of a random kind in a random batch."""
    samples = samples or int(r.integers(1500, 6000))
    shape = [(), (1,), (2,), (2, 3)][int(r.integers(4))] if shape is None else shape
    kind = str(r.choice(kinds))
    rows = [signal(r, kind, samples) for _ in range(int(np.prod(shape)))]
    return torch.from_numpy(np.stack(rows).reshape(shape + (samples,)).astype(np.float32))


def levels(r, bins=None, shape=None):
    shape = [(), (1,), (2,), (2, 3)][int(r.integers(4))] if shape is None else shape
    size = (bins or int(r.integers(5, 40)), int(r.integers(10, 60)))
    return torch.from_numpy((r.uniform(0, 1, shape + size) ** 4).astype(np.float32))


def near(mine, theirs, bound, floor=1e-9):
    if theirs is None or isinstance(theirs, tuple):
        assert type(mine) is type(theirs)
        for one, other in zip(mine or (), theirs or ()):
            near(one, other, bound, floor)
        return
    assert torch.is_tensor(mine) and mine.shape == theirs.shape, (mine.shape, theirs.shape)
    mine, theirs = mine.resolve_conj().numpy(), theirs.resolve_conj().numpy()
    assert (np.isnan(mine) == np.isnan(theirs)).all()
    known = np.isfinite(theirs)
    if known.any():
        worst = np.abs(mine - theirs)[known].max() / max(np.abs(theirs[known]).max(), floor)
        assert worst <= bound, worst


def frames(r):
    n_fft = int(r.choice([64, 200, 255, 256, 400, 512]))
    sizes = {"n_fft": n_fft, "hop_length": int(r.integers(n_fft // 8, n_fft // 2 + 1))}
    if r.random() < 0.6:
        sizes["win_length"] = int(r.integers(n_fft // 2, n_fft + 1))
    if r.random() < 0.5:
        makers = [torch.hann_window, torch.hamming_window, torch.blackman_window]
        makers += [torch.bartlett_window, torch.kaiser_window]
        sizes["window_fn"] = makers[int(r.integers(5))]
        if r.random() < 0.3:
            sizes["wkwargs"] = {"periodic": False}
    return sizes


def spectra(r):
    more = {
        "pad": int(r.integers(0, 50)),
        "power": [None, 1.0, 2.0, 1.5][int(r.integers(4))],
        "normalized": [True, False, "window", "frame_length"][int(r.integers(4))],
        "center": bool(r.integers(2)),
        "pad_mode": ["reflect", "constant", "replicate", "circular"][int(r.integers(4))],
    }
    return {**frames(r), **{name: value for name, value in more.items() if r.random() < 0.4}}


def mels(r, sr):
    sizes = {**spectra(r), "n_mels": int(r.integers(8, 64)), "f_min": float(r.uniform(0, 200))}
    if sizes.get("power", 2.0) is None:
        del sizes["power"]
    sizes["f_max"] = [None, float(r.uniform(1000, sr / 2))][int(r.integers(2))]
    sizes["norm"], sizes["mel_scale"] = [(None, "htk"), ("slaney", "slaney")][int(r.integers(2))]
    return sizes


def pair(name, r, *arguments, **options):
    """Ours and theirs of a transform."""
    return getattr(ours.transforms, name)(*arguments, **options), getattr(T, name)(
        *arguments, **options
    )


@pytest.fixture(params=range(12))
def r(request):
    torch.set_num_threads(1)
    return np.random.default_rng(request.param)


@pytest.mark.filterwarnings("ignore")
def test_spectra_and_features(r):
    sr = int(r.choice(RATES))
    mine, theirs = pair("Spectrogram", r, **{**spectra(r), "onesided": bool(r.random() < 0.8)})
    y = waves(r)
    near(mine(y), theirs(y), 1e-5)
    mel = mels(r, sr)
    mine, theirs = pair("MelSpectrogram", r, sr, **mel)
    near(mine(y), theirs(y), 2e-5)
    n_mfcc, logs = int(r.integers(3, mel["n_mels"] + 1)), bool(r.integers(2))
    norm = [None, "ortho"][int(r.integers(2))]
    mine, theirs = pair("MFCC", r, sr, n_mfcc, norm=norm, log_mels=logs, melkwargs=mel)
    near(mine(y), theirs(y), 2e-4)
    how = {"n_filter": 40, "n_lfcc": 20, "log_lf": logs, "norm": norm, "speckwargs": frames(r)}
    mine, theirs = pair("LFCC", r, sr, **how)
    near(mine(y), theirs(y), 2e-4)
    mine, theirs = pair("SpectralCentroid", r, sr, **frames(r))
    loud = waves(r, ["voice", "noise", "clipped", "silence"])
    near(mine(loud), theirs(loud), 1e-4)


def test_levels_and_filters_over_bins(r):
    sr, bins = int(r.choice(RATES)), int(r.choice([129, 201, 257]))
    filters = {"n_mels": int(r.integers(8, 40)), "sample_rate": sr, "n_stft": bins}
    filters["norm"], filters["mel_scale"] = [(None, "htk"), ("slaney", "slaney")][int(r.integers(2))]
    S = levels(r, bins)
    mine, theirs = pair("MelScale", r, **filters)
    near(mine(S), theirs(S), 2e-5)
    mine, _ = pair("InverseMelScale", r, **filters)
    near(mine(theirs(S)), T.InverseMelScale(driver="gelsd", **filters)(theirs(S)), 1e-3)
    top = [None, 80.0, 20.0][int(r.integers(3))]
    for stype in ("power", "magnitude"):
        mine, theirs = pair("AmplitudeToDB", r, stype, top)
        near(mine(S), theirs(S), 1e-5)
    near(ours.functional.DB_to_amplitude(-S, 0.7, 0.5), F.DB_to_amplitude(-S, 0.7, 0.5), 1e-5)
    mine, theirs = pair("ComputeDeltas", r, int(r.integers(3, 12)))
    S = levels(r, shape=(2,))
    near(mine(S), theirs(S), 1e-5)
    how = {"cmn_window": int(r.integers(5, 90)), "min_cmn_window": int(r.integers(1, 50))}
    how.update(center=bool(r.integers(2)), norm_vars=bool(r.integers(2)))
    mine, theirs = pair("SlidingWindowCmn", r, **how)
    S = torch.from_numpy(r.standard_normal((2, 70, 4)).astype(np.float32))
    near(mine(S), theirs(S), 2e-4)
    a = bins, float(r.uniform(0, 300)), float(r.uniform(1000, sr / 2)), int(r.integers(5, 80)), sr
    near(ours.functional.melscale_fbanks(*a), F.melscale_fbanks(*a), 1e-4)
    near(ours.functional.linear_fbanks(*a), F.linear_fbanks(*a), 1e-4)
    for norm in (None, "ortho"):
        near(ours.functional.create_dct(13, 40, norm), F.create_dct(13, 40, norm), 1e-4)


def test_masks_draw_what_torchaudio_draws(r):
    S = levels(r, shape=[(1,), (2, 3), (2,)][int(r.integers(3))])
    iid, seed = bool(r.integers(2)), int(r.integers(1000))
    for name, how in [
        ("FrequencyMasking", {"freq_mask_param": 5, "iid_masks": iid}),
        ("TimeMasking", {"time_mask_param": 8, "iid_masks": iid, "p": float(r.choice([1.0, 0.3]))}),
        (
            "SpecAugment",
            {"n_time_masks": 2, "time_mask_param": 6, "n_freq_masks": 1, "freq_mask_param": 3},
        ),
    ]:
        mine, theirs = pair(name, r, **how)
        torch.manual_seed(seed)
        masked = mine(S)
        torch.manual_seed(seed)
        near(masked, theirs(S), 1e-6)


@pytest.mark.filterwarnings("ignore")
def test_signals_from_spectra(r):
    sizes = frames(r)
    # Every sample under several windows: torchaudio refuses what is under none.
    sizes.update(win_length=sizes["n_fft"], hop_length=sizes["n_fft"] // 4)
    y = waves(r, ["voice", "noise"])
    normalized = [False, True, "window", "frame_length"][int(r.integers(4))]
    S = T.Spectrogram(power=None, normalized=normalized, **sizes)(y)
    mine, theirs = pair("InverseSpectrogram", r, normalized=normalized, **sizes)
    for length in (None, y.shape[-1]):
        near(mine(S, length), theirs(S, length), 1e-4)
    how = {"n_iter": int(r.integers(1, 6)), "momentum": float(r.choice([0, 0.5, 0.99]))}
    how.update(power=float(r.choice([1.0, 2.0])), rand_init=False)
    mine, theirs = pair("GriffinLim", r, **sizes, **how)
    S = T.Spectrogram(power=how["power"], **sizes)(y)
    near(mine(S), theirs(S), 2e-2)
    # In double precision: sums of phases in single precision drift.
    S = T.Spectrogram(n_fft=400, hop_length=100, power=None)(y)
    rate = float(r.uniform(0.5, 2))
    stretched = T.TimeStretch(100, 201).double()(S.to(torch.complex128), rate)
    near(ours.transforms.TimeStretch(100, 201)(S, rate), stretched, 1e-4)
    shifted = F.pitch_shift(y.double(), 8000, 12, window=torch.hann_window(512).double())
    near(ours.functional.pitch_shift(y, 8000, 12), shifted, 1e-3)


def test_rates(r):
    before, after = (int(rate) for rate in r.choice([*RATES, 24000, 32000, 44056], 2))
    how = {
        "resampling_method": ["sinc_interp_hann", "sinc_interp_kaiser"][int(r.integers(2))],
        "lowpass_filter_width": int(r.integers(1, 40)),
        "rolloff": float(r.uniform(0.6, 1)),
    }
    y = waves(r, samples=int(r.integers(1, 3000)))
    for options in ({}, how):
        mine, theirs = pair("Resample", r, before, after, **options)
        # torchaudio counts phases in single precision, which shows where there are thousands.
        near(mine(y), theirs(y), 3e-4)
    mine, theirs = pair("Speed", r, 16000, float(r.choice([0.9, 1.1, 1.25])))
    y, lengths = waves(r, shape=(2,)), torch.tensor([1000, 1400])
    near(mine(y, lengths), theirs(y, lengths), 1e-5)


def test_filters(r):
    mine, sr = ours.functional, int(r.choice(RATES))
    y, hertz, q = waves(r), float(r.uniform(40, sr / 2.2)), float(r.uniform(0.3, 5))
    gain = float(r.uniform(-12, 12))
    for name in ("lowpass", "highpass", "allpass", "bandpass", "bandreject", "band"):
        name += "_biquad"
        near(getattr(mine, name)(y, sr, hertz, q), getattr(F, name)(y.double(), sr, hertz, q), 1e-4)
    theirs = F.equalizer_biquad(y.double(), sr, hertz, gain, q)
    near(mine.equalizer_biquad(y, sr, hertz, gain, q), theirs, 1e-4)
    for name in ("bass_biquad", "treble_biquad"):
        theirs = getattr(F, name)(y.double(), sr, gain, 500.0, q)
        near(getattr(mine, name)(y, sr, gain, 500.0, q), theirs, 1e-4)
    for name in ("deemph_biquad", "riaa_biquad"):
        near(getattr(mine, name)(y, 44100), getattr(F, name)(y.double(), 44100), 1e-4)
    poles = r.uniform(0.1, 0.9, 3) * np.exp(1j * r.uniform(0, np.pi, 3))
    a = torch.tensor(np.real(np.poly(np.concatenate([poles, poles.conj()]))))
    b = torch.tensor(r.standard_normal(7) * 0.1)
    for clamp in (True, False):
        near(mine.lfilter(y, a, b, clamp), F.lfilter(y.double(), a, b, clamp), 1e-4)
        near(mine.filtfilt(y, a, b, clamp), F.filtfilt(y.double(), a, b, clamp), 1e-3)
    near(mine.overdrive(y, 20.0, 40.0), F.overdrive(y, 20.0, 40.0), 1e-4)
    coefficient = float(r.uniform(0.5, 0.98))
    near(mine.preemphasis(y, coefficient), F.preemphasis(y, coefficient), 1e-6)
    near(mine.deemphasis(y, coefficient), F.deemphasis(y, coefficient), 1e-4)
    mode = ["full", "same", "valid"][int(r.integers(3))]
    x, z = waves(r, shape=(2,)), waves(r, shape=(2,), samples=int(r.integers(3, 400)))
    near(mine.convolve(x, z, mode), F.convolve(x, z, mode), 1e-4, 1e-4)
    near(mine.fftconvolve(x, z, mode), F.fftconvolve(x, z, mode), 1e-4, 1e-4)


def test_levels_of_signals(r):
    mine, y = ours.functional, waves(r)
    for name, argument in [
        ("gain", float(r.uniform(-20, 20))),
        ("contrast", float(r.uniform(0, 100))),
    ]:
        near(getattr(mine, name)(y, argument), getattr(F, name)(y, argument), 1e-5)
    shift, limit = float(r.uniform(-0.8, 0.8)), [None, 0.05, 0.2][int(r.integers(3))]
    near(mine.dcshift(y, shift, limit), F.dcshift(y.clone(), shift, limit), 1e-5)
    near(mine.mu_law_encoding(y.clamp(-1, 1), 256), F.mu_law_encoding(y.clamp(-1, 1), 256), 1e-9)
    codes = torch.randint(0, 256, (2, 500))
    near(mine.mu_law_decoding(codes, 256), F.mu_law_decoding(codes, 256), 1e-5)
    for shape in ("linear", "exponential", "logarithmic", "quarter_sine", "half_sine"):
        one, other = pair("Fade", r, int(r.integers(0, 700)), int(r.integers(0, 700)), shape)
        near(one(y), other(y), 1e-5)
    for kind in ("amplitude", "power", "db"):
        one, other = pair("Vol", r, float(r.uniform(0.1, 5)), kind)
        near(one(y), other(y), 1e-5)
    x = waves(r, ["voice"], (2,))
    noise = waves(r, ["noise"], (2,), x.shape[-1])
    for lengths in (None, torch.tensor([1000, 700])):
        arguments = x, noise, torch.tensor([3.0, 10.0]), lengths
        near(mine.add_noise(*arguments), F.add_noise(*arguments), 1e-5)
    loud = waves(r, ["voice", "noise", "clipped"], (2,), 20000)
    near(mine.loudness(loud, 16000), F.loudness(loud, 16000), 1e-3)


def test_pitch_and_speech(r):
    sr = int(r.choice(RATES[:4]))
    how = {"win_length": int(r.integers(3, 12)), "freq_low": int(r.integers(60, 120))}
    y = waves(r, ["voice", "noise", "silence"], samples=9000)
    near(
        ours.functional.detect_pitch_frequency(y, sr, **how),
        F.detect_pitch_frequency(y, sr, **how),
        1e-5,
    )
    samples, start = 2 * sr, int(r.uniform(0.3, 1.4) * sr)
    t = np.arange(samples - start) / sr
    y = 0.003 * r.standard_normal((2, samples))
    y[:, start:] += 0.3 * np.sin(900 * t) * np.abs(np.sin(9 * t)) + 0.2 * np.sin(1900 * t)
    y = torch.from_numpy(y.astype(np.float32))
    how = {"trigger_level": float(r.uniform(4, 9)), "pre_trigger_time": float(r.choice([0, 0.1]))}
    mine, theirs = pair("Vad", r, sr, **how)
    near(mine(y), theirs(y), 1e-6)


def test_kaldi(r):
    how = {
        "sample_frequency": float(r.choice([8000, 16000, 44100])),
        "frame_length": float(r.uniform(15, 40)),
        "frame_shift": float(r.uniform(5, 15)),
        "window_type": str(r.choice(["povey", "hanning", "hamming", "rectangular", "blackman"])),
        "snip_edges": bool(r.integers(2)),
        "raw_energy": bool(r.integers(2)),
        "remove_dc_offset": bool(r.integers(2)),
        "preemphasis_coefficient": float(r.choice([0, 0.97])),
        "subtract_mean": bool(r.integers(2)),
        "energy_floor": float(r.choice([0, 1])),
        "channel": int(r.integers(-1, 2)),
    }
    # What lies 100 dB below a tone is single precision's own noise in both.
    y = 32768 * waves(r, ["voice", "noise"], (2,), int(r.integers(4000, 9000)))
    near(ours.compliance.kaldi.spectrogram(y, **how), kaldi.spectrogram(y, **how), 1e-3, 1e-2)
    how.update(num_mel_bins=int(r.integers(13, 60)), use_energy=bool(r.integers(2)))
    how.update(high_freq=float(r.choice([0, -200, 3500])), htk_compat=bool(r.integers(2)))
    if how["high_freq"] <= 0 and r.random() < 0.6:
        how["vtln_warp"] = float(r.uniform(0.9, 1.1))
    near(
        ours.compliance.kaldi.mfcc(y, num_ceps=10, **how),
        kaldi.mfcc(y, num_ceps=10, **how),
        1e-3,
        1e-2,
    )
    how.update(use_power=bool(r.integers(2)), use_log_fbank=bool(r.integers(2)))
    near(ours.compliance.kaldi.fbank(y, **how), kaldi.fbank(y, **how), 1e-3, 1e-2)


def test_files_and_tensors(tmp_path):
    soundfile = pytest.importorskip("soundfile", reason="soundfile is not installed")
    y = torch.from_numpy((0.3 * np.sin(np.arange(3000) / 9)).reshape(2, 1500).astype(np.float32))
    for options, bound in [
        ({}, 0),
        ({"encoding": "PCM_S", "bits_per_sample": 16}, 2**-15),
        ({"encoding": "PCM_S", "bits_per_sample": 24}, 2**-23),
    ]:
        path = tmp_path / "sound.wav"
        ours.save(path, y, 16000, **options)
        theirs, rate = soundfile.read(path, dtype="float32", always_2d=True)
        assert rate == 16000 and np.abs(theirs.T - y.numpy()).max() <= bound
        mine, rate = ours.load(path)
        assert rate == 16000 and torch.is_tensor(mine) and (mine.numpy() == theirs.T).all()
    part, _ = ours.load(str(path), frame_offset=333, num_frames=500)
    assert (part == mine[:, 333:833]).all()
    about = ours.info(path)
    assert (about.sample_rate, about.num_frames, about.num_channels) == (16000, 1500, 2)
    with pytest.raises(ValueError, match="only WAV is written"):
        ours.save(tmp_path / "sound.mp3", y, 16000)
    for bad, words in [(y.clone().requires_grad_(), "detach"), (y.bfloat16(), "float")]:
        with pytest.raises(ValueError, match=words):
            ours.functional.gain(bad)
    with pytest.raises(ValueError, match="not finite"):
        ours.transforms.Spectrogram()(y * float("nan"))
    with pytest.raises(ValueError, match="empty"):
        ours.functional.resample(y[:, :0], 2, 1)
