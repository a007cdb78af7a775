"""Speech that nobody spoke, with known pitch, voicing and activity: what the networks are trained on.

Clips are made by the hundred on the device of PyTorch: harmonics and noise behind moving
resonances, in an order of voiced, unvoiced and silent stretches; some are sung, some are bare tones,
some lack their fundamental. Nothing is recorded, and every number comes from the seed.
"""

import math

import torch
import torch.nn.functional as F

RATE = 16_000
HOP = 160
SECONDS = 2.4
SAMPLES = int(RATE * SECONDS)
# Controls (pitch, loudness, resonances) are drawn every 5 ms.
STEP = 80
STEPS = SAMPLES // STEP + 1
BANDS = 129  # of an envelope, 0 to 8 kHz
TOGETHER = 12  # harmonics made at a time


class Dice:
    """Random numbers of one seed on one device."""

    def __init__(self, seed, device):
        self.device = device
        self.generator = torch.Generator(device).manual_seed(seed)

    def uniform(self, *shape, low=0.0, high=1.0):
        return low + (high - low) * torch.rand(shape, generator=self.generator, device=self.device)

    def normal(self, *shape):
        return torch.randn(shape, generator=self.generator, device=self.device)

    def chance(self, probability, *shape):
        return torch.rand(shape, generator=self.generator, device=self.device) < probability

    def integers(self, high, *shape):
        return torch.randint(high, shape, generator=self.generator, device=self.device)


def stretched(points, length):
    """Points in equal distances (..., n) as a line of `length` values."""
    shape = points.shape
    line = F.interpolate(points.reshape(-1, 1, shape[-1]), size=length, mode="linear", align_corners=True)
    return line.reshape(*shape[:-1], length)


def smoothed(values, width):
    """A moving mean with a Hann window of `width` steps over the last axis."""
    window = torch.hann_window(width + 2, periodic=False, device=values.device)[1:-1]
    flat = values.reshape(-1, 1, values.shape[-1])
    flat = F.pad(flat, (width // 2, (width - 1) // 2), mode="replicate")
    return F.conv1d(flat, (window / window.sum())[None, None]).reshape(values.shape)


def stretches(dice, count):
    """What each step is: 0 silent, 1 voiced, 2 unvoiced; and the number of its stretch."""
    most = 48
    kinds = torch.zeros(count, most, dtype=torch.long, device=dice.device)
    pausing = dice.uniform(count, low=0.05, high=0.4)
    voicing = dice.uniform(count, low=0.5, high=0.95)
    kind = torch.where(dice.chance(0.5, count), 0, 1)
    for n in range(most):
        kinds[:, n] = kind
        draw = dice.uniform(count)
        after = dice.uniform(count)
        # After a voiced stretch: a pause, a consonant, or another voiced one.
        next_kind = torch.where(draw < pausing, 0, torch.where(after < voicing, 1, 2))
        next_kind = torch.where((kind == 2) & (draw >= pausing), torch.where(after < 0.9, 1, 2), next_kind)
        kind = torch.where((kind == 0) & (next_kind == 0), 1, next_kind)
    lengths = dice.uniform(count, most)
    low = torch.tensor([0.04, 0.05, 0.02], device=dice.device)[kinds]
    high = torch.tensor([0.8, 0.5, 0.2], device=dice.device)[kinds]
    lengths = low * (high / low) ** lengths
    ends = torch.cumsum(lengths, 1)
    # Some clips are silent, some are long notes.
    silent = dice.chance(0.04, count)
    kinds = torch.where(silent[:, None], 0, kinds)
    sung = dice.chance(0.1, count)
    ends = torch.where(sung[:, None], 3.0 * ends, ends)
    time = torch.arange(STEPS, device=dice.device) * (STEP / RATE)
    number = (time[None, :, None] >= ends[:, None, :]).sum(-1).clamp(max=most - 1)
    return torch.gather(kinds, 1, number), number, sung


def pitches(dice, count, number, sung):
    """Hz at every step, also where nothing is voiced."""
    base = 2.0 ** dice.uniform(count, low=math.log2(75.0), high=math.log2(320.0))
    high = dice.chance(0.15, count)
    base = torch.where(high, 2.0 ** dice.uniform(count, low=math.log2(65.0), high=math.log2(750.0)), base)
    slow = stretched(dice.normal(count, 7) * dice.uniform(count, 1, low=0.5, high=4.0), STEPS)
    quick = stretched(dice.normal(count, 26) * dice.uniform(count, 1, low=0.0, high=3.5), STEPS)
    leaps = torch.gather(dice.normal(count, 48) * dice.uniform(count, 1, low=0.0, high=3.0), 1, number)
    notes = torch.gather(dice.integers(15, count, 48).float() - 7.0, 1, number)
    semitones = torch.where(sung[:, None], notes + 0.05 * slow, slow + quick + leaps)
    time = torch.arange(STEPS, device=dice.device) * (STEP / RATE)
    depth = dice.uniform(count, 1, low=0.0, high=1.2) * (dice.chance(0.25, count, 1) | sung[:, None])
    turns = dice.uniform(count, 1, low=4.0, high=7.5) * time + dice.uniform(count, 1)
    semitones = semitones + depth * torch.sin(2 * math.pi * turns)
    semitones = smoothed(semitones, 9)
    return (base[:, None] * 2.0 ** (semitones / 12.0)).clamp(60.0, 850.0)


def resonances(dice, count, number):
    """The logarithm of the amplitude of bands at every step: (count, STEPS, BANDS)."""
    frequency = torch.linspace(0, RATE / 2, BANDS, device=dice.device)
    low = torch.tensor([230.0, 650.0, 1700.0, 2800.0, 3800.0], device=dice.device)
    high = torch.tensor([950.0, 2600.0, 3400.0, 4300.0, 5500.0], device=dice.device)
    size = dice.uniform(count, 1, 1, low=0.85, high=1.3)
    targets = (low + (high - low) * dice.uniform(count, 48, 5)) * size
    places = torch.gather(targets, 1, number[:, :, None].expand(-1, -1, 5))
    places = smoothed(places.transpose(1, 2), 17).transpose(1, 2)
    widths = 50.0 + 180.0 * dice.uniform(count, 1, 5) ** 1.5 + 0.02 * low
    envelope = torch.zeros(count, STEPS, BANDS, device=dice.device)
    for n in range(5):
        centre, half = places[:, :, n : n + 1], widths[:, :, n : n + 1]
        # A pair of poles, by the distance to them.
        near = (frequency - centre) ** 2 + half**2
        far = (frequency + centre) ** 2 + half**2
        envelope -= 0.5 * (torch.log(near) + torch.log(far)) - torch.log(centre**2 + half**2)
    tilt = dice.uniform(count, 1, 1, low=0.3, high=1.8)
    envelope -= tilt * torch.log1p(frequency / 300.0)
    # Rooms and microphones: slow and quick ripples over frequency.
    envelope += stretched(dice.normal(count, 1, 12) * dice.uniform(count, 1, 1, low=0.0, high=0.7), BANDS)
    # Telephones and other narrow ways.
    narrow = dice.chance(0.25, count, 1, 1)
    edge = dice.uniform(count, 1, 1, low=60.0, high=420.0)
    top = dice.uniform(count, 1, 1, low=2500.0, high=7500.0)
    cut = -6.0 * (F.relu(1.0 - frequency / edge) + F.relu(frequency / top - 1.0) * 3.0)
    envelope += torch.where(narrow, cut, torch.zeros_like(cut))
    return envelope


def flat_resonances(dice, count):
    """For bare tones: a slope and nothing else."""
    frequency = torch.linspace(0, RATE / 2, BANDS, device=dice.device)
    slope = dice.uniform(count, 1, 1, low=0.0, high=3.0)
    return (-slope * torch.log1p(frequency / 200.0)).expand(-1, STEPS, -1)


def at_frequency(envelope, hertz):
    """The envelope (count, STEPS, BANDS) at frequencies (count, k, STEPS)."""
    place = (hertz * (BANDS - 1) / (RATE / 2)).clamp(0, BANDS - 1.001).transpose(1, 2)
    below = place.floor().long()
    one = torch.gather(envelope, 2, below)
    two = torch.gather(envelope, 2, below + 1)
    return (one + (place - below) * (two - one)).transpose(1, 2)


def shaped_noise(dice, envelope_amplitude):
    """White noise behind an envelope: (count, SAMPLES)."""
    count = envelope_amplitude.shape[0]
    white = dice.normal(count, SAMPLES)
    window = torch.hann_window(256, device=dice.device)
    spectrum = torch.stft(white, 256, STEP, window=window, return_complex=True)
    spectrum = spectrum * envelope_amplitude.transpose(1, 2)[:, :, : spectrum.shape[2]]
    return torch.istft(spectrum, 256, STEP, window=window, length=SAMPLES)


def loud(kinds, wanted, dice, number):
    """How loud a kind is at every step: levels by stretch, with soft edges."""
    count = kinds.shape[0]
    level = 10.0 ** (-dice.uniform(count, 48) * dice.uniform(count, 1, low=0.0, high=22.0) / 20.0)
    # A voice dies away, swells and trembles.
    swell = stretched(dice.normal(count, 30), STEPS) * dice.uniform(count, 1, high=0.9)
    here = (kinds == wanted).float() * torch.gather(level, 1, number) * torch.exp(swell.clamp(-3.0, 1.0))
    return smoothed(here, 5)


def to_samples(steps):
    """Values of every sample: step n is what sample n * STEP has, so that sounds and labels keep the same time."""
    part = torch.arange(STEP, device=steps.device) / STEP
    return torch.lerp(steps[..., :-1, None], steps[..., 1:, None], part).flatten(-2)


def voices(dice, count):
    """Clips, their pitch (Hz, 0 where unvoiced) and whether somebody speaks, per 5 ms."""
    kinds, number, sung = stretches(dice, count)
    hertz = pitches(dice, count, number, sung)
    bare = dice.chance(0.12, count)
    envelope = torch.where(bare[:, None, None], flat_resonances(dice, count), resonances(dice, count, number))
    envelope = envelope - envelope.amax((1, 2), keepdim=True)
    # Vocal folds are never quite regular.
    rough = dice.uniform(count, 1, low=0.0, high=0.012)
    irregular = 1.0 + rough * smoothed(dice.normal(count, STEPS), 3)
    hertz = hertz * irregular.clamp(0.9, 1.1)
    voiced = loud(kinds, 1, dice, number)
    phase = 2 * math.pi * torch.cumsum(to_samples(hertz).double(), 1) / RATE
    phase = torch.remainder(phase, 2 * math.pi).float()
    # Harmonics: all, or from the third, or the first few.
    first = torch.where(dice.chance(0.07, count), 2 + dice.integers(2, count), torch.ones_like(number[:, 0]))
    last = torch.where(bare & dice.chance(0.5, count), first + dice.integers(12, count), torch.full_like(first, 200))
    scatter = dice.uniform(count, 1, low=0.0, high=3.0) * dice.chance(0.6, count, 1)
    # Above this frequency the voice is breath.
    breath = 10.0 ** dice.uniform(count, 1, low=3.0, high=4.2)
    sound = torch.zeros(count, SAMPLES, device=dice.device)
    for least in range(1, int(RATE / 2 / 60.0), TOGETHER):
        k = torch.arange(least, least + TOGETHER, device=dice.device)[None, :, None]
        frequency = k * hertz[:, None]
        amplitude = torch.exp(at_frequency(envelope, frequency)) * voiced[:, None]
        amplitude = amplitude * torch.sigmoid((breath[:, None] - frequency) / 300.0)
        amplitude = amplitude * (frequency < 0.97 * RATE / 2)
        amplitude = amplitude * ((first[:, None, None] <= k) & (k <= last[:, None, None]))
        shift = scatter[:, None] * dice.normal(count, TOGETHER, 1)
        sound += (to_samples(amplitude) * torch.sin(k * phase[:, None] + shift)).sum(1)
    power = lambda x: x.pow(2).mean(1, keepdim=True).clamp(min=1e-12)
    breathy = shaped_noise(dice, torch.exp(envelope) * voiced[:, :, None])
    amount = 10.0 ** (-dice.uniform(count, 1, low=12.0, high=45.0) / 20.0)
    sound = sound + breathy * amount * torch.sqrt(power(sound) / power(breathy))
    # Consonants: noise with a place of its own.
    frequency = torch.linspace(0, RATE / 2, BANDS, device=dice.device)
    centre = torch.gather(dice.uniform(count, 48, low=600.0, high=7500.0), 1, number)[:, :, None]
    width = torch.gather(dice.uniform(count, 48, low=500.0, high=4000.0), 1, number)[:, :, None]
    hiss = torch.exp(-0.5 * ((frequency - centre) / width) ** 2)
    unvoiced = shaped_noise(dice, hiss * loud(kinds, 2, dice, number)[:, :, None])
    amount = 10.0 ** (-dice.uniform(count, 1, low=2.0, high=25.0) / 20.0)
    voiced_loudness = torch.sqrt(power(sound))
    sound = sound + unvoiced * amount * torch.where(
        voiced_loudness > 1e-5, voiced_loudness / torch.sqrt(power(unvoiced)), torch.ones_like(voiced_loudness)
    )
    truth = torch.where(kinds == 1, hertz, torch.zeros_like(hertz))
    return sound, truth, bridged(kinds > 0), bare


def echoing(dice, sound):
    """Some clips in a small room: the direct sound and a decay."""
    count = sound.shape[0]
    length = int(0.25 * RATE)
    time = torch.arange(length, device=dice.device) / RATE
    decay = dice.uniform(count, 1, low=0.03, high=0.12)
    room = dice.normal(count, length) * torch.exp(-6.9 * time / (3.0 * decay))
    room = room / room.pow(2).sum(1, keepdim=True).sqrt()
    room = room * 10.0 ** (-dice.uniform(count, 1, low=3.0, high=20.0) / 20.0)
    room[:, 0] += 1.0
    size = 1 << (SAMPLES + length - 1).bit_length()
    wet = torch.fft.irfft(torch.fft.rfft(sound, size) * torch.fft.rfft(room, size), size)[:, :SAMPLES]
    return torch.where(dice.chance(0.2, count, 1), wet, sound)


def struck(dice, count):
    """Three notes at a time, with harmonics, struck a few times a second."""
    time = torch.arange(SAMPLES, device=dice.device) / RATE
    tune = torch.zeros(count, SAMPLES, device=dice.device)
    for _ in range(3):
        beat = dice.uniform(count, 1, low=0.15, high=1.0)
        number = ((time + dice.uniform(count, 1)) / beat).floor().long()
        since = time + 0.0 - number * beat
        since = since - since.min(1, keepdim=True).values
        semitone = torch.gather(dice.integers(36, count, 32).float(), 1, number.clamp(max=31))
        hertz = 110.0 * 2.0 ** (semitone / 12.0)
        fade = torch.exp(-since * dice.uniform(count, 1, low=0.5, high=8.0)) * (since / 0.01).clamp(max=1.0)
        phase = 2 * math.pi * torch.cumsum(hertz.double(), 1) / RATE
        phase = torch.remainder(phase, 2 * math.pi).float()
        dark = dice.uniform(count, 1, low=0.8, high=2.5)
        for k in range(1, 9):
            tune += fade * torch.sin(k * phase) * k**-dark
    return tune


def noises(dice, sound):
    """What is heard beside the voice, of many colours."""
    count = sound.shape[0]
    frequency = torch.fft.rfftfreq(SAMPLES, 1 / RATE, device=dice.device).clamp(min=20.0)
    slope = dice.uniform(count, 1, low=-0.3, high=1.2)
    # White and pink.
    plain = dice.uniform(count, 1)
    slope = torch.where(plain < 0.3, 0.0, torch.where(plain < 0.6, 0.5, slope))
    ripple = stretched(dice.normal(count, 24) * dice.uniform(count, 1, low=0.0, high=0.8), frequency.shape[0])
    ripple = torch.where(dice.chance(0.5, count, 1), torch.zeros_like(ripple), ripple)
    colour = torch.exp(-slope * torch.log(frequency / 1000.0) + ripple)
    noise = torch.fft.irfft(torch.fft.rfft(dice.normal(count, SAMPLES)) * colour, SAMPLES)
    # Engines and streets swell.
    swell = torch.exp(stretched(dice.normal(count, 12), SAMPLES) * dice.uniform(count, 1, high=0.7))
    noise = torch.where(dice.chance(0.4, count, 1), noise * swell, noise)
    # A crowd: other clips of the batch, turned round and added.
    crowd = torch.zeros_like(sound)
    for n in range(6):
        others = torch.roll(sound, n * 7 + 3, 0).flip(1) if n % 2 else torch.roll(sound, n * 7 + 3, 0)
        crowd += torch.roll(others, n * 3001, 1) / others.pow(2).mean(1, keepdim=True).sqrt().clamp(min=1e-4)
    level = lambda x: x.pow(2).mean(1, keepdim=True).sqrt().clamp(min=1e-6)
    noise = noise / level(noise)
    noise = torch.where(dice.chance(0.2, count, 1), dice.uniform(count, 1, high=0.4) * noise + crowd / level(crowd), noise)
    # Music: notes that are struck and fade.
    tune = struck(dice, count)
    noise = torch.where(dice.chance(0.12, count, 1), dice.uniform(count, 1, high=0.2) * noise + tune / level(tune), noise)
    # Mains hum.
    time = torch.arange(SAMPLES, device=dice.device) / RATE
    mains = torch.where(dice.chance(0.5, count, 1), 50.0, 60.0)
    hum = sum(torch.sin(2 * math.pi * k * mains * time + k * k) / k for k in (1, 2, 3, 5))
    noise = torch.where(dice.chance(0.08, count, 1), noise + hum * dice.uniform(count, 1), noise)
    return noise / level(noise)


def between(values, first, places):
    """The values at places from the first on, in between two: and those two."""
    below = places.floor().long()
    one, two = values[first + below].float(), values[first + below + 1].float()
    return one + (places - below) * (two - one), one, two


def read_aloud(dice, read, count):
    """Clips of what synthetic voices said, behind microphones of our own, their pitch, and where they speak.

    The pitch is per 10 ms, 0 where unvoiced, -1 where nobody can say.
    """
    said, pitch = read
    # Played slower or faster: other throats.
    speed = dice.uniform(count, 1, low=0.85, high=1.4)
    frames = SAMPLES // HOP + 1
    first = dice.integers(pitch.shape[0] - 2 * frames, count, 1)
    sound = between(said, first * HOP, speed * torch.arange(SAMPLES, device=dice.device))[0] / 32768.0
    hertz, one, two = between(pitch, first, speed * torch.arange(frames, device=dice.device))
    both = (one > 0) & (two > 0)
    truth = torch.where(both, hertz * speed, torch.where((one == 0) & (two == 0), 0.0, -1.0))
    loudest = F.max_pool1d(F.pad(sound.abs()[:, None], (STEP, STEP)), 2 * STEP, STEP)[:, 0, :STEPS]
    speaking = loudest > 0.003 * sound.abs().amax(1, keepdim=True).clamp(min=1e-3)
    colour = torch.exp(stretched(dice.normal(count, 16) * dice.uniform(count, 1, high=0.8), SAMPLES // 2 + 1))
    sound = torch.fft.irfft(torch.fft.rfft(sound) * colour, SAMPLES)
    sound = sound / sound.abs().amax(1, keepdim=True).clamp(min=1e-3)
    return sound, truth, bridged(speaking)


def bridged(speaking):
    """A pause shorter than 120 ms belongs to what is said."""
    said = speaking.float()[:, None]
    said = F.max_pool1d(F.pad(said, (12, 12)), 25, 1)
    return (-F.max_pool1d(F.pad(-said, (12, 12), value=-1.0), 25, 1))[:, 0] > 0.5


def clips(dice, count, read):
    """Noisy clips with their truths at the frames of a hop: a dictionary.

    `pitch` is 0 where unvoiced; `trust` is how much it counts: nothing where nobody can say, little within 15 ms of a
    change. `spoken` are the clips whose `speaking` is true.
    """
    frames = SAMPLES // HOP + 1
    aloud_count = count * 2 // 5
    sound, truth, speaking, bare = voices(dice, count - aloud_count)
    aloud, aloud_truth, aloud_speaking = read_aloud(dice, read, aloud_count)
    sound = torch.cat([sound, aloud])
    speaking = torch.cat([speaking, aloud_speaking])
    near = F.max_pool1d((truth > 0).float()[:, None], 7, 1, 3) != -F.max_pool1d(-(truth > 0).float()[:, None], 7, 1, 3)
    at = torch.arange(frames, device=dice.device) * (HOP // STEP)
    trust = torch.cat([torch.where(near[:, 0, at], 0.1, 1.0), (aloud_truth >= 0).float()])
    truth = torch.cat([truth[:, at], aloud_truth.clamp(min=0.0)])
    bare = torch.cat([bare, torch.zeros_like(bare[:1]).expand(aloud_count)])
    clean = sound
    sound = echoing(dice, sound)
    active = to_samples(speaking.float()) > 0.5
    loudness = ((clean**2) * active).sum(1, keepdim=True) / active.sum(1, keepdim=True).clamp(min=1)
    # Half of them are less than 7 dB louder than the noise: those are hard.
    ratio = -8.0 + 43.0 * dice.uniform(count, 1) ** 1.5
    gain = torch.sqrt(loudness.clamp(min=1e-10) / 10.0 ** (ratio / 10.0))
    gain = torch.where(loudness > 0, gain, dice.uniform(count, 1, low=0.001, high=0.1))
    spotless = dice.chance(0.1, count, 1)
    sound = sound + torch.where(spotless, 0.0, gain) * noises(dice, clean)
    sound = sound / sound.abs().amax(1, keepdim=True).clamp(min=1e-5)
    clipped = dice.chance(0.05, count, 1)
    sound = torch.where(clipped, (sound * 3.0).clamp(-1, 1), sound)
    sound = sound * 10.0 ** (-dice.uniform(count, 1, low=0.0, high=50.0) / 20.0)
    return {
        "sound": sound,
        "pitch": truth,
        "trust": trust,
        "speaking": speaking[:, at],
        "spoken": ~bare,
    }
