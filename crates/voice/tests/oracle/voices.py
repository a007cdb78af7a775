"""Writes 30 vowels and 30 sentences as 16-bit WAV files: what voice quality is judged on.

usage: voices.py OUT_DIR SEED ESPEAK_NG

Another seed gives other vowels, other sentences and other speakers. Seeds 1 and 2 were used in making
the measures, seed 4 to judge them.
"""
import os, subprocess, sys, wave
import numpy as np

out, seed, espeak = sys.argv[1], int(sys.argv[2]), sys.argv[3]
os.makedirs(out, exist_ok=True)
random = np.random.default_rng(seed)
RATES = (8000, 16000, 22050, 44100)
TRACTS = (  # three formants of vowels, Hz
    (730, 1090, 2440), (270, 2290, 3010), (300, 870, 2240), (530, 1840, 2480), (570, 840, 2410),
    (660, 1720, 2410), (440, 1020, 2240), (490, 1350, 1690), (640, 1190, 2390), (390, 1990, 2550),
)


def save(name, rate, signal):
    with wave.open(f"{out}/{name}.wav", "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(rate)
        file.writeframes(np.clip(np.round(signal * 32767), -32768, 32767).astype("<i2").tobytes())


def vowel(rate):
    """Pulses of uneven distance and strength through five resonators, and breath."""
    seconds = random.uniform(1, 2)
    count = int(rate * seconds)
    f0, glide = random.uniform(80, 300), random.uniform(-0.1, 0.1)
    jitter, shimmer = 10 ** random.uniform(-3, -1.6), 10 ** random.uniform(-2, -1.1)
    fine = 16  # pulses fall between samples
    flow = np.zeros((count + 2) * fine)
    at = 0.01
    while at < seconds - 0.01:
        period = (1 + jitter * random.standard_normal()) / (f0 * (1 + glide * at))
        strength = 1 + shimmer * random.standard_normal()
        opening = np.arange(int(0.6 * period * rate * fine))
        start = int(at * rate * fine)
        pulse = strength * (opening / len(opening)) ** 2 * (1 - opening / len(opening))
        end = min(len(flow), start + len(pulse))
        flow[start:end] += pulse[: end - start]
        at += period
    flow = np.convolve(flow, np.hanning(2 * fine + 1) / fine, "same")[::fine][: count + 1]
    source = np.diff(flow)
    breath = 10 ** (random.uniform(-50, -15) / 20)
    source += breath * source.std() * random.standard_normal(count)
    scale = random.uniform(0.95, 1.2)
    formants = [scale * hertz for hertz in TRACTS[random.integers(len(TRACTS))]] + [3500 * scale, 4500 * scale]
    for number, hertz in enumerate(formants):
        if hertz > 0.48 * rate:
            continue
        width = 60 + 30 * number
        radius = np.exp(-np.pi * width / rate)
        a1, a2 = -2 * radius * np.cos(2 * np.pi * hertz / rate), radius**2
        y1 = y2 = 0.0
        for n in range(count):
            y1, y2 = source[n] - a1 * y1 - a2 * y2, y1
            source[n] = y1
    ends = np.minimum(1, np.minimum(np.arange(count), np.arange(count)[::-1]) / (0.03 * rate))
    return random.uniform(0.2, 0.8) * ends * source / np.abs(source).max()


WORDS = (
    "seven rivers turn slowly under old bridges while nobody watches",
    "please bring the yellow lamp and a heavy iron kettle upstairs",
    "our neighbour sails every morning before the wind has risen",
    "a small dog barked loudly near the railway station yesterday",
    "we are going home now because rain will arrive by evening",
    "the choir rehearsed nine songs in an empty marble hall",
    "did anyone remember to water those tall tomato plants",
    "money alone will never repair a broken violin",
    "young otters roll and play along the muddy shore",
    "my grandmother always wore a red woollen shawl in winter",
    "engineers measured the vibration of every single beam",
    "clouds gather over the mountain when warm air meets snow",
    "nine lemons lay on a low wall in the warm noon",
    "where were you when the lights went out again",
    "he whispered that the museum would open late on Monday",
    "all year long the lonely lighthouse blinked at passing ships",
    "thirty people queued quietly outside the bakery",
    "the orange balloon drifted away above the market square",
    "few travellers know how cold this desert can be at dawn",
    "an early train will leave from platform eleven",
)
SPEAKERS = ("en-us", "en-gb", "en-gb-scotland", "de", "fr", "es", "it", "nl", "pl", "sv")
VARIANTS = ("", "+f2", "+f4", "+m3", "+m7", "+f1", "+m1")

for number in range(30):
    rate = RATES[number % len(RATES)]
    save(f"vowel{number:02}", rate, vowel(rate))
for number in range(30):
    # Half of the words belong to even seeds, the others to odd ones.
    words = WORDS[seed % 2 :: 2]
    first, second = random.choice(len(words), 2, replace=False)
    speaker = SPEAKERS[random.integers(len(SPEAKERS))] + VARIANTS[random.integers(len(VARIANTS))]
    speed, pitch = random.integers(130, 200), random.integers(20, 80)
    text = f"{words[first]}. {words[second]}."
    path = f"{out}/sentence{number:02}.wav"
    subprocess.run([espeak, "-v", speaker, "-s", str(speed), "-p", str(pitch), "-w", path, text], check=True)
    with wave.open(path) as file:
        rate, frames = file.getframerate(), file.readframes(file.getnframes())
    signal = np.frombuffer(frames, "<i2") / 32767
    wanted = RATES[number % len(RATES)]
    if wanted != rate:
        # Ideal low pass by the Fourier transform.
        length = len(signal) // rate + 1
        spectrum = np.fft.rfft(np.pad(signal, (0, length * rate - len(signal))))
        bins = length * wanted // 2 + 1
        spectrum = np.pad(spectrum, (0, max(0, bins - len(spectrum))))[:bins]
        signal = np.fft.irfft(spectrum, length * wanted)[: len(signal) * wanted // rate] * wanted / rate
    save(f"sentence{number:02}", wanted, signal)
