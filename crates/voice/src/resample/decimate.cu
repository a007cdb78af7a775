// Signals at a half, a quarter or less of their rate, a block to 1024 neighbouring results of a file.
//
// Inputs are apart by their place between two results: in such a plane, neighbouring results take neighbouring
// inputs. A thread has eight results and slides over the planes, so that eight loads of inputs and two of weights
// serve 64 products.

#include "ragged.cuh"

#define THREADS 128
// Results of a thread, and inputs of a row, which is one longer: threads keep to different banks.
#define OWN 8
#define PITCH (OWN + 1)
#define RESULTS (THREADS * OWN)
// Numbers that describe a tile.
#define TILE 5

extern __shared__ float4 decimate_shared[];

// `tiles` holds in fives: where the file's samples begin and end, where its results begin, how many they are, and
// the number of the tile in its file. `weights` has `taps`, a multiple of eight, for each of `1 << shift` planes;
// the first of them lies `before` samples before its result.
extern "C" __global__ void __launch_bounds__(THREADS)
decimate(const float* samples, u64 samples_length, const u64* tiles, u64 tiles_length, const float* weights,
         u64 weights_length, float* out, u64 out_length, u32 shift, u32 taps, u32 before) {
  u32 shared_bytes;
  asm("mov.u32 %0, %%dynamic_smem_size;" : "=r"(shared_bytes));
  if (blockDim.x != THREADS || shift > 8 || taps % OWN != 0 || taps < OWN || taps > 65536) return;
  u32 planes = 1u << shift, plane = (RESULTS + taps) / OWN * PITCH;
  if (shared_bytes / 4 / planes < taps + plane || weights_length < (u64)planes * taps) return;
  u64 n = blockIdx.x;
  if (n >= tiles_length / TILE) return;
  u64 begin = tiles[TILE * n], end = tiles[TILE * n + 1], to = tiles[TILE * n + 2], count = tiles[TILE * n + 3];
  u64 first = tiles[TILE * n + 4] * RESULTS;
  if (begin > end || end > samples_length || to > out_length || count > out_length - to || first >= count) return;
  const float* from = samples + begin;
  long long present = (long long)(end - begin), start = (long long)(first << shift) - (long long)before;
  float* own_weights = (float*)decimate_shared;
  float* inputs = own_weights + planes * taps;
  for (u32 i = threadIdx.x; i < planes * taps; i += THREADS) own_weights[i] = __ldg(weights + i);
  for (u32 i = threadIdx.x; i < planes * (RESULTS + taps); i += THREADS) {
    long long at = start + i;
    u32 place = i >> shift;
    inputs[(i & (planes - 1)) * plane + place / OWN * PITCH + place % OWN] =
        at >= 0 && at < present ? __ldg(from + at) : 0.0f;
  }
  __syncthreads();
  float total[OWN] = {0.0f};
  for (u32 p = 0; p < planes; ++p) {
    const float* x = inputs + p * plane + threadIdx.x * PITCH;
    const float4* w = (const float4*)(own_weights + p * taps);
    float window[2 * OWN], sum[OWN] = {0.0f};
#pragma unroll
    for (int i = 0; i < OWN; ++i) window[OWN + i] = x[i];
#pragma unroll 2
    for (u32 tap = 0; tap < taps; tap += OWN) {
      x += PITCH;
#pragma unroll
      for (int i = 0; i < OWN; ++i) {
        window[i] = window[OWN + i];
        window[OWN + i] = x[i];
      }
      float4 a = w[0], b = w[1];
      w += 2;
      float weight[OWN] = {a.x, a.y, a.z, a.w, b.x, b.y, b.z, b.w};
#pragma unroll
      for (int i = 0; i < OWN; ++i) {
#pragma unroll
        for (int k = 0; k < OWN; ++k) sum[k] = fmaf(weight[i], window[i + k], sum[k]);
      }
    }
#pragma unroll
    for (int k = 0; k < OWN; ++k) total[k] += sum[k];
  }
  __syncthreads();
#pragma unroll
  for (int k = 0; k < OWN; ++k) inputs[threadIdx.x * PITCH + k] = total[k];
  __syncthreads();
  for (u32 i = threadIdx.x; i < RESULTS && first + i < count; i += THREADS) {
    out[to + first + i] = inputs[i / OWN * PITCH + i % OWN];
  }
}
