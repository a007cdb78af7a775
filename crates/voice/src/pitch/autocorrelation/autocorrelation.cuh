// The normalised autocorrelation of a frame under a window, a warp to a frame: that of the windowed frame over
// that of the window (Boersma 1993).

#pragma once

#include "correlation.cuh"

// What is computed of a frame: `needed` lags of 2 half_length samples, of which `period` on either side of the
// middle make the mean.
struct Windowed {
  u32 half_length, period, needed;
  u32 length, padded, passes, reach;
};

__device__ __forceinline__ Windowed windowed(u32 half_length, u32 period, u32 needed) {
  Windowed w = {half_length, period, needed};
  w.length = 2 * half_length;
  w.padded = (w.length + 31) / 32 * 32;
  w.passes = (needed + PASS - 1) / PASS;
  w.reach = w.padded + w.passes * PASS + 8;
  return w;
}

// Whether a warp's room and the tables hold it: the padded frame first, the lags from `lag_at` on.
__device__ __forceinline__ bool room_holds(const Windowed& w, u32 lag_at, u32 warp_floats, u64 window_length,
                                           u64 unwindow_length, u64 samples_length) {
  u32 shared_bytes;
  asm("mov.u32 %0, %%dynamic_smem_size;" : "=r"(shared_bytes));
  if (w.half_length < w.period || w.half_length > 32768 || w.needed > 65536) return false;
  if (blockDim.x != 32 * WARPS || window_length < w.length || unwindow_length < w.needed) return false;
  if (lag_at % 4 != 0 || lag_at < slot(w.reach) + 4) return false;
  if (warp_floats % 4 != 0 || warp_floats < lag_at + w.passes * PASS) return false;
  return shared_bytes / (4 * WARPS) >= warp_floats && w.length <= samples_length;
}

// Leaves the lags of the frame at `from` in `lag`, 1 at lag 0, and returns the largest magnitude in the middle of
// it; `x` has room for the frame.
__device__ __forceinline__ float autocorrelate(const Windowed& w, const float* from, const float* window,
                                               const float* unwindow, u32 lane, float* x, float* lag) {
  double sum = 0.0;
  for (u32 n = lane; n < w.length; n += 32) {
    float sample = __ldg(from + n);
    x[slot(n)] = sample;
    if (n >= w.half_length - w.period && n < w.half_length + w.period) sum += (double)sample;
  }
  for (u32 n = w.length + lane; n < w.reach; n += 32) x[slot(n)] = 0.0f;
  for (u32 distance = 16; distance > 0; distance /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, distance);
  float mean = (float)(sum / (double)(2 * w.period)), peak = 0.0f;
  for (u32 n = lane; n < w.length; n += 32) {
    float sample = x[slot(n)] - mean;
    if (n >= w.half_length - w.period / 2 && n < w.half_length + w.period / 2 + 1) {
      peak = fmaxf(peak, fabsf(sample));
    }
    x[slot(n)] = sample * window[n];
  }
  for (u32 distance = 16; distance > 0; distance /= 2) {
    peak = fmaxf(peak, __shfl_xor_sync(0xffffffffu, peak, distance));
  }
  __syncwarp();
  correlate(x, w.padded, w.passes, lane, lag);
  __syncwarp();
  float whole = fmaxf(lag[0], 1.17549435e-38f);
  __syncwarp();
  for (u32 n = lane; n < w.needed; n += 32) lag[n] = lag[n] * unwindow[n] / whole;
  __syncwarp();
  return peak;
}
