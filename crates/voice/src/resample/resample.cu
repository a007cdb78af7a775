// Any sample rate to any other by a polyphase filter, a block to sixteen periods of a file, or to half or a
// quarter as many where they are long.
//
// Outputs repeat their places between inputs after a period. A thread has four neighbouring outputs of four
// neighbouring periods: a load of 16 bytes of weights and one of inputs are sixteen products.

#include "ragged.cuh"

// The most threads of a block.
#define THREADS 256
// Neighbouring outputs, and periods, of a thread.
#define TOGETHER 4
// Numbers that describe a tile.
#define TILE 5

extern __shared__ float4 resample_shared[];

// `tiles` holds in fives: where the file's samples begin and end, where its results begin, how many they are,
// and the number of the tile in its file. `weights` has four weights for each group of four outputs of a
// period, for each of `length` inputs; `starts` the first input of each group; a period is `outputs` results
// for `inputs` samples, a tile is `periods` of them, and the first tap of the first result lies `before`
// samples before the file.
extern "C" __global__ void __launch_bounds__(THREADS)
resample(const float* samples, u64 samples_length, const u64* tiles, u64 tiles_length, const float* weights,
         u64 weights_length, const u32* starts, u64 starts_length, float* out, u64 out_length, u32 outputs,
         u32 inputs, u32 length, u32 before, u32 periods) {
  u32 shared_bytes;
  asm("mov.u32 %0, %%dynamic_smem_size;" : "=r"(shared_bytes));
  u32 groups = (outputs + TOGETHER - 1) / TOGETHER, rows = inputs + length;
  if (blockDim.x > THREADS || outputs < 1 || inputs < 1 || inputs > 65536 || length > 65536) return;
  if (starts_length < groups || weights_length < (u64)groups * length * TOGETHER) return;
  if (periods != 16 && periods != 8 && periods != 4) return;
  if (shared_bytes / 4 / periods < rows) return;
  u64 n = blockIdx.x;
  if (n >= tiles_length / TILE) return;
  u64 begin = tiles[TILE * n], end = tiles[TILE * n + 1], to = tiles[TILE * n + 2], count = tiles[TILE * n + 3];
  u64 tile = tiles[TILE * n + 4];
  if (begin > end || end > samples_length || to > out_length || count > out_length - to) return;
  const float* from = samples + begin;
  long long present = (long long)(end - begin);
  // Eight neighbouring samples of four periods at a time: whole sectors of memory, few conflicts of banks.
  float* input = (float*)resample_shared;
  u32 places = (rows + 7) / 8 * 8;
  for (u32 at = threadIdx.x; at < places * periods; at += blockDim.x) {
    u32 four = at / 32 % (periods / 4), row = at / 32 / (periods / 4) * 8 + at % 8;
    u32 period = 4 * four + at / 8 % 4;
    long long place = (long long)((tile * periods + period) * inputs + row) - (long long)before;
    if (row < rows) {
      input[row * periods + period] = place >= 0 && place < present ? __ldg(from + place) : 0.0f;
    }
  }
  __syncthreads();
  u32 fours = periods / TOGETHER;
  for (u32 at = threadIdx.x; at < groups * fours; at += blockDim.x) {
    u32 own = at % fours, group = at / fours;
    const float4* x = resample_shared + min(starts[group], inputs) * fours + own;
    const float4* w = (const float4*)weights + group;
    // Two sums to an output, as on the CPU: shorter chains, and more exact than one.
    float sum[2][TOGETHER][TOGETHER] = {{{0.0f}}};
#pragma unroll 4
    for (u32 j = 0; j < length; ++j) {
      float4 sample = x[j * fours], weight = __ldg(w + (u64)j * groups);
      float s[TOGETHER] = {sample.x, sample.y, sample.z, sample.w};
#pragma unroll
      for (u32 p = 0; p < TOGETHER; ++p) {
        sum[j % 2][p][0] = fmaf(s[p], weight.x, sum[j % 2][p][0]);
        sum[j % 2][p][1] = fmaf(s[p], weight.y, sum[j % 2][p][1]);
        sum[j % 2][p][2] = fmaf(s[p], weight.z, sum[j % 2][p][2]);
        sum[j % 2][p][3] = fmaf(s[p], weight.w, sum[j % 2][p][3]);
      }
    }
#pragma unroll
    for (u32 p = 0; p < TOGETHER; ++p) {
      u64 first = (tile * periods + TOGETHER * own + p) * outputs + TOGETHER * group;
#pragma unroll
      for (u32 k = 0; k < TOGETHER; ++k) {
        if (TOGETHER * group + k < outputs && first + k < count) {
          out[to + first + k] = sum[0][p][k] + sum[1][p][k];
        }
      }
    }
  }
}
