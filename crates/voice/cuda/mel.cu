// Mel features of any power-of-two transform, from samples to features in one kernel: no spectrum
// ever reaches device memory. `mel512.cu` is the fast form of the one size that speech uses.

#include "ragged.cuh"

#define THREADS 256
// Complex points that a block transforms: several short frames or one long one.
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

// Mel powers or their logarithms, [frame, filter]. `spans` holds first bin, first weight and number
// of weights of each filter; `roots` holds exp(-2 pi i k / transform) as pairs, k < transform.
// log_factor 0 leaves powers as they are.
extern "C" __global__ void __launch_bounds__(THREADS)
mel(const float* samples, u64 samples_length, const u64* file_samples, u64 file_samples_length,
    const u64* file_frames, u64 file_frames_length, const float* window, u64 window_length,
    const float* roots, u64 roots_length, const u32* spans, u64 spans_length, const float* weights,
    u64 weights_length, float* out, u64 out_length, u32 transform_length, u32 hop, u32 left,
    u32 reflect, float log_factor, float floor_power) {
  __shared__ float2 shared[2 * POINTS];
  u32 points = transform_length / 2;
  if (blockDim.x != THREADS || points < 4 || points > POINTS || (points & (points - 1)) != 0) return;
  if (window_length < transform_length || roots_length < 2 * (u64)transform_length) return;
  u32 group_threads = points / 4;
  u32 groups = THREADS / group_threads;
  u32 group = threadIdx.x / group_threads;
  u32 t = threadIdx.x % group_threads;
  u64 filters = spans_length / 3;
  u64 frames = file_frames_length > 0 ? file_frames[file_frames_length - 1] : 0;
  const float2* root = (const float2*)roots;
  float2* front = shared + group * points;
  float2* back = shared + POINTS + group * points;
  for (u64 first = (u64)blockIdx.x * groups; first < frames; first += (u64)gridDim.x * groups) {
    u64 frame = first + group;
    Place place;
    bool active = find_frame(frame, samples, samples_length, file_samples, file_samples_length,
                             file_frames, file_frames_length, hop, left, &place);
    for (u32 n = t; n < points; n += group_threads) {
      float2 pair = make_float2(0.0f, 0.0f);
      if (active) {
        pair.x = sample_at(place, place.start + 2 * n, reflect) * window[2 * n];
        pair.y = sample_at(place, place.start + 2 * n + 1, reflect) * window[2 * n + 1];
      }
      front[n] = pair;
    }
    __syncthreads();
    float2* bins = transform(front, back, points, t, root);
    float* power = (float*)(bins == front ? back : front);
    // Bins 0 to points: 2 points floats are free in the other half.
    for (u32 k = t; k <= points / 2; k += group_threads) {
      float2 a = bins[k], b = bins[(points - k) & (points - 1)];
      if (k == 0) {
        float sum = a.x + a.y, difference = a.x - a.y;
        power[0] = sum * sum;
        power[points] = difference * difference;
        continue;
      }
      float2 even = make_float2(0.5f * (a.x + b.x), 0.5f * (a.y - b.y));
      float2 odd = turn(make_float2(0.5f * (a.y + b.y), 0.5f * (b.x - a.x)), root[k]);
      float2 low = add(even, odd), high = sub(even, odd);
      power[points - k] = fmaf(high.y, high.y, high.x * high.x);
      power[k] = fmaf(low.y, low.y, low.x * low.x);
    }
    __syncthreads();
    for (u64 filter = t; active && filter < filters; filter += group_threads) {
      u32 bin = spans[3 * filter], weight = spans[3 * filter + 1], count = spans[3 * filter + 2];
      u64 place_out = frame * filters + filter;
      if ((u64)bin + count > points + 1 || (u64)weight + count > weights_length) continue;
      float sum = 0.0f;
      for (u32 i = 0; i < count; ++i) sum = fmaf(power[bin + i], weights[weight + i], sum);
      // `sum - sum` carries a NaN past the maximum, as on the CPU.
      if (log_factor != 0.0f) sum = fmaf(logf(fmaxf(sum, floor_power)), log_factor, sum - sum);
      if (place_out < out_length) out[place_out] = sum;
    }
    __syncthreads();
  }
}
