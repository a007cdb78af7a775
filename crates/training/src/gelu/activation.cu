// GELU, exact and by the hyperbolic tangent: four numbers to a thread.

#include "row.cuh"

__device__ __forceinline__ float gelu_of(float x, u32 exact) {
  return exact ? gelu_exact(x) : gelu_tanh(x);
}

// out = x times the normal distribution's share below x; exact 0 approximates it.
extern "C" __global__ void __launch_bounds__(BLOCK)
gelu(const float* x, u64 x_length, float* out, u64 out_length, u32 exact) {
  u64 length = x_length < out_length ? x_length : out_length;
  u64 threads = (u64)gridDim.x * blockDim.x, first = (u64)blockIdx.x * blockDim.x + threadIdx.x;
  u64 quads = length / 4;
  for (u64 i = first; i < quads; i += threads) {
    float4 v = ((const float4*)x)[i];
    ((float4*)out)[i] = make_float4(gelu_of(v.x, exact), gelu_of(v.y, exact), gelu_of(v.z, exact),
                                    gelu_of(v.w, exact));
  }
  for (u64 i = 4 * quads + first; i < length; i += threads) out[i] = gelu_of(x[i], exact);
}
