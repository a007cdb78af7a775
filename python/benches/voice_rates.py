"""How many seconds of sound a second of one core turns into log-mel features of a NumPy array.

    python python/benches/voice_rates.py

Frames of 25 ms every 10 ms and 80 filters, as speech models take them; the best of several runs, by
the CPU time of the process. Where librosa is installed, its rate stands beside.
"""

import time

import numpy as np

from warpsmith import voice


def best(call, seconds, runs=7):
    """Seconds of sound to a second of CPU time."""
    call()
    times = []
    for _ in range(runs):
        start = time.process_time()
        call()
        times.append(time.process_time() - start)
    return seconds / min(times)


def main():
    try:
        import librosa
    except ImportError:
        librosa = None
    print("| rate | sound | warpsmith | librosa |")
    print("|---|---|---|---|")
    for sr, n_fft, hop in [(16000, 512, 160), (44100, 2048, 441)]:
        for seconds in (10, 600):
            y = np.random.default_rng(1).standard_normal(sr * seconds).astype(np.float32)
            sizes = {"n_fft": n_fft, "hop_length": hop, "n_mels": 80}
            ours = best(lambda: voice.mel(y, sr, preset="librosa", **sizes), seconds)
            theirs = "–"
            if librosa is not None and seconds == 10:
                mel = librosa.feature.melspectrogram
                rate = best(lambda: librosa.power_to_db(mel(y=y, sr=sr, **sizes)), seconds)
                theirs = f"{rate:,.0f} ×"
            print(f"| {sr} Hz | {seconds} s | {ours:,.0f} × | {theirs} |")


if __name__ == "__main__":
    main()
