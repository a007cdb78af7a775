// What the looks of the `hq` tracker share: frames of files, tops, and correlations at neighbouring lags.

#pragma once

#include "ragged.cuh"

#define WARPS 4
#define EVERY 0xffffffffu
// Candidates of a frame that have room: a lane each beside the unvoiced one's.
#define MOST 31

// Where a frame's file lies, in samples and in frames.
struct File {
  u64 begin, end;
  u64 first, last;
};

// Finds the file of `frame` by bisection in the running totals.
__device__ __forceinline__ bool file_of(u64 frame, u64 samples_length, const u64* file_samples,
                                        u64 file_samples_length, const u64* file_frames,
                                        u64 file_frames_length, File* file) {
  if (file_frames_length < 2 || file_samples_length / 2 < file_frames_length - 1) return false;
  u64 low = 0, high = file_frames_length - 1;
  if (frame >= file_frames[high]) return false;
  while (high - low > 1) {
    u64 middle = (low + high) / 2;
    if (file_frames[middle] <= frame) low = middle; else high = middle;
  }
  *file = {file_samples[2 * low], file_samples[2 * low + 1], file_frames[low], file_frames[low + 1]};
  return file->begin <= file->end && file->end <= samples_length;
}

__device__ __forceinline__ float sum_of_lanes(float x) {
#pragma unroll
  for (int distance = 16; distance > 0; distance /= 2) x += __shfl_xor_sync(EVERY, x, distance);
  return x;
}

// Place and height of the top of a parabola through lag k, which is a top, and its neighbours.
__device__ __forceinline__ double2 parabola(const float* r, u32 k) {
  double before = r[k - 1], here = r[k], after = r[k + 1], slope = after - before;
  double curvature = fmax(2.0 * here - before - after, 2.2250738585072014e-308);
  return make_double2((double)k + 0.5 * slope / curvature, here + 0.125 * slope * slope / curvature);
}

// The sums of b(n) a(n + i) over the first `count` n, a multiple of 4, for four i. Both are aligned to 16 bytes;
// a is read up to four numbers further. Parts of 32 are summed by themselves, which keeps the rounding of long sums
// near that of short ones.
__device__ __forceinline__ void four_lags(const float* a, const float* b, u32 count, float* sum) {
  float4 held = *(const float4*)a;
  for (u32 first = 0; first < count; first += 32) {
    float part[4] = {0.0f, 0.0f, 0.0f, 0.0f};
    u32 end = min(count, first + 32);
#pragma unroll 2
    for (u32 n = first; n < end; n += 4) {
      float4 f = *(const float4*)(b + n), next = *(const float4*)(a + n + 4);
      float h[8] = {held.x, held.y, held.z, held.w, next.x, next.y, next.z, next.w};
      float factor[4] = {f.x, f.y, f.z, f.w};
#pragma unroll
      for (u32 m = 0; m < 4; ++m) {
#pragma unroll
        for (u32 i = 0; i < 4; ++i) part[i] = fmaf(factor[m], h[m + i], part[i]);
      }
      held = next;
    }
#pragma unroll
    for (u32 i = 0; i < 4; ++i) sum[i] += part[i];
  }
}
