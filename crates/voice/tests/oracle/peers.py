"""Runs the peers on one synthetic voice and writes what they say as .npy files.

usage: peers.py OUT_DIR RATE SECONDS SEED

The same script made tests/golden (16000 Hz, 0.5 s, seed 1); tests/trials/parity.rs runs it on fresh
signals wherever the peers are installed. What a peer needs but is missing is left out and named.
"""
import os, sys, warnings

for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"
warnings.simplefilter("ignore")
import numpy as np

out, rate, seconds, seed = sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), int(sys.argv[4])
os.makedirs(out, exist_ok=True)


def voice():
    """Harmonics with vibrato and pauses over a little noise, as 16-bit integers."""
    r = np.random.default_rng(seed)
    n = int(rate * seconds)
    t = np.arange(n) / rate
    base = r.uniform(90, 300)
    f0 = base * 2 ** (0.3 * np.sin(2 * np.pi * 0.8 * t) + 0.05 * np.sin(2 * np.pi * 5.5 * t))
    phase = 2 * np.pi * np.cumsum(f0) / rate
    y = sum(np.sin(k * phase + k * k) / k for k in range(1, 12))
    envelope = np.clip(3 * np.sin(2 * np.pi * 1.7 * t + 1), 0, 1)
    y = 0.15 * envelope * y + 0.002 * r.standard_normal(n)
    return np.clip(y * 32768, -32768, 32767).astype(np.int16)


signal = voice()
y = signal.astype(np.float32) / 32768


def save(name, value):
    value = np.ascontiguousarray(value)
    np.save(f"{out}/{name}.npy", value)


save("signal", signal)
n_fft, mels, frame = (512, 80, 1024) if rate <= 16000 else (2048, 128, 2048)
hop = rate // 100

import librosa

stft = librosa.stft(y, n_fft=n_fft, hop_length=hop)
save("librosa_stft", np.stack([stft.real, stft.imag], -1).astype(np.float32))
kw = dict(n_fft=n_fft, hop_length=hop, n_mels=mels)
mel = librosa.feature.melspectrogram(y=y, sr=rate, **kw)
save("librosa_mel", mel)
save("librosa_log_mel", librosa.power_to_db(mel))
mfcc = librosa.feature.mfcc(y=y, sr=rate, n_mfcc=20, **kw)
save("librosa_mfcc", mfcc)
save("librosa_delta", librosa.feature.delta(mfcc).astype(np.float32))
save("librosa_delta2", librosa.feature.delta(mfcc, order=2).astype(np.float32))
save("htk_mel", librosa.feature.melspectrogram(y=y, sr=rate, htk=True, norm=None, **kw))
save("librosa_yin", librosa.yin(y, fmin=65, fmax=800, sr=rate, frame_length=frame, hop_length=hop).astype(np.float32))
f0, voiced, probability = librosa.pyin(
    y, fmin=65, fmax=800, sr=rate, frame_length=frame, hop_length=hop, fill_na=None
)
save("librosa_pyin_f0", f0.astype(np.float32))
save("librosa_pyin_voiced", voiced.astype(np.float32))
save("librosa_pyin_probability", probability.astype(np.float32))
save("librosa_istft", librosa.istft(stft, hop_length=hop, n_fft=n_fft, length=len(y)))
save("librosa_rms", librosa.feature.rms(y=y, frame_length=n_fft, hop_length=hop)[0])
save("librosa_zcr", librosa.feature.zero_crossing_rate(y, frame_length=n_fft, hop_length=hop)[0].astype(np.float32))
power = np.abs(stft)
save("librosa_centroid", librosa.feature.spectral_centroid(S=power, sr=rate, n_fft=n_fft)[0].astype(np.float32))
save("librosa_bandwidth", librosa.feature.spectral_bandwidth(S=power, sr=rate, n_fft=n_fft)[0].astype(np.float32))
save("librosa_rolloff", librosa.feature.spectral_rolloff(S=power, sr=rate, n_fft=n_fft)[0].astype(np.float32))
save("librosa_contrast", librosa.feature.spectral_contrast(S=power, sr=rate, n_fft=n_fft).astype(np.float32))
hertz = librosa.fft_frequencies(sr=rate, n_fft=n_fft)
shares = power.astype(np.float64) / np.maximum(power.sum(0, dtype=np.float64), 1e-30)
save("numpy_slope", np.polyfit(hertz, shares, 1)[0].astype(np.float32))
constant_q = librosa.cqt(y, sr=rate, hop_length=hop, tuning=0.0)
save("librosa_cqt", np.stack([constant_q.real, constant_q.imag], -1).astype(np.float32))
variable_q = librosa.vqt(y, sr=rate, hop_length=hop, tuning=0.0, gamma=20.0)
save("librosa_vqt", np.stack([variable_q.real, variable_q.imag], -1).astype(np.float32))
save("librosa_flatness", librosa.feature.spectral_flatness(S=power)[0].astype(np.float32))
envelope = librosa.onset.onset_strength(y=y, sr=rate, hop_length=hop, n_fft=n_fft)
save("librosa_onset", envelope.astype(np.float32))
save("librosa_onset_frames", librosa.onset.onset_detect(onset_envelope=envelope, sr=rate, hop_length=hop).astype(np.float32))
save("librosa_chroma", librosa.feature.chroma_stft(S=power**2, sr=rate, n_fft=n_fft, tuning=0.0).astype(np.float32))
tuning = librosa.estimate_tuning(S=power**2, sr=rate, n_fft=n_fft, bins_per_octave=12)
save("librosa_tuning", np.array([tuning], dtype=np.float32))
tuned = librosa.feature.chroma_stft(S=power**2, sr=rate, n_fft=n_fft)
save("librosa_tuned_chroma", tuned.astype(np.float32))
save("librosa_trim", np.array(librosa.effects.trim(y, top_db=30, frame_length=1024, hop_length=256)[1], dtype=np.float32))
# In f64: librosa adds phases up in the precision of its input, and in f32 that is off by 1e-3 after seconds.
stretched = librosa.effects.time_stretch(y.astype(np.float64), rate=1.5, n_fft=1024)
save("librosa_stretch", stretched.astype(np.float32))

try:
    import parselmouth
    from parselmouth.praat import call

    sound = parselmouth.Sound(y.astype(np.float64), rate)
    pitch = call(sound, "To Pitch (ac)", hop / rate, 65.0, 15, "no", 0.03, 0.45, 0.01, 0.35, 0.14, 800.0)
    chosen = pitch.selected_array
    formants = call(sound, "To Formant (burg)", 0.01, 5, 5500.0, 0.025, 50.0)
    rows = [
        [call(formants, "Get value at time", n, formants.frame_number_to_time(i), "hertz", "linear") for n in (1, 2, 3)]
        for i in range(1, formants.n_frames + 1)
    ]
    save("praat_formants", np.array(rows, dtype=np.float32))
    harmonicity = call(sound, "To Harmonicity (ac)", hop / rate, 75.0, 0.1, 4.5)
    save("praat_harmonicity", np.stack([harmonicity.xs(), harmonicity.values[0]], -1).astype(np.float32))
    save("praat_pitch", np.stack([pitch.xs(), chosen["frequency"], chosen["strength"]], -1).astype(np.float32))
except ImportError as error:
    print("left out Praat:", error)

try:
    import pysptk

    swipe = pysptk.swipe(signal.astype(np.float64), rate, hop, min=65.0, max=800.0, otype="f0")
    save("sptk_swipe", swipe.astype(np.float32))
except ImportError as error:
    print("left out SPTK:", error)

import webrtcvad


def webrtc():
    """Decisions for the same samples at four rates, in four modes and three lengths of frame."""
    for webrtc_rate in (8000, 16000, 32000, 48000):
        for mode in range(4):
            for blocks in (1, 2, 3):
                vad, length = webrtcvad.Vad(mode), webrtc_rate // 100 * blocks
                for start in range(0, len(signal) - length + 1, length):
                    yield vad.is_speech(signal[start : start + length].tobytes(), webrtc_rate)


save("webrtc_decisions", np.array(list(webrtc()), dtype=np.float32))

import kaldi_native_fbank as knf

if rate == 16000:
    options = knf.FbankOptions()
    options.frame_opts.samp_freq = rate
    options.frame_opts.dither = 0
    options.mel_opts.num_bins = mels
    fbank = knf.OnlineFbank(options)
    fbank.accept_waveform(rate, (y * 32768).tolist())
    fbank.input_finished()
    save("kaldi_fbank", np.array([fbank.get_frame(i) for i in range(fbank.num_frames_ready)]))

try:
    import torch, torchaudio
except ImportError as error:
    print("left out torchaudio and whisper:", error)
    sys.exit(0)
torch.set_num_threads(1)
t = torch.from_numpy(y)
save("torchaudio_mel", torchaudio.transforms.MelSpectrogram(rate, n_fft=n_fft, hop_length=hop, n_mels=mels)(t).numpy())
save("torchaudio_mfcc", torchaudio.transforms.MFCC(rate, 20, melkwargs=dict(n_fft=n_fft, hop_length=hop, n_mels=mels))(t).numpy())
if rate == 16000:
    # Whisper's own recipe, from its description: 400 points, 160 hop, mirrored ends, last frame
    # dropped, log10 clamped to 8 below the largest, then (x + 4) / 4.
    s = torch.stft(t, 400, 160, window=torch.hann_window(400), return_complex=True)[..., :-1].abs() ** 2
    bank = torch.from_numpy(librosa.filters.mel(sr=rate, n_fft=400, n_mels=80))
    log = torch.clamp(bank @ s, min=1e-10).log10()
    save("whisper_log_mel", ((torch.maximum(log, log.max() - 8.0) + 4.0) / 4.0).numpy())
