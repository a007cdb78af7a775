"""The 88 features of `warpsmith voice egemaps` beside openSMILE's, on recordings that you have.

    python python/benches/egemaps.py PROGRAM FOLDER [FOLDER ...]

Takes ten recordings of 2 to 20 s from each folder, by a fixed draw, decodes them with ffmpeg to 16 kHz and one
channel, and prints the rows of docs/benchmarks/egemaps.md. PROGRAM is `warpsmith` or its path. Needs opensmile,
soundfile and ffmpeg.
"""

import csv
import pathlib
import random
import subprocess
import sys
import tempfile

import numpy as np
import opensmile
import soundfile

EACH = 10
ENDINGS = {".wav", ".flac", ".ogg", ".g722", ".gsm"}


def recordings(folder, out):
    """Paths of decoded recordings."""
    paths = sorted(path for path in pathlib.Path(folder).rglob("*") if path.suffix in ENDINGS)
    random.Random(4).shuffle(paths)
    taken = 0
    for path in paths:
        wav = out / f"{pathlib.Path(folder).name}-{taken}.wav"
        command = ["ffmpeg", "-v", "error", "-y", "-i", str(path), "-ac", "1", "-ar", "16000", str(wav)]
        if subprocess.run(command).returncode == 0 and 2.0 < soundfile.info(wav).duration < 20.0:
            yield wav
            taken += 1
        if taken == EACH:
            return


def ours(program, wav):
    said = subprocess.run([program, "voice", "egemaps", str(wav)], check=True, capture_output=True, text=True)
    [row] = csv.DictReader(said.stdout.splitlines())
    return {name: float(value) for name, value in row.items()}


def main(program, folders):
    smile = opensmile.Smile(opensmile.FeatureSet.eGeMAPSv02, opensmile.FeatureLevel.Functionals)
    errors, seconds = [], 0.0
    with tempfile.TemporaryDirectory() as out:
        for folder in folders:
            for wav in recordings(folder, pathlib.Path(out)):
                samples, rate = soundfile.read(wav, dtype="float32")
                seconds += len(samples) / rate
                theirs = smile.process_signal(samples, rate).iloc[0]
                mine = ours(program, wav)
                assert list(mine) == list(theirs.index)
                pairs = [(mine[name], float(theirs[name])) for name in mine]
                errors.append([abs(a - b) / max(abs(a), abs(b), 1e-9) for a, b in pairs])
    errors = np.array(errors)
    print(f"{len(errors)} recordings, {seconds:.0f} s\n")
    print("| feature | median error | largest | within 1 % |\n|---|--:|--:|--:|")
    for name, column in zip(theirs.index, errors.T):
        near = int((column <= 0.01).sum())
        print(f"| `{name}` | {np.median(column):.1e} | {column.max():.1e} | {near} |")
    print(f"\nwithin 1 %: {100 * (errors <= 0.01).mean():.2f} % of all numbers", file=sys.stderr)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
