"""Times torch's products of matrices and convolutions of pictures on the GPU, without TF32, beside what
`warpsmith bench` says of the same sizes: one line to a case, with the least and the median of the samples.

usage: matrix_peers.py [SAMPLES]
The samples are queued while the GPU sleeps, so that nothing but the kernels lies between their events.
"""
import sys

import torch

torch.backends.cuda.matmul.allow_tf32 = False
torch.backends.cudnn.allow_tf32 = False
torch.backends.cudnn.benchmark = True
torch.set_grad_enabled(False)
samples = int(sys.argv[1]) if len(sys.argv) > 1 else 60


def case(name, flops, work):
    for _ in range(3):
        work()
    torch.cuda.synchronize()
    event = lambda: torch.cuda.Event(enable_timing=True)
    pairs = [(event(), event()) for _ in range(samples)]
    torch.cuda._sleep(40_000_000)
    for begin, end in pairs:
        begin.record()
        work()
        end.record()
    torch.cuda.synchronize()
    times = sorted(begin.elapsed_time(end) * 1e3 for begin, end in pairs)
    median = times[len(times) // 2]
    print(f"{name}\t{times[0]:.1f} us\t{median:.1f} us\t{flops / median / 1e6:.1f} TFLOP/s", flush=True)


def matmul(m, n, k):
    for kind in (torch.float32, torch.bfloat16):
        a, b = torch.randn(m, k, device="cuda").to(kind), torch.randn(k, n, device="cuda").to(kind)
        out = torch.empty(m, n, device="cuda", dtype=kind)
        case(f"matmul {m} {n} {k} {kind}", 2 * m * n * k, lambda: torch.matmul(a, b, out=out))


def conv2d(pictures, channels, height, width, outs, taps=3, stride=1, padding=1):
    conv = torch.nn.Conv2d(channels, outs, taps, stride, padding).cuda()
    x = torch.randn(pictures, channels, height, width, device="cuda")
    flops = 2 * conv(x).numel() * channels * taps * taps
    case(f"conv2d {pictures} {channels} {height} {width} {outs} taps={taps} stride={stride}", flops, lambda: conv(x))


print(torch.cuda.get_device_name(), "torch", torch.__version__)
for size in (1024, 1536, 3072, 4096, 8192):
    matmul(size, size, size)
matmul(1000, 999, 1001)
conv2d(32, 64, 56, 56, 128)
conv2d(8, 1, 80, 3000, 64)
conv2d(32, 256, 28, 28, 256)
conv2d(32, 64, 56, 56, 128, stride=2)
