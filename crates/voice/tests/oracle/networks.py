"""Runs the networks' own packages on one synthetic voice at 16 kHz and writes what they say as .npy files.

usage: networks.py OUT_DIR SEED
"""
import os, sys, warnings

for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"
warnings.simplefilter("ignore")
import numpy as np, silero_vad, torch, torchcrepe

torch.set_num_threads(1)
out, seed = sys.argv[1], int(sys.argv[2])
os.makedirs(out, exist_ok=True)
r = np.random.default_rng(seed)
t = np.arange(16000 * 4 + 100) / 16000
f0 = r.uniform(90, 300) * 2 ** (0.3 * np.sin(2 * np.pi * 0.8 * t) + 0.05 * np.sin(2 * np.pi * 5.5 * t))
phase = 2 * np.pi * np.cumsum(f0) / 16000
y = sum(np.sin(k * phase + k * k) / k for k in range(1, 12)) * np.clip(3 * np.sin(2 * np.pi * 1.1 * t + 1), 0, 1)
y = (0.15 * y + 0.002 * r.standard_normal(len(t))).astype(np.float32)
# Digital silence: frames without any deviation.
y[30000:34000] = 0
signal = torch.from_numpy(y)


def save(name, value):
    np.save(f"{out}/{name}.npy", np.ascontiguousarray(value, dtype=np.float32))


save("signal", y)
model = silero_vad.load_silero_vad()
filled = torch.nn.functional.pad(signal, (0, -len(signal) % 512))
save("silero", [model(chunk, 16000).item() for chunk in filled.split(512)])
frames = next(torchcrepe.preprocess(signal[None], 16000, 160))
for capacity in ("tiny", "full"):
    with torch.no_grad():
        probabilities = torchcrepe.infer(frames, capacity)
    save(f"crepe_{capacity}", probabilities.numpy())
    # The steps of the path; the frequencies that the package makes of them have random numbers added.
    steps = []
    decode = lambda rows: steps.append(torchcrepe.decode.viterbi(rows)) or steps[0]
    torchcrepe.postprocess(probabilities.T[None].clone(), 50.0, 1000.0, decode)
    save(f"crepe_{capacity}_steps", steps[0][0][0].numpy())
