// The third look of the `hq` tracker, a warp to a frame: the period of a clean frame in a window of a few of its own.
// And the contour through what was heard, a thread to a frame.

#include "hq.cuh"

// Periods in the window.
#define OWN_PERIODS 4.0
// Lags on either side of a period that are computed: 69, in at most 19 lanes' fours.
#define REACH 34
// Least autocorrelation at which the look is trusted, and at which it needs no neighbours.
#define CLEAN 0.95
#define SURE 0.99
// Samples on either side that an interpolation takes.
#define DEPTH 30
#define PI 3.14159265358979323846
// Room for the lags' correlations.
#define LAGS 80

extern __shared__ float4 dynamic_shared[];

// One over a distance of at least 1e-9, to less than 1e-14 of it.
__device__ __forceinline__ double reciprocal(double x) {
  double guess = (double)__frcp_rn((float)x);
  return guess * fma(-x, guess, 2.0);
}

// Correlations at the lags from `low` to `high`, of which `base` is the first that has room; 0 beyond.
struct Near {
  const float* r;
  int base, low, high;
};
__device__ __forceinline__ double at_lag(const Near& near, int n) {
  int lag = n < 0 ? -n : n;
  return lag >= near.low && lag <= near.high ? (double)near.r[lag - near.base] : 0.0;
}

// The value between lags, at `place`, by the eight lanes of a quarter of a warp, each with its own place.
__device__ double interpolate(const Near& near, double place, u32 lane) {
  const double span = DEPTH + 0.5;
  // A turn of eight lags.
  const double turn_sin = 0.733885366432199, turn_cos = 0.6792733388972931;
  double whole = floor(place), fraction = place - whole, sum = 0.0;
  int own = (int)(lane % 8);
  double sign = own % 2 == 0 ? 1.0 : -1.0;
#pragma unroll
  for (int side = 0; side < 2; ++side) {
    double distance = (side == 0 ? fraction : 1.0 - fraction) + own, sine, cosine;
    int n = (int)whole + (side == 0 ? -own : 1 + own), step = side == 0 ? -8 : 8;
    sincospi(distance / span, &sine, &cosine);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      if (own + 8 * i < DEPTH) {
        sum += sign * at_lag(near, n) * (0.5 + 0.5 * cosine) * reciprocal(fmax(distance, 1e-9));
      }
      double turned = sine * turn_cos + cosine * turn_sin;
      cosine = cosine * turn_cos - sine * turn_sin;
      sine = turned;
      distance += 8.0;
      n += step;
    }
  }
  for (u32 reach = 4; reach > 0; reach /= 2) sum += __shfl_xor_sync(EVERY, sum, reach);
  return fraction < 1e-9 ? at_lag(near, (int)whole) : sum * (sinpi(fraction) / PI);
}

// Place and height of the top near a lag: parabolas through three ever closer points.
__device__ double2 top_near(const Near& near, double place, u32 lane) {
  u32 point = lane / 8;
  double height = 0.0, side = point == 1 ? -1.0 : point == 2 ? 1.0 : 0.0;
#pragma unroll 1
  for (u32 round = 0; round < 4; ++round) {
    double width = round == 0 ? 0.25 : round == 1 ? 0.05 : 0.01;
    double value = interpolate(near, place + side * width, lane);
    height = __shfl_sync(EVERY, value, 0);
    double before = __shfl_sync(EVERY, value, 8), after = __shfl_sync(EVERY, value, 16);
    double curvature = before + after - 2.0 * height;
    if (round == 3 || curvature >= 0.0) break;
    place += fmin(fmax(0.5 * (before - after) / curvature, -2.0), 2.0) * width;
  }
  return make_double2(place, height);
}

// The frequency near `chosen` in a window of the frame's own periods and the height of the autocorrelation there;
// both 0 where the frame is not clean. `y` has room for `room` windowed samples and zeros behind them, `r` for LAGS.
__device__ double2 third_look(const float* samples, const File& file, u64 centre, double chosen,
                              double sample_rate, u32 room, float* y, float* r, u32 lane) {
  double2 nothing = make_double2(0.0, 0.0);
  double period = sample_rate / chosen;
  double wanted = ceil(fmax(OWN_PERIODS * period, 2.0 * (period + REACH)));
  if (!(wanted < (double)room)) return nothing;
  u32 length = (u32)wanted | 1;
  if (centre < file.begin + length / 2 || centre - length / 2 + length > file.end || length > room) return nothing;
  const float* from = samples + centre - length / 2;
  float mean = 0.0f;
  for (u32 n = lane; n < length; n += 32) {
    float sample = __ldg(from + n);
    y[n] = sample;
    mean += sample;
  }
  mean = sum_of_lanes(mean) / (float)length;
  float turn = 2.0f / (float)(length + 1), energy = 0.0f;
  for (u32 n = lane; n < length; n += 32) {
    float value = (y[n] - mean) * (0.5f - 0.5f * cospif(turn * (float)(n + 1)));
    y[n] = value;
    energy = fmaf(value, value, energy);
  }
  if (lane < 8) y[length + lane] = 0.0f;
  energy = sum_of_lanes(energy);
  if (!(energy > 0.0f)) return nothing;
  __syncwarp();
  int middle = (int)round(period);
  Near near;
  near.low = max(middle - REACH, 0);
  near.high = min(middle + REACH, (int)length - 1);
  near.base = near.low / 4 * 4;
  near.r = r;
  u32 lag = (u32)near.base + 4 * lane;
  if ((int)lag <= near.high) {
    float sum[4] = {0.0f, 0.0f, 0.0f, 0.0f};
    four_lags(y + lag, y, (length - lag + 3) / 4 * 4, sum);
#pragma unroll
    for (u32 i = 0; i < 4; ++i) {
      // A Hann window's own autocorrelation (Boersma 1993).
      float share = (float)(lag + i) / (float)(length + 1), sine, cosine;
      sincospif(2.0f * share, &sine, &cosine);
      float window = (1.0f - share) * (2.0f + cosine) / 3.0f + sine * (float)(0.5 / PI);
      r[4 * lane + i] = sum[i] / fmaxf(window, 1e-3f) / energy;
    }
  }
  __syncwarp();
  // The highest near the middle, the last among equals.
  int low = max(max(middle - middle / 16 - 1, 1), near.low), high = min(middle + middle / 16 + 1, near.high);
  float best = -3.4e38f;
  int place = middle;
  for (int n = low + (int)lane; n <= high; n += 32) {
    float here = r[n - near.base];
    if (here >= best) {
      best = here;
      place = n;
    }
  }
  for (u32 distance = 16; distance > 0; distance /= 2) {
    float other = __shfl_xor_sync(EVERY, best, distance);
    int there = __shfl_xor_sync(EVERY, place, distance);
    if (other > best || (other == best && there > place)) {
      best = other;
      place = there;
    }
  }
  double2 top = top_near(near, (double)place, lane);
  __syncwarp();
  bool trusted = top.y >= CLEAN && top.x > 1.0 && fabs(log2(top.x / period)) < 1.0 / 12.0;
  return trusted ? make_double2(sample_rate / top.x, top.y) : nothing;
}

// Seconds from `centre` to the middle of what a period repeats of the one before; 0 at the edges.
__device__ float late_by(const float* samples, const File& file, u64 centre, double frequency,
                         double sample_rate, u32 lane) {
  u64 period = (u64)round(sample_rate / frequency);
  if (centre < file.begin + period || centre + period > file.end) return 0.0f;
  float moment = 0.0f, weight = 0.0f;
  for (u64 n = lane; n < period; n += 32) {
    float alike = fmaxf(__ldg(samples + centre - period + n) * __ldg(samples + centre + n), 0.0f);
    moment = fmaf(alike, (float)n, moment);
    weight += alike;
  }
  moment = sum_of_lanes(moment);
  weight = sum_of_lanes(weight);
  return weight > 0.0f ? (float)((moment / weight - 0.5 * (double)period) / sample_rate) : 0.0f;
}

// What is heard around every frame, in fours: the frequency, how late, whether it stands as it is, and a zero.
// `track` holds the frequency of the second look and its strength in pairs. A warp's room is for a window with
// zeros behind it and for the lags around its period.
extern "C" __global__ void __launch_bounds__(32 * WARPS)
hq_hearing(const float* samples, u64 samples_length, const u64* starts, u64 starts_length,
           const u64* file_samples, u64 file_samples_length, const u64* file_frames, u64 file_frames_length,
           const float* track, u64 track_length, float* heard, u64 heard_length, u32 half_length,
           u32 warp_floats, double sample_rate) {
  u32 shared_bytes;
  asm("mov.u32 %0, %%dynamic_smem_size;" : "=r"(shared_bytes));
  if (blockDim.x != 32 * WARPS || warp_floats % 4 != 0 || warp_floats < LAGS + 16) return;
  if (shared_bytes / (4 * WARPS) < warp_floats) return;
  u64 frames = min(min(starts_length, track_length / 2), heard_length / 4);
  u32 lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  float* r = (float*)dynamic_shared + warp * warp_floats;
  float* y = r + LAGS;
  u64 step = (u64)gridDim.x * WARPS;
  for (u64 frame = (u64)blockIdx.x * WARPS + warp; frame < frames; frame += step) {
    File file;
    if (!file_of(frame, samples_length, file_samples, file_samples_length, file_frames, file_frames_length,
                 &file)) {
      return;
    }
    double chosen = ((const float2*)track)[frame].x;
    float4 all = make_float4(0.0f, 0.0f, 1.0f, 0.0f);
    if (chosen > 0.0) {
      u64 centre = starts[frame] + half_length;
      double2 found = third_look(samples, file, centre, chosen, sample_rate, warp_floats - LAGS - 8, y, r, lane);
      double frequency = found.x > 0.0 ? found.x : chosen;
      bool sure = found.y >= SURE;
      float late = sure ? 0.0f : late_by(samples, file, centre, frequency, sample_rate, lane);
      all = make_float4((float)frequency, late, sure ? 1.0f : 0.0f, 0.0f);
    }
    if (lane == 0) ((float4*)heard)[frame] = all;
    __syncwarp();
  }
}

// How far from a frame others are looked at, seconds.
#define WIDTH 0.02
// Neighbours further apart than this, octaves, belong to different sounds.
#define JUMP 0.3
// What keeps the line level where all times are the same; squares of WIDTH.
#define LEVEL 0.0125

// A line of least squares, points weighed by how near they are.
struct Line {
  double weight, time, square, height, product;
};
__device__ __forceinline__ void add(Line* line, double time, double height) {
  time /= WIDTH;
  double weight = fmax(1.0 - fabs(time), 0.0);
  line->weight += weight;
  line->time += weight * time;
  line->square += weight * time * time;
  line->height += weight * height;
  line->product += weight * time * height;
}

// The frequencies at the centres of frames `hop` seconds apart: lines through what was heard around those that are not
// sure.
extern "C" __global__ void __launch_bounds__(256)
hq_contour(const float* heard, u64 heard_length, const u64* file_samples, u64 file_samples_length,
           const u64* file_frames, u64 file_frames_length, float* out, u64 out_length, double hop) {
  const float4* all = (const float4*)heard;
  u64 frames = min(heard_length / 4, out_length), step = (u64)gridDim.x * blockDim.x;
  for (u64 frame = (u64)blockIdx.x * blockDim.x + threadIdx.x; frame < frames; frame += step) {
    float4 here = all[frame];
    if (here.z > 0.0f || !(here.x > 0.0f)) {
      out[frame] = here.x;
      continue;
    }
    File file;
    if (!file_of(frame, ~0ull, file_samples, file_samples_length, file_frames, file_frames_length, &file)) return;
    Line line = {0.0, 0.0, 0.0, 0.0, 0.0};
    add(&line, here.y, 0.0);
    for (int side = 0; side < 2; ++side) {
      u64 room = side == 0 ? frame - file.first : min(file.last, frames) - 1 - frame;
      double last = here.x;
      for (u64 n = 1; n <= room; ++n) {
        float4 there = all[side == 0 ? frame - n : frame + n];
        double offset = (side == 0 ? -hop : hop) * (double)n;
        // A frame is heard at most half a period off.
        if (!(fabs(offset) < WIDTH + 0.5 / last) || !(there.x > 0.0f)) break;
        if (!(fabs(log2(there.x / last)) < JUMP)) break;
        last = there.x;
        add(&line, offset + there.y, log2(last / here.x));
      }
    }
    double square = line.square + LEVEL, spread = line.weight * square - line.time * line.time;
    double level = spread <= 1e-9 ? 0.0 : (square * line.height - line.time * line.product) / spread;
    out[frame] = (float)(here.x * exp2(fmin(fmax(level, -JUMP), JUMP)));
  }
}
