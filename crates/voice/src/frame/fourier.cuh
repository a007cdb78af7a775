// Fourier transforms of frames in shared memory, several short ones or one long one to a block.

#pragma once

#include "ragged.cuh"

#define THREADS 256
// Complex points that a block transforms.
#define POINTS 1024

__device__ float2 turn(float2 value, float2 w) {
  return make_float2(fmaf(-value.y, w.y, value.x * w.x), fmaf(value.y, w.x, value.x * w.y));
}

__device__ float2 add(float2 a, float2 b) { return make_float2(a.x + b.x, a.y + b.y); }
__device__ float2 sub(float2 a, float2 b) { return make_float2(a.x - b.x, a.y - b.y); }

// Transforms `points` complex numbers with points/4 threads, in order, ping-pong between the two
// halves of shared memory; returns the half that holds the result. `root` holds exp(-2 pi i k /
// (2 points)).
__device__ float2* transform(float2* from, float2* to, u32 points, u32 t, const float2* root) {
  u32 quarter = points / 4;
  u32 span = 1;
  for (; span * 4 <= points; span *= 4) {
    u32 k = t & (span - 1);
    u32 step = 2 * points / (span * 4);
    float2 a = from[t];
    float2 b = turn(from[t + quarter], root[k * step]);
    float2 c = turn(from[t + 2 * quarter], root[2 * k * step]);
    float2 d = turn(from[t + 3 * quarter], root[3 * k * step]);
    float2 ac = add(a, c), a_c = sub(a, c), bd = add(b, d), b_d = sub(b, d);
    float2* out = to + (t - k) * 4 + k;
    out[0] = add(ac, bd);
    out[span] = make_float2(a_c.x + b_d.y, a_c.y - b_d.x);
    out[2 * span] = sub(ac, bd);
    out[3 * span] = make_float2(a_c.x - b_d.y, a_c.y + b_d.x);
    __syncthreads();
    float2* swap = from; from = to; to = swap;
  }
  if (span < points) {
    // An odd power of two ends with a radix-2 pass.
    for (u32 j = t; j < points / 2; j += quarter) {
      float2 a = from[j], b = turn(from[j + points / 2], root[2 * j]);
      to[j] = add(a, b);
      to[j + points / 2] = sub(a, b);
    }
    __syncthreads();
    from = to;
  }
  return from;
}

// Samples 2n and 2n + 1 of a frame under the window as complex number n, zeros where there is no frame.
__device__ __forceinline__ void take_windowed(const Place& place, bool active, u32 points, u32 t, u32 threads,
                                              u32 reflect, const float* window, float2* to) {
  for (u32 n = t; n < points; n += threads) {
    float2 pair = make_float2(0.0f, 0.0f);
    if (active) {
      pair.x = sample_at(place, place.start + 2 * n, reflect) * window[2 * n];
      pair.y = sample_at(place, place.start + 2 * n + 1, reflect) * window[2 * n + 1];
    }
    to[n] = pair;
  }
}

// Bins k and points - k of a real frame, of whose samples two to a number `bins` is the transform;
// 0 < k <= points / 2.
__device__ __forceinline__ void split(const float2* bins, u32 points, u32 k, const float2* root, float2* low,
                                      float2* high) {
  float2 a = bins[k], b = bins[(points - k) & (points - 1)];
  float2 even = make_float2(0.5f * (a.x + b.x), 0.5f * (a.y - b.y));
  float2 odd = turn(make_float2(0.5f * (a.y + b.y), 0.5f * (b.x - a.x)), root[k]);
  *low = add(even, odd);
  *high = sub(even, odd);
}

// The powers of bins 0 to points of a real frame, of whose samples two to a number `bins` is the transform.
__device__ __forceinline__ void powers(const float2* bins, u32 points, u32 t, u32 threads, const float2* root,
                                       float* power) {
  for (u32 k = t; k <= points / 2; k += threads) {
    if (k == 0) {
      float sum = bins[0].x + bins[0].y, difference = bins[0].x - bins[0].y;
      power[0] = sum * sum;
      power[points] = difference * difference;
      continue;
    }
    float2 low, high;
    split(bins, points, k, root, &low, &high);
    power[points - k] = fmaf(high.y, high.y, high.x * high.x);
    power[k] = fmaf(low.y, low.y, low.x * low.x);
  }
}
