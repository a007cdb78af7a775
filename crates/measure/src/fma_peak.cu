// Multiply-adds that depend on nothing but themselves: the most that plain arithmetic reaches here.
// Each thread keeps eight chains, enough to hide the latency of one.

typedef unsigned long long u64;

extern "C" __global__ void fma_peak(float* out, u64 out_length, unsigned rounds) {
  u64 index = (u64)blockIdx.x * blockDim.x + threadIdx.x;
  float a = 0.999f, b = 1e-6f * (float)(index & 1023);
  float x0 = b, x1 = b + 1, x2 = b + 2, x3 = b + 3, x4 = b + 4, x5 = b + 5, x6 = b + 6, x7 = b + 7;
  for (unsigned round = 0; round < rounds; ++round) {
#pragma unroll
    for (int step = 0; step < 16; ++step) {
      x0 = fmaf(x0, a, b);
      x1 = fmaf(x1, a, b);
      x2 = fmaf(x2, a, b);
      x3 = fmaf(x3, a, b);
      x4 = fmaf(x4, a, b);
      x5 = fmaf(x5, a, b);
      x6 = fmaf(x6, a, b);
      x7 = fmaf(x7, a, b);
    }
  }
  // The sum is stored so that nothing of it can be left out.
  if (index < out_length) out[index] = ((x0 + x1) + (x2 + x3)) + ((x4 + x5) + (x6 + x7));
}
