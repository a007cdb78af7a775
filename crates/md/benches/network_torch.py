"""The network of `md/network` in PyTorch, on the GPU where there is one: eager, compiled, and as a
CUDA graph. Prints medians in microseconds."""

import statistics
import sys
import time

import torch
from torch import nn


class ForceField(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.embedding = nn.Embedding(10, hidden)
        self.layers = nn.Sequential(
            nn.Linear(hidden + 3, hidden), nn.SiLU(),
            nn.Linear(hidden, hidden), nn.SiLU(),
            nn.Linear(hidden, hidden), nn.SiLU(),
        )
        self.energy = nn.Linear(hidden, 1)
        self.force = nn.Linear(hidden, 3)

    def forward(self, species, positions):
        values = self.layers(torch.cat([self.embedding(species), positions], dim=-1))
        return self.energy(values).sum(), self.force(values)


def main():
    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.set_num_threads(1)
    for atoms, hidden in [(100, 128), (1000, 128)]:
        model = ForceField(hidden).to(device).eval()
        species = torch.randint(10, (atoms,), device=device)
        positions = torch.randn(atoms, 3, device=device)

        def wait():
            if device == "cuda":
                torch.cuda.synchronize()

        def timed(call, count):
            for _ in range(20):
                call()
            wait()
            times = []
            for _ in range(count):
                begin = time.perf_counter()
                call()
                wait()
                times.append(1e6 * (time.perf_counter() - begin))
            return statistics.median(times)

        with torch.inference_mode():
            eager = timed(lambda: model(species, positions), 300)
            print(f"torch {torch.__version__} {device} {atoms} atoms eager: {eager:.1f} us call to end of wait", flush=True)
            if device == "cuda":
                graph = torch.cuda.CUDAGraph()
                side = torch.cuda.Stream()
                with torch.cuda.stream(side):
                    for _ in range(3):
                        model(species, positions)
                torch.cuda.synchronize()
                with torch.cuda.graph(graph):
                    model(species, positions)
                replay = timed(graph.replay, 300)
                begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
                begin.record()
                for _ in range(200):
                    graph.replay()
                end.record()
                torch.cuda.synchronize()
                per_replay = 1e3 * begin.elapsed_time(end) / 200
                print(f"torch graph {atoms} atoms: {replay:.1f} us call to end of wait, {per_replay:.1f} us a replay, back to back", flush=True)
            if "--compile" in sys.argv:
                compiled = torch.compile(model, mode="reduce-overhead" if device == "cuda" else "default")
                fast = timed(lambda: compiled(species, positions), 300)
                print(f"torch.compile {atoms} atoms: {fast:.1f} us call to end of wait", flush=True)


main()
