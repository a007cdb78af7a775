"""Trains the network on made-up speech and writes its weights.

    python voices.py voices.npz
    python train.py --voices voices.npz --seconds 460 --out weights.f16
    python train.py --golden weights.f16 > golden.txt

`voices.py` names the packages of Debian 12 that it needs. The weights are those of one run on an H200 with PyTorch:
460 s, 6,641 steps of 192 clips, seed 1, from nothing. The pace of learning follows the clock and ends at 0 after
`--seconds`, so that another machine gives other weights; with `--steps` it ends after so many steps instead.

The front end here and in `front.rs` are the same arithmetic; so are the layers here and in
`layers.rs`.
"""

import argparse
import math
import struct
import time

import numpy
import torch
import torch.nn as nn
import torch.nn.functional as F

from made_up_speech import HOP, RATE, Dice, clips

WINDOW = 1024
FOURIER = 2048
LOWEST = 55.0
PER_OCTAVE = 24
PITCHES = 100
HARMONICS = (0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 5.0, 6.0, 7.0, 8.0, 10.0, 12.0, 14.0, 16.0)
LAGS = (0.5, 1.0, 2.0)
CHANNELS = len(HARMONICS) + 2 + 2 * len(LAGS)
SHORT = 512  # the window that quick glides are seen in
# Bins on either side over which the spectrum's own level is taken.
AROUND = 26
# Bins up to which it is looked at: 6.4 kHz, the eighth harmonic of 800 Hz.
BINS = 820
WIDTH = 32
# Frames between those that a layer compares.
REACH = (1, 2, 4, 8)
VOICING = (1, 2, 4)
MELS = 32
# How far the second answer looks: frames on both sides, then frames before.
BOTH_SIDES = (1, 2, 4)
BEFORE = (8, 16, 32, 64)


def pitch_grid(device):
    return LOWEST * 2.0 ** (torch.arange(PITCHES, device=device) / PER_OCTAVE)


def mel_bank():
    """Triangles over the bins, equally wide on the mel scale: (MELS, FOURIER // 2 + 1)."""
    mel = lambda hertz: 1127.0 * torch.log1p(hertz / 700.0)
    edges = torch.linspace(mel(torch.tensor(80.0)), mel(torch.tensor(7600.0)), MELS + 2)
    at = mel(torch.arange(FOURIER // 2 + 1) * RATE / FOURIER)
    up = (at - edges[:-2, None]) / (edges[1] - edges[0])
    down = (edges[2:, None] - at) / (edges[1] - edges[0])
    bank = torch.minimum(up, down).clamp(min=0.0)
    return bank / bank.sum(1, keepdim=True)


class Front(nn.Module):
    """Sound to what the network sees: (count, CHANNELS, frames, PITCHES) and (count, MELS, frames)."""

    def __init__(self):
        super().__init__()
        self.register_buffer("window", torch.hann_window(WINDOW))
        own = torch.fft.irfft(torch.fft.rfft(self.window, FOURIER).abs() ** 2)
        self.register_buffer("own", own[: FOURIER // 2] / own[0])
        grid = pitch_grid("cpu")
        places = [grid * h * FOURIER / RATE for h in HARMONICS]
        self.register_buffer("harmonics", torch.stack(places).clamp(max=BINS - 1.001))
        self.register_buffer("bank", mel_bank())
        lags = torch.stack([RATE / grid * k for k in LAGS])
        self.register_buffer("lags", lags.clamp(max=WINDOW * 0.75))
        self.register_buffer("short_window", torch.hann_window(SHORT))
        own = torch.fft.irfft(torch.fft.rfft(self.short_window, 2 * SHORT).abs() ** 2)
        self.register_buffer("short_own", own[:SHORT] / own[0])
        self.register_buffer("short_lags", lags.clamp(max=SHORT * 0.75))

    @staticmethod
    def at(values, places):
        below = places.floor().long()
        part = places - below
        return values[..., below] * (1 - part) + values[..., below + 1] * part

    def periodic(self, power, own, lags):
        """How alike the frame and the frame a lag later are."""
        correlation = torch.fft.irfft(power)[..., : own.shape[0]]
        correlation = correlation / (correlation[..., :1] + 1e-7) / own.clamp(min=0.02)
        return self.at(correlation, lags) * 2.0

    def forward(self, sound):
        padded = F.pad(sound, (WINDOW // 2, WINDOW // 2))
        frames = padded.unfold(1, WINDOW, HOP) * self.window
        spectrum = torch.fft.rfft(frames, FOURIER)
        power = spectrum.real**2 + spectrum.imag**2
        level = torch.log(power[..., :BINS] + 1e-9)
        # The spectrum's own level around each bin is taken away: harmonics stay.
        sums = F.pad(torch.cumsum(F.pad(level, (AROUND, AROUND), mode="replicate"), -1), (1, 0))
        wide = 2 * AROUND + 1
        mean = (sums[..., wide:] - sums[..., :-wide]) / wide
        relief = (level - mean) * 0.5
        harmonics = self.at(relief, self.harmonics)
        # How loud the pitch and its octave are in the frame.
        middle = level[..., 8:520].mean(-1, keepdim=True)
        loud = self.at((level - middle[..., :]) * 0.25, self.harmonics[[1, 3]])
        periodic = self.periodic(power, self.own, self.lags)
        short = padded[:, (WINDOW - SHORT) // 2 :].unfold(1, SHORT, HOP)[:, : frames.shape[1]]
        spectrum = torch.fft.rfft(short * self.short_window, 2 * SHORT)
        short_power = spectrum.real**2 + spectrum.imag**2
        quick = self.periodic(short_power, self.short_own, self.short_lags)
        seen = torch.cat([harmonics, loud, periodic, quick], 2).transpose(1, 2).contiguous()
        bands = torch.log(power @ self.bank.T + 1e-7) * 0.25
        return seen, bands.transpose(1, 2)


class Layers(nn.Module):
    """What each pitch looks like, looked at around it and over time; and whether any is there."""

    def __init__(self):
        super().__init__()
        self.enter = nn.Conv2d(CHANNELS, WIDTH, (1, 5), padding=(0, 2))
        self.around = nn.ModuleList(
            nn.Conv2d(WIDTH, WIDTH, (3, 3), padding=(d, 1), dilation=(d, 1)) for d in REACH
        )
        self.pitch = nn.Conv2d(WIDTH, 1, 1)
        self.gather = nn.Conv1d(2 * WIDTH, WIDTH, 1)
        self.over_time = nn.ModuleList(nn.Conv1d(WIDTH, WIDTH, 3, padding=d, dilation=d) for d in VOICING)
        self.silence = nn.Conv1d(WIDTH, 1, 1)
        self.listen = nn.Conv1d(2 * WIDTH + MELS, 48, 1)
        self.in_turn = nn.ModuleList(nn.Conv1d(48, 48, 3, dilation=d) for d in BOTH_SIDES + BEFORE)
        self.speech = nn.Conv1d(48, 1, 1)

    def forward(self, x, bands):
        x = F.relu(self.enter(x))
        for layer in self.around:
            x = x + F.relu(layer(x))
        logits = self.pitch(x)[:, 0]
        whole = torch.cat([x.mean(3), x.amax(3)], 1)
        y = F.relu(self.gather(whole))
        for layer in self.over_time:
            y = y + F.relu(layer(y))
        z = F.relu(self.listen(torch.cat([whole, bands], 1)))
        for n, layer in enumerate(self.in_turn):
            reach = layer.dilation[0]
            after = reach if n < len(BOTH_SIDES) else 0
            z = z + F.relu(layer(F.pad(z, (2 * reach - after, after))))
        return torch.cat([logits, self.silence(y).transpose(1, 2)], 2), self.speech(z)[:, 0]


def loss_of(logits, truth, trust):
    """Cross entropy with a little blur over neighbouring pitches, and how far their centre is off.

    The mean over frames by how much they count.
    """
    place = torch.log2(truth.clamp(min=1.0) / LOWEST) * PER_OCTAVE
    bins = torch.arange(PITCHES, device=logits.device)
    distance = bins - place[..., None]
    wanted = torch.exp(-0.5 * (distance / 0.7) ** 2)
    wanted = wanted / wanted.sum(-1, keepdim=True).clamp(min=1e-6)
    voiced = (truth > 0).float()[..., None]
    wanted = torch.cat([wanted * voiced, 1 - voiced], -1)
    loss = -(wanted * torch.log_softmax(logits, -1)).sum(-1)
    around = torch.softmax(logits[..., :PITCHES].masked_fill(distance.abs() > 3.0, -1e4), -1)
    off = (around * distance).sum(-1)
    loss = loss + 0.5 * F.smooth_l1_loss(off, torch.zeros_like(off), beta=0.1, reduction="none") * voiced[..., 0]
    return (loss * trust).sum() / trust.sum()


def decode(logits):
    """Hz and how sure a frame is voiced."""
    chances = torch.softmax(logits, -1)
    pitch = chances[..., :PITCHES]
    best = pitch.argmax(-1, keepdim=True)
    around = (best + torch.arange(-2, 3, device=logits.device)).clamp(0, PITCHES - 1)
    weight = torch.gather(pitch, -1, around)
    place = (weight * around).sum(-1) / weight.sum(-1).clamp(min=1e-20)
    return LOWEST * 2.0 ** (place / PER_OCTAVE), 1 - chances[..., PITCHES]


def tensors(net):
    """The numbers of a network in the order of its layers."""
    for layer in net.modules():
        if isinstance(layer, (nn.Conv1d, nn.Conv2d)):
            yield layer.weight
            yield layer.bias


def write(net, path):
    with open(path, "wb") as file:
        for tensor in tensors(net):
            for value in tensor.detach().cpu().half().flatten().tolist():
                file.write(struct.pack("<e", value))


def read(path):
    """A network with the weights of a file."""
    net = Layers()
    numbers = torch.from_numpy(numpy.fromfile(path, dtype="<f2").astype("float32"))
    with torch.no_grad():
        for tensor in tensors(net):
            tensor.copy_(numbers[: tensor.numel()].reshape(tensor.shape))
            numbers = numbers[tensor.numel() :]
    assert numbers.numel() == 0
    return net


def example():
    """A second and a half that Rust can make, too: a gliding voice in noise, then noise."""
    state, sound, phase = 1, [], 0.0
    for n in range(24_000):
        state = (state * 1_664_525 + 1_013_904_223) % 2**32
        noise = state / 2**31 - 1.0
        phase += (120.0 + 80.0 * n / 16_000) / RATE
        voice = sum(math.sin(2 * math.pi * k * phase) / k for k in range(1, 11))
        sound.append(0.05 * noise + (0.1 * voice if n < 16_000 else 0.0))
    return torch.tensor(sound, dtype=torch.float32)


def golden(path):
    """Prints pitch, voicing and speech of the example's frames, for the tests."""
    with torch.no_grad():
        logits, speech = read(path)(*Front()(example()[None]))
    hertz, sure = decode(logits)
    for row in zip(hertz[0], sure[0], torch.sigmoid(speech[0])):
        print(" ".join(f"{value:.5f}" for value in row))


def learn(net, front, dice, read, batch, optimiser, device):
    """One step; what was heard, said and true of the batch, and both losses."""
    with torch.no_grad():
        made = clips(dice, batch, read)
        seen, bands = front(made["sound"])
    with torch.autocast(device, torch.bfloat16):
        logits, speech = net(seen.contiguous(memory_format=torch.channels_last), bands)
    logits, speech = logits.float(), speech.float()
    pitch_loss = loss_of(logits, made["pitch"], made["trust"])
    speech_loss = F.binary_cross_entropy_with_logits(speech, made["speaking"].float(), reduction="none")
    speech_loss = (speech_loss * made["spoken"].float()[:, None]).mean()
    optimiser.zero_grad(set_to_none=True)
    (pitch_loss + 0.5 * speech_loss).backward()
    torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    optimiser.step()
    return made, logits, speech, pitch_loss, speech_loss


def report(made, logits, speech, pitch_loss, speech_loss):
    hertz, sure = decode(logits)
    truth, keep = made["pitch"], made["trust"] == 1
    voiced = truth > 0
    cents = 1200 * torch.log2(hertz / truth.clamp(min=1))
    right = (cents.abs() < 50)[voiced & keep].float().mean()
    missed = (sure < 0.5)[voiced & keep].float().mean()
    false = (sure > 0.5)[~voiced & keep].float().mean()
    heard, said = (speech > 0) & made["spoken"][:, None], made["speaking"] & made["spoken"][:, None]
    f1 = 2 * (heard & said).sum() / (heard.sum() + said.sum()).clamp(min=1)
    return (
        f"pitch {pitch_loss:.4f} right {right:.4f} missed {missed:.4f} false {false:.4f}; "
        f"speech {speech_loss:.4f} F1 {f1:.4f}"
    )


def train(voices, seconds, steps, batch, seed, device, out):
    torch.manual_seed(seed)
    torch.backends.cudnn.benchmark = True
    dice = Dice(seed, device)
    read = numpy.load(voices)
    read = [torch.from_numpy(read[name]).to(device) for name in ("sound", "pitch")]
    front, net = Front().to(device), Layers().to(device).to(memory_format=torch.channels_last)
    optimiser = torch.optim.AdamW(net.parameters(), lr=3e-3, weight_decay=1e-4)
    start, step, done, kept, told = time.time(), 0, 0.0, 0.0, -20.0
    while done < 1.0:
        for group in optimiser.param_groups:
            group["lr"] = 3e-3 * min(1, step / 200) * (0.5 * (1 + math.cos(math.pi * done))) + 1e-6
        result = learn(net, front, dice, read, batch, optimiser, device)
        step += 1
        if step % 10 == 0 or step < 10:
            # The device has done what it was given: now the clock is right.
            loss = float(result[3])
            if not math.isfinite(loss):
                raise SystemExit(f"step {step}: the loss is {loss}")
        spent = time.time() - start
        done = step / steps if steps else spent / seconds
        if spent - told > 20 or done >= 1.0:
            told = spent
            print(f"{step} {spent:.0f} s: {report(*result)}", flush=True)
        if spent - kept > 90 or done >= 1.0:
            kept = spent
            write(net, out)
            torch.save(net.state_dict(), out + ".pt")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--voices", default="voices.npz")
    parser.add_argument("--seconds", type=float, default=460.0)
    parser.add_argument("--steps", type=int, default=0)
    parser.add_argument("--batch", type=int, default=192)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--out", default="weights.f16")
    parser.add_argument("--golden", metavar="WEIGHTS", help="print what these weights say of the tests' example")
    args = parser.parse_args()
    if args.golden:
        golden(args.golden)
    else:
        train(args.voices, args.seconds, args.steps, args.batch, args.seed, args.device, args.out)
