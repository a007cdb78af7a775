// Mel features and YIN pitch from samples to results in one kernel each: no spectrum and no
// correlation ever reaches device memory.
//
// A batch is ragged: one flat buffer of samples, and two tables of running totals, samples and
// frames, with one entry more than there are files. Frames are numbered through all files.

typedef unsigned long long u64;
typedef unsigned int u32;

#define THREADS 256
// Complex points that a block transforms: several short frames or one long one.
#define POINTS 1024
#define LONGEST_FRAME 2048
#define MOST_LAGS 768

// Where a frame's samples lie.
struct Place {
  const float* samples;
  long long length;
  long long start;
};

// Finds the file of `frame` by bisection in the running totals.
__device__ bool find_frame(u64 frame, const float* samples, u64 samples_length,
                           const u64* file_samples, u64 file_samples_length, const u64* file_frames,
                           u64 file_frames_length, u32 hop, u32 left, Place* place) {
  if (file_frames_length < 2 || file_samples_length < file_frames_length) return false;
  u64 low = 0, high = file_frames_length - 1;
  if (frame >= file_frames[high]) return false;
  while (high - low > 1) {
    u64 middle = (low + high) / 2;
    if (file_frames[middle] <= frame) low = middle; else high = middle;
  }
  u64 begin = file_samples[low], end = file_samples[low + 1];
  if (begin > end || end > samples_length) return false;
  place->samples = samples + begin;
  place->length = (long long)(end - begin);
  place->start = (long long)((frame - file_frames[low]) * hop) - (long long)left;
  return true;
}

// The sample at `position`, a zero or its mirror image beyond the ends.
__device__ float sample_at(const Place& place, long long position, u32 reflect) {
  if (position < 0 || position >= place.length) {
    if (!reflect || place.length < 1) return 0.0f;
    if (place.length == 1) return place.samples[0];
    long long period = 2 * (place.length - 1);
    position %= period;
    if (position < 0) position += period;
    if (position >= place.length) position = period - position;
  }
  return place.samples[position];
}

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
      if (log_factor != 0.0f) sum = logf(fmaxf(sum, floor_power)) * log_factor;
      if (place_out < out_length) out[place_out] = sum;
    }
    __syncthreads();
  }
}

__device__ float running_sum(float value, u32 lane) {
  for (u32 reach = 1; reach < 32; reach *= 2) {
    float before = __shfl_up_sync(0xffffffffu, value, reach);
    if (lane >= reach) value += before;
  }
  return value;
}

// YIN, one warp to a frame. Lane l holds the lags l + 32 i: stepping by 32 samples makes the sample
// of one lag the next step's sample of the lag before, so that eight products cost two loads.
extern "C" __global__ void __launch_bounds__(128)
yin(const float* samples, u64 samples_length, const u64* file_samples, u64 file_samples_length,
    const u64* file_frames, u64 file_frames_length, float* out, u64 out_length, u32 frame_length,
    u32 hop, u32 left, u32 shortest, u32 longest, float threshold, float sample_rate) {
  __shared__ float frame_shared[4][LONGEST_FRAME];
  __shared__ float lag_shared[4][MOST_LAGS];
  if (blockDim.x != 128 || frame_length > LONGEST_FRAME || longest + 1 > MOST_LAGS) return;
  if (shortest < 1 || shortest >= longest || longest >= frame_length) return;
  u32 lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  float* x = frame_shared[warp];
  float* lag = lag_shared[warp];
  u64 frames = file_frames_length > 0 ? file_frames[file_frames_length - 1] : 0;
  for (u64 frame = (u64)blockIdx.x * 4 + warp; frame < frames; frame += (u64)gridDim.x * 4) {
    Place place;
    if (!find_frame(frame, samples, samples_length, file_samples, file_samples_length, file_frames,
                    file_frames_length, hop, left, &place)) {
      continue;
    }
    for (u32 n = lane; n < frame_length; n += 32) x[n] = sample_at(place, place.start + n, 0);
    __syncwarp();
    for (u32 base = 0; base <= longest; base += 256) {
      float sum[8] = {0.0f};
      for (u32 phase = 0; phase < 32; ++phase) {
        float held[8];
        u32 at = phase + lane + base;
        for (u32 i = 0; i < 8; ++i) {
          u32 index = at + 32 * i;
          held[i] = index < frame_length ? x[index] : 0.0f;
        }
#pragma unroll 8
        for (u32 j = phase; j < frame_length; j += 32) {
          float factor = x[j];
#pragma unroll
          for (u32 i = 0; i < 8; ++i) sum[i] = fmaf(factor, held[i], sum[i]);
#pragma unroll
          for (u32 i = 0; i < 7; ++i) held[i] = held[i + 1];
          u32 index = j + 32 + lane + base + 32 * 7;
          held[7] = index < frame_length ? x[index] : 0.0f;
        }
      }
      for (u32 i = 0; i < 8; ++i) {
        u32 k = base + lane + 32 * i;
        if (k <= longest) lag[k] = sum[i];
      }
    }
    __syncwarp();
    float at_zero = lag[0];
    float energy_before = 0.0f, sum_before = 0.0f;
    for (u32 base = 1; base <= longest; base += 32) {
      u32 k = base + lane;
      bool inside = k <= longest;
      float sample = inside ? x[k - 1] : 0.0f;
      float energy = running_sum(sample * sample, lane) + energy_before;
      float head = k == 1 ? 0.0f : energy;
      float difference = inside ? 2.0f * (at_zero - lag[k]) - head : 0.0f;
      float sum = running_sum(difference, lane) + sum_before;
      if (inside) lag[k] = difference / (sum / (float)k + 1.17549435e-38f);
      energy_before = __shfl_sync(0xffffffffu, energy, 31);
      sum_before = __shfl_sync(0xffffffffu, sum, 31);
    }
    __syncwarp();
    u32 chosen = 0;
    float lowest = 3.4e38f;
    u32 lowest_at = shortest;
    for (u32 base = shortest; base <= longest && chosen == 0; base += 32) {
      u32 k = base + lane;
      bool trough = false;
      if (k <= longest) {
        float here = lag[k];
        if (here < lowest) {
          lowest = here;
          lowest_at = k;
        }
        bool falls = k == shortest || here < lag[k - 1];
        bool rises = k == longest || (k == shortest ? here < lag[k + 1] : here <= lag[k + 1]);
        trough = falls && rises && here < threshold;
      }
      u32 troughs = __ballot_sync(0xffffffffu, trough);
      if (troughs != 0) chosen = base + __ffs((int)troughs) - 1;
    }
    if (chosen == 0) {
      for (u32 reach = 16; reach > 0; reach /= 2) {
        float other = __shfl_down_sync(0xffffffffu, lowest, reach);
        u32 other_at = __shfl_down_sync(0xffffffffu, lowest_at, reach);
        if (other < lowest || (other == lowest && other_at < lowest_at)) {
          lowest = other;
          lowest_at = other_at;
        }
      }
      chosen = __shfl_sync(0xffffffffu, lowest_at, 0);
    }
    if (lane == 0 && frame < out_length) {
      float period = (float)chosen;
      if (chosen > shortest && chosen < longest) {
        float before = lag[chosen - 1], here = lag[chosen], after = lag[chosen + 1];
        float curvature = after + before - 2.0f * here, slope = 0.5f * (after - before);
        if (fabsf(slope) < fabsf(curvature)) period -= slope / curvature;
      }
      out[frame] = sample_rate / period;
    }
    __syncwarp();
  }
}
