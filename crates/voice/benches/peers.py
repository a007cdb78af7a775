"""Times the peers on one core: prints `operation<TAB>peer<TAB>rate<TAB>times real time`.

usage: peers.py SIGNAL.npy RATE [OPERATION ...]
Each case runs once to warm up and then at least five times; the shortest time of the processor, all
threads together, counts. Outputs are allocated by the peers, with recycled memory where the environment
says so.
"""
import os, sys, time, warnings

for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ[name] = "1"
warnings.simplefilter("ignore")
import numpy as np

signal, rate = np.load(sys.argv[1]), int(sys.argv[2])
seconds = len(signal) / rate
n_fft, mels, frame = (512, 80, 1024) if rate <= 16000 else (2048, 128, 2048)
hop = rate // 100


wanted = sys.argv[3:]


def case(operation, peer, work, repeats=5, length=seconds):
    if wanted and operation not in wanted:
        return
    work()
    best = 1e9
    for _ in range(repeats):
        start = time.process_time()
        work()
        best = min(best, time.process_time() - start)
    print(f"{operation}\t{peer}\t{rate}\t{length / best:.1f}", flush=True)


def of_librosa(librosa):

    kw = dict(n_fft=n_fft, hop_length=hop)
    pitch = dict(fmin=65, fmax=800, sr=rate, frame_length=frame, hop_length=hop)
    mel = lambda: librosa.feature.melspectrogram(y=signal, sr=rate, n_mels=mels, **kw)
    spectrum = librosa.stft(signal, **kw)
    case("stft", "librosa", lambda: librosa.stft(signal, **kw))
    case("mel", "librosa", mel)
    case("log-mel", "librosa", lambda: librosa.power_to_db(mel()))
    case("mfcc 20", "librosa", lambda: librosa.feature.mfcc(y=signal, sr=rate, n_mfcc=20, n_mels=mels, **kw))
    case("istft", "librosa", lambda: librosa.istft(spectrum, length=len(signal), **kw))
    case("levels", "librosa rms", lambda: librosa.feature.rms(y=signal, frame_length=frame, hop_length=hop))
    case("yin", "librosa", lambda: librosa.yin(signal, **pitch), 3)
    short = signal[: 6 * rate]
    case("pyin", "librosa", lambda: librosa.pyin(short, **pitch), 1, 6)
    case("constant q", "librosa", lambda: librosa.cqt(signal, sr=rate, tuning=0.0), 3)
    case("spectral contrast", "librosa", lambda: librosa.feature.spectral_contrast(y=signal, sr=rate, **kw), 3)
    case("chroma", "librosa", lambda: librosa.feature.chroma_stft(y=signal, sr=rate, tuning=0.0, **kw), 3)
    case("onsets", "librosa", lambda: librosa.onset.onset_detect(y=signal, sr=rate, hop_length=hop), 3)
    other = 44100 if rate == 16000 else 16000
    case("resample", "librosa (soxr HQ)", lambda: librosa.resample(signal, orig_sr=rate, target_sr=other))
    case("time stretch", "librosa", lambda: librosa.effects.time_stretch(signal, rate=1.5, n_fft=1024 if rate == 16000 else 4096), 3)
    case("pitch shift", "librosa", lambda: librosa.effects.pitch_shift(signal, sr=rate, n_steps=3, n_fft=1024 if rate == 16000 else 4096), 3)
    magnitudes = np.abs(librosa.stft(signal[: 6 * rate], **kw))
    rebuild = lambda: librosa.griffinlim(magnitudes, n_iter=32, hop_length=hop, n_fft=n_fft, random_state=0)
    case("griffin-lim 32", "librosa", rebuild, 1, 6)


try:
    import librosa
except ImportError:
    librosa = None
if librosa:
    of_librosa(librosa)

try:
    import webrtcvad

    if rate in (8000, 16000, 32000, 48000):
        integers = (signal * 32768).astype(np.int16)
        length = rate // 100 * 3
        frames = [integers[i : i + length].tobytes() for i in range(0, len(integers) - length + 1, length)]

        def decide():
            vad = webrtcvad.Vad(2)
            return [vad.is_speech(frame, rate) for frame in frames]

        case("webrtc vad", "webrtcvad", decide)
except ImportError:
    pass

try:
    import kaldi_native_fbank

    options = kaldi_native_fbank.FbankOptions()
    options.frame_opts.dither, options.frame_opts.samp_freq, options.mel_opts.num_bins = 0, rate, 80

    def features():
        fbank = kaldi_native_fbank.OnlineFbank(options)
        fbank.accept_waveform(rate, scaled)
        fbank.input_finished()

    scaled = (signal * 32768).tolist()
    case("kaldi fbank", "kaldi-native-fbank", features, 3)
except ImportError:
    pass

try:
    import parselmouth
    from parselmouth.praat import call

    sound = parselmouth.Sound(signal.astype(np.float64), rate)
    ac = lambda: call(sound, "To Pitch (ac)", 0.01, 65.0, 15, "no", 0.03, 0.45, 0.01, 0.35, 0.14, 800.0)
    case("praat pitch", "Praat", ac, 3)
    case("harmonicity", "Praat", lambda: call(sound, "To Harmonicity (ac)", 0.01, 75.0, 0.1, 4.5), 2)
    case("formants", "Praat", lambda: call(sound, "To Formant (burg)", 0.01, 5, 5500.0, 0.025, 50.0), 3)
except ImportError:
    pass

try:
    import pysptk

    integers = np.round(signal.astype(np.float64) * 32768)
    case("swipe", "SPTK", lambda: pysptk.swipe(integers, rate, hop, min=65.0, max=800.0), 3)
except ImportError:
    pass

try:
    import torch, torchaudio
    import torchaudio.compliance.kaldi as kaldi
except ImportError:
    sys.exit(0)
torch.set_num_threads(1)
torch.set_grad_enabled(False)
t = torch.from_numpy(signal)
T = torchaudio.transforms
plain = T.Spectrogram(n_fft=n_fft, hop_length=hop, power=None)
power = T.Spectrogram(n_fft=n_fft, hop_length=hop)
mel = T.MelSpectrogram(rate, n_fft=n_fft, hop_length=hop, n_mels=mels)
mfcc = T.MFCC(rate, n_mfcc=20, melkwargs=dict(n_fft=n_fft, hop_length=hop, n_mels=mels))
decibel = T.AmplitudeToDB(top_db=80)
case("stft", "torchaudio", lambda: plain(t))
case("power spectrogram", "torchaudio", lambda: power(t))
case("mel", "torchaudio", lambda: mel(t))
case("log-mel", "torchaudio", lambda: decibel(mel(t)))
case("mfcc 20", "torchaudio", lambda: mfcc(t))
spectrum = plain(t)
inverse = T.InverseSpectrogram(n_fft=n_fft, hop_length=hop)
case("istft", "torchaudio", lambda: inverse(spectrum, len(signal)))
other = 44100 if rate == 16000 else 16000
resample = T.Resample(rate, other)
case("resample", "torchaudio", lambda: resample(t))
case("biquad", "torchaudio", lambda: torchaudio.functional.lowpass_biquad(t, rate, 1000.0))
case("loudness", "torchaudio", lambda: torchaudio.functional.loudness(t[None], rate), 3)
rounds = T.GriffinLim(n_fft=n_fft, n_iter=32, hop_length=hop, power=1.0)
magnitudes = spectrum[:, : 601].abs()
case("griffin-lim 32", "torchaudio", lambda: rounds(magnitudes), 2, 6)
case("kaldi fbank", "torchaudio", lambda: kaldi.fbank(t[None], num_mel_bins=80, sample_frequency=rate))

try:
    import silero_vad, torchcrepe
except ImportError:
    sys.exit(0)
if rate == 16000:
    # The fastest of its forms: blocks of 512 chunks to a call.
    sequence = silero_vad.load_silero_vad(sequence=True)
    case("neural vad", "silero-vad (onnxruntime)", lambda: sequence.audio_forward(signal), 3)
for capacity, length in (("tiny", 6), ("full", 1)):
    sound = t[None, : length * rate]
    track = lambda: torchcrepe.predict(sound, rate, hop, 65.0, 800.0, capacity)
    case(f"crepe {capacity}", "torchcrepe", track, 1, length)
