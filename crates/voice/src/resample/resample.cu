// Any sample rate to any other by a polyphase filter, a block to 32 periods of a file, or to half or a
// quarter as many where they are long.
//
// Outputs repeat their places between inputs after a period. A lane has a period, as many lanes as there are
// periods four neighbouring outputs of it: what they multiply by is the same, a load of 16 bytes for four
// products of each, and the input is loaded once for all four.

#include "ragged.cuh"

#define THREADS 256
#define WARPS (THREADS / 32)
// Outputs of a warp at a time.
#define TOGETHER 4
// Numbers that describe a tile.
#define TILE 5

extern __shared__ float resample_shared[];

// `tiles` holds in fives: where the file's samples begin and end, where its results begin, how many they are,
// and the number of the tile in its file. `weights` has four weights for each of `length` inputs of each group
// of four outputs of a period, `starts` the first input of each group; a period is `outputs` results for
// `inputs` samples, a tile is `periods` of them, and the first tap of the first result lies `before` samples
// before the file.
extern "C" __global__ void __launch_bounds__(THREADS)
resample(const float* samples, u64 samples_length, const u64* tiles, u64 tiles_length, const float* weights,
         u64 weights_length, const u32* starts, u64 starts_length, float* out, u64 out_length, u32 outputs,
         u32 inputs, u32 length, u32 before, u32 periods) {
  u32 shared_bytes;
  asm("mov.u32 %0, %%dynamic_smem_size;" : "=r"(shared_bytes));
  u32 groups = (outputs + TOGETHER - 1) / TOGETHER, rows = inputs + length;
  if (blockDim.x != THREADS || outputs < 1 || inputs < 1 || inputs > 65536 || length > 65536) return;
  if (starts_length < groups || weights_length < (u64)groups * length * TOGETHER) return;
  if (periods != 32 && periods != 16 && periods != 8) return;
  // From an input of all periods to the next, one more than there are periods: rows and columns both avoid
  // conflicts.
  u32 columns = periods + 1;
  if (shared_bytes / 4 / columns < rows) return;
  u64 n = blockIdx.x;
  if (n >= tiles_length / TILE) return;
  u64 begin = tiles[TILE * n], end = tiles[TILE * n + 1], to = tiles[TILE * n + 2], count = tiles[TILE * n + 3];
  u64 tile = tiles[TILE * n + 4];
  if (begin > end || end > samples_length || to > out_length || count > out_length - to) return;
  const float* from = samples + begin;
  long long present = (long long)(end - begin);
  u32 lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  for (u32 period = warp; period < periods; period += WARPS) {
    long long first = (long long)((tile * periods + period) * inputs) - (long long)before;
    for (u32 j = lane; j < rows; j += 32) {
      long long at = first + j;
      resample_shared[j * columns + period] = at >= 0 && at < present ? __ldg(from + at) : 0.0f;
    }
  }
  __syncthreads();
  u32 sharing = 32 / periods, own = lane % periods;
  for (u32 group = warp * sharing + lane / periods; group < groups; group += WARPS * sharing) {
    const float* x = resample_shared + min(starts[group], inputs) * columns + own;
    const float4* w = (const float4*)weights + (u64)group * length;
    // Two sums to an output, as on the CPU: shorter chains, and more exact than one.
    float sum[2][TOGETHER] = {{0.0f}};
#pragma unroll 8
    for (u32 j = 0; j < length; ++j) {
      float sample = x[j * columns];
      float4 weight = __ldg(w + j);
      sum[j % 2][0] = fmaf(sample, weight.x, sum[j % 2][0]);
      sum[j % 2][1] = fmaf(sample, weight.y, sum[j % 2][1]);
      sum[j % 2][2] = fmaf(sample, weight.z, sum[j % 2][2]);
      sum[j % 2][3] = fmaf(sample, weight.w, sum[j % 2][3]);
    }
    u64 first = (tile * periods + own) * outputs + TOGETHER * group;
#pragma unroll
    for (u32 k = 0; k < TOGETHER; ++k) {
      if (TOGETHER * group + k < outputs && first + k < count) out[to + first + k] = sum[0][k] + sum[1][k];
    }
  }
}
