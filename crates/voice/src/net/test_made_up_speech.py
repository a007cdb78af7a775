"""Sounds and their labels keep the same time.

    python -m pytest test_made_up_speech.py

Needs PyTorch, on the CPU.
"""

import math

import pytest

torch = pytest.importorskip("torch")

from made_up_speech import RATE, SAMPLES, STEP, STEPS, to_samples  # noqa: E402


def test_the_pitch_of_a_glide_is_its_label_up_to_the_end():
    labels = torch.linspace(100.0, 800.0, STEPS)
    phase = 2 * math.pi * torch.cumsum(to_samples(labels[None]).double(), 1)[0] / RATE
    glide = torch.sin(phase)
    for step in (40, 240, 400, 470):
        # Upward crossings of zero within 40 ms on both sides: their mean distance is the period in the middle.
        first = step * STEP - 640
        piece = glide[first : first + 1281]
        below = torch.nonzero((piece[:-1] < 0) & (piece[1:] >= 0))[:, 0]
        crossings = below + piece[below] / (piece[below] - piece[below + 1])
        periods = len(crossings) - 1
        hertz = periods * RATE / (crossings[-1] - crossings[0])
        middle = first + (crossings[0] + crossings[-1]) / 2
        label = labels[step] + (middle / STEP - step) * (labels[1] - labels[0])
        # A glide that is 1 ms late is 0.3 Hz off.
        assert abs(hertz - label) < 0.3, f"step {step}: {hertz} Hz, labelled {label} Hz"


def test_steps_lie_at_their_samples():
    line = torch.arange(STEPS).float()[None] * STEP
    samples = to_samples(line)
    assert samples.shape == (1, SAMPLES)
    assert (samples[0] - torch.arange(SAMPLES)).abs().max() < 0.1
