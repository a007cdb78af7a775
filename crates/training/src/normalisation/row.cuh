// Rows of a matrix, held in registers by a warp or a block while they are reduced and rewritten.

#pragma once

typedef unsigned long long u64;
typedef unsigned int u32;

// Vectors of four that a thread holds: 32 threads take rows up to 1024 numbers, 256 up to 8192.
#define ITEMS 8
#define BLOCK 256

struct Sum {
  static __device__ __forceinline__ float join(float a, float b) { return a + b; }
};
struct Largest {
  static __device__ __forceinline__ float join(float a, float b) { return fmaxf(a, b); }
};

// The reduction of `value` over the THREADS threads of a row, in each of them.
template <int THREADS, class Join>
__device__ __forceinline__ float reduce(float value) {
#pragma unroll
  for (int reach = 16; reach > 0; reach /= 2) {
    value = Join::join(value, __shfl_xor_sync(0xffffffffu, value, reach));
  }
  if (THREADS == 32) return value;
  __shared__ float partial[BLOCK / 32];
  // Whoever reads the last reduction's partials is done before they are overwritten.
  __syncthreads();
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = value;
  __syncthreads();
  float total = partial[0];
#pragma unroll
  for (int warp = 1; warp < BLOCK / 32; ++warp) total = Join::join(total, partial[warp]);
  return total;
}

__device__ __forceinline__ float gelu_exact(float x) {
  return 0.5f * x * (1.0f + erff(0.70710678f * x));
}

__device__ __forceinline__ float gelu_tanh(float x) {
  return 0.5f * x * (1.0f + tanhf(0.79788456f * fmaf(0.044715f * x * x, x, x)));
}
