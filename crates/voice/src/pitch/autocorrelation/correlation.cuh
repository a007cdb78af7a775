// How a frame resembles itself some samples later, a warp to a frame.
//
// The correlation is the cost of every pitch tracker. Lane l sums the lags 8 l to 8 l + 7 of a pass of
// 256; eight samples times the sixteen that these lags reach are 64 products for four loads of 16
// bytes.

#pragma once

#include "ragged.cuh"

#define WARPS 4
#define PASS 256

__device__ __forceinline__ float running_sum(float value, u32 lane) {
  for (u32 reach = 1; reach < 32; reach *= 2) {
    float before = __shfl_up_sync(0xffffffffu, value, reach);
    if (lane >= reach) value += before;
  }
  return value;
}

// Where sample n lies: 4 floats of padding to every 32 keep the lanes' strides of 8 apart.
__device__ __forceinline__ u32 slot(u32 n) { return n + (n / 32) * 4; }

__device__ __forceinline__ void load_eight(const float* from, float* to) {
  float4 a = ((const float4*)from)[0], b = ((const float4*)from)[1];
  to[0] = a.x; to[1] = a.y; to[2] = a.z; to[3] = a.w;
  to[4] = b.x; to[5] = b.y; to[6] = b.z; to[7] = b.w;
}

// The sums of x(n) x(n + lag) at `passes` times 256 lags. `length` is a multiple of 32; behind it x
// has zeros for the furthest lag and eight more.
__device__ __forceinline__ void correlate(const float* x, u32 length, u32 passes, u32 lane, float* lag) {
  for (u32 pass = 0; pass < passes; ++pass) {
    u32 base = pass * PASS + 8 * lane;
    float sum[8] = {0.0f}, held[16], factor[8];
    load_eight(x + slot(base), held);
    const float* reached[4];
#pragma unroll
    for (u32 q = 0; q < 4; ++q) reached[q] = x + slot(base + 8 + 8 * q);
    // Further on the lags of this pass reach zeros alone. 32 samples are 36 floats, wherever they start.
    u32 end = length > pass * PASS ? (length - pass * PASS) / 32 * 36 : 0;
    for (u32 offset = 0; offset < end; offset += 36) {
#pragma unroll
      for (u32 q = 0; q < 4; ++q) {
        load_eight(x + offset + 8 * q, factor);
        load_eight(reached[q] + offset, held + 8);
#pragma unroll
        for (u32 n = 0; n < 8; ++n) {
#pragma unroll
          for (u32 i = 0; i < 8; ++i) sum[i] = fmaf(factor[n], held[n + i], sum[i]);
        }
#pragma unroll
        for (u32 i = 0; i < 8; ++i) held[i] = held[i + 8];
      }
    }
#pragma unroll
    for (u32 i = 0; i < 8; i += 4) {
      *(float4*)(lag + base + i) = make_float4(sum[i], sum[i + 1], sum[i + 2], sum[i + 3]);
    }
  }
}

// Takes a frame of the batch into shared memory.
__device__ __forceinline__ void take_frame(const Place& place, u32 frame_length, u32 lane, float* x) {
  if (place.start >= 0 && place.start + frame_length <= place.length) {
    const float* from = place.samples + place.start;
#pragma unroll 8
    for (u32 n = lane; n < frame_length; n += 32) x[slot(n)] = __ldg(from + n);
  } else {
    for (u32 n = lane; n < frame_length; n += 32) x[slot(n)] = sample_at(place, place.start + n, 0);
  }
}

// From correlations to YIN's normalised difference, in place, at the lags from 1 to `longest`.
__device__ __forceinline__ void normalise(const float* x, float* lag, u32 longest, u32 lane) {
  float at_zero = lag[0];
  float energy_before = 0.0f, sum_before = 0.0f;
  for (u32 base = 1; base <= longest; base += 32) {
    u32 k = base + lane;
    bool inside = k <= longest;
    float sample = inside ? x[slot(k - 1)] : 0.0f;
    float energy = running_sum(sample * sample, lane) + energy_before;
    float head = k == 1 ? 0.0f : energy;
    float difference = inside ? 2.0f * (at_zero - lag[k]) - head : 0.0f;
    float sum = running_sum(difference, lane) + sum_before;
    if (inside) lag[k] = difference / (sum / (float)k + 1.17549435e-38f);
    energy_before = __shfl_sync(0xffffffffu, energy, 31);
    sum_before = __shfl_sync(0xffffffffu, sum, 31);
  }
}

// Whether lag k is a trough: below the one before, not above the one after, the ends measured
// against their one neighbour.
__device__ __forceinline__ bool is_trough(const float* lag, u32 k, u32 shortest, u32 longest) {
  float here = lag[k];
  bool falls = k == shortest || here < lag[k - 1];
  bool rises = k == longest || (k == shortest ? here < lag[k + 1] : here <= lag[k + 1]);
  return falls && rises;
}

// How far from lag k, which is neither the first nor the last, a parabola has its vertex.
__device__ __forceinline__ float parabolic_shift(const float* lag, u32 k) {
  float before = lag[k - 1], here = lag[k], after = lag[k + 1];
  float curvature = after + before - 2.0f * here, slope = 0.5f * (after - before);
  return fabsf(slope) < fabsf(curvature) ? -slope / curvature : 0.0f;
}
