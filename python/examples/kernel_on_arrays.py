"""One kernel on NumPy arrays, checked index by index, and on PyTorch's GPU tensors without a copy.

    python kernel_on_arrays.py
"""

import numpy as np

import warpsmith
from force_field import best_device, torch


SOURCE = """
import warp as wp

@wp.kernel
def saxpy(x: wp.array(dtype=float), y: wp.array(dtype=float), a: float):
    i = wp.tid()
    y[i] = a * x[i] + y[i]
"""

kernel = warpsmith.compile(SOURCE)
count = 1 << 16
random = np.random.default_rng(1)
x, y = (random.standard_normal(count).astype(np.float32) for _ in range(2))
expected = np.float32(2.5) * x + y
kernel.launch(count, x, y, 2.5)
print(f"host: largest difference {np.abs(y - expected).max():.1e}")
try:
    kernel.launch(count + 1, x, y, 2.5)
except warpsmith.KernelRefused as refused:
    print(f"one thread too many: {refused.findings[0]['message']}")

if best_device() == "cuda":
    on_gpu = [torch.randn(1 << 24, device="cuda") for _ in range(2)]
    expected = 2.5 * on_gpu[0] + on_gpu[1]
    kernel.launch(1 << 24, *on_gpu, 2.5)
    print(f"GPU: largest difference {(on_gpu[1] - expected).abs().max().item():.1e}")
    # The kernel follows PyTorch's current stream, whichever that is.
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        on_gpu[1].zero_()
        kernel.launch(1 << 24, *on_gpu, 1.0)
        same = torch.equal(on_gpu[1], on_gpu[0])
    print(f"on a side stream, after PyTorch's own work there: {'right' if same else 'WRONG'}")
    print(warpsmith.benchmark(lambda: kernel.launch(1 << 24, *on_gpu, 1.0), device="cuda",
                              name="saxpy of 2^24", seconds=1).summary())
    if not same:
        raise SystemExit(1)
else:
    print("skipped: GPU arrays, because PyTorch with a GPU is not here")
