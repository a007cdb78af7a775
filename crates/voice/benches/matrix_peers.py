"""Times torch's products of matrices, convolutions of pictures, attention and resampling on the GPU, without TF32,
beside what `warpsmith bench` says of the same sizes: one line to a case, with the least and the median of the samples.

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


def matmul_to_f32(size):
    a, b = (torch.randn(size, size, device="cuda").to(torch.bfloat16) for _ in range(2))
    work = lambda: torch.mm(a, b, out_dtype=torch.float32)
    # Hot, as `warpsmith bench` measures.
    for _ in range(300):
        work()
    case(f"matmul {size} {size} {size} bfloat16 to float32", 2 * size**3, work)


def attention(width, causal, kind):
    q, k, v = (torch.randn(1, 32, 1500, width, device="cuda").to(kind) for _ in range(3))
    flops = 4 * q.numel() * 1500 // (2 if causal else 1)
    work = lambda: torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal)
    case(f"attention 32 1500 {width} {'causal' if causal else 'none'} {kind}", flops, work)


def resample(rate, to):
    from torchaudio.transforms import Resample

    kaiser = dict(
        resampling_method="sinc_interp_kaiser",
        lowpass_filter_width=64,
        rolloff=0.9475937167399596,
        beta=14.769656459379492,
    )
    x = torch.randn(1, 60 * rate, device="cuda")
    transform = Resample(rate, to, **kaiser).cuda()
    case(f"resample 60 s {rate} {to}", 0, lambda: transform(x))


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
for size in (2048, 3072, 4096, 8192):
    matmul_to_f32(size)
for kind in (torch.float32, torch.bfloat16):
    for width in (64, 128):
        for causal in (False, True):
            attention(width, causal, kind)
resample(44_100, 16_000)
resample(16_000, 44_100)
