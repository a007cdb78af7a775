// y = a * x + y, the smallest kernel that does something.
//
// The fused multiply-add is asked for by name, so that every compiler and architecture rounds once,
// as the CPU reference does.

typedef unsigned long long u64;

extern "C" __global__ void saxpy(const float* x, u64 x_length, const float* y, u64 y_length,
                                 float* out, u64 out_length, float a) {
  u64 stride = (u64)gridDim.x * blockDim.x;
  u64 length = out_length;
  if (x_length < length) length = x_length;
  if (y_length < length) length = y_length;
  for (u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x; i < length; i += stride) {
    out[i] = fmaf(a, x[i], y[i]);
  }
}
