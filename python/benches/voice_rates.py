"""How many seconds of sound a second of one core turns into log-mel features of a NumPy array.

    python python/benches/voice_rates.py

Frames of 25 ms every 10 ms and 80 filters, as speech models take them; the best of several runs, by
the CPU time of the process. Where librosa and torchaudio are installed, their rates stand beside;
torchaudio's transform is planned once, before the runs.
"""

import time

import numpy as np

from warpsmith import voice


def best(call, seconds):
    """Seconds of sound to a second of CPU time; of seven runs, or of as many as half a second has."""
    call()
    times = []
    while len(times) < 7 or sum(times) < 0.5:
        start = time.process_time()
        call()
        times.append(time.process_time() - start)
    return seconds / min(times)


def peers(sr, sizes):
    """What is installed, by name: log-mel features of a NumPy array."""
    try:
        import librosa

        mel = librosa.feature.melspectrogram
        yield "librosa", lambda y: librosa.power_to_db(mel(y=y, sr=sr, **sizes))
    except ImportError:
        pass
    try:
        import torch
        import torchaudio

        torch.set_num_threads(1)
        mel = torchaudio.transforms.MelSpectrogram(sample_rate=sr, **sizes)
        decibels = torchaudio.transforms.AmplitudeToDB(top_db=80)
        yield "torchaudio", lambda y: decibels(mel(torch.from_numpy(y))).numpy()
    except ImportError:
        pass


def main():
    print("| rate | sound | warpsmith | librosa | torchaudio |")
    print("|---|---|---|---|---|")
    for sr, n_fft, hop in [(16000, 512, 160), (44100, 2048, 441)]:
        for seconds in (10, 600):
            y = np.random.default_rng(1).standard_normal(sr * seconds).astype(np.float32)
            sizes = {"n_fft": n_fft, "hop_length": hop, "n_mels": 80}
            ours = best(lambda: voice.mel(y, sr, preset="librosa", **sizes), seconds)
            rates = {}
            for name, call in peers(sr, sizes) if seconds == 10 else ():
                rates[name] = f"{best(lambda: call(y), seconds):,.0f} ×"
            cells = [rates.get(name, "–") for name in ("librosa", "torchaudio")]
            print(f"| {sr} Hz | {seconds} s | {ours:,.0f} × | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
