"""A small force field to measure: pairwise distances, a hidden layer, energies and forces.

With PyTorch it is a module; without, the same formulas in NumPy. The numbers mean nothing; the shape of
the work is that of a learned force field.
"""

import numpy as np

try:
    import torch
except ImportError:
    torch = None


class NumpyForceField:
    """Forces of `hidden` radial features, as NumPy computes them."""

    def __init__(self, hidden=128, seed=0):
        random = np.random.default_rng(seed)
        self.first = random.standard_normal((16, hidden)).astype(np.float32) / 4
        self.second = random.standard_normal((hidden, 1)).astype(np.float32) / 12
        self.centres = np.linspace(0.5, 5.0, 16, dtype=np.float32)

    def __call__(self, positions):
        offsets = positions[:, None, :] - positions[None, :, :]
        distances = np.sqrt((offsets**2).sum(-1) + 1e-6)
        radial = np.exp(-((distances[..., None] - self.centres) ** 2))
        weights = np.tanh(radial @ self.first) @ self.second
        return (offsets * weights).sum(1)


def model(hidden=128, device="cpu"):
    """The force field on `device`, from PyTorch where it is installed."""
    if torch is None:
        return NumpyForceField(hidden)

    class TorchForceField(torch.nn.Module):
        def __init__(self):
            super().__init__()
            plain = NumpyForceField(hidden)
            self.first = torch.nn.Parameter(torch.from_numpy(plain.first))
            self.second = torch.nn.Parameter(torch.from_numpy(plain.second))
            self.register_buffer("centres", torch.from_numpy(plain.centres))

        @torch.no_grad()
        def forward(self, positions):
            offsets = positions[:, None, :] - positions[None, :, :]
            distances = torch.sqrt((offsets**2).sum(-1) + 1e-6)
            radial = torch.exp(-((distances[..., None] - self.centres) ** 2))
            weights = torch.tanh(radial @ self.first) @ self.second
            return (offsets * weights).sum(1)

    return TorchForceField().to(device)


def atoms(count=100, device="cpu", seed=0):
    """Positions in a box of constant density."""
    positions = np.random.default_rng(seed).random((count, 3), np.float32) * count ** (1 / 3)
    return positions if torch is None else torch.from_numpy(positions).to(device)


def best_device():
    """`cuda` where PyTorch can use one, else `cpu`."""
    return "cuda" if torch is not None and torch.cuda.is_available() else "cpu"
