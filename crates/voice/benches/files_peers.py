"""Times soundfile and librosa on one core: prints `operation<TAB>peer<TAB>times real time`.

usage: files_peers.py TONE.wav [FILE ...]
Each case runs once to warm up and then five times; the shortest time of the processor counts.
"""
import os, sys, time, warnings

for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ[name] = "1"
warnings.simplefilter("ignore")
import librosa, numpy as np, soundfile


def case(operation, peer, seconds, work):
    work()
    best = 1e9
    for _ in range(5):
        start = time.process_time()
        work()
        best = min(best, time.process_time() - start)
    print(f"{operation}\t{peer}\t{seconds / best:.0f}", flush=True)


def blocks(path):
    for _ in soundfile.blocks(path, 65536, dtype="float32"):
        pass


tone = sys.argv[1]
seconds = soundfile.info(tone).duration
kw = dict(n_fft=512, hop_length=160)
load = lambda: soundfile.read(tone, dtype="float32")[0]
mel = lambda: librosa.power_to_db(librosa.feature.melspectrogram(y=load(), sr=16000, n_mels=128, **kw))
case("log-mel", "librosa + soundfile", seconds, mel)
case("spectrogram", "librosa + soundfile", seconds, lambda: np.abs(librosa.stft(load(), **kw)))
for path in sys.argv[1:]:
    name = os.path.basename(path)
    case(f"decode {name}", "soundfile", soundfile.info(path).duration, lambda: blocks(path))
