// Praat's pitch candidates of a frame: tops of the normalised autocorrelation, exact between samples, a
// warp to a frame. `praat_path.cu` finds the way through them.

#include "autocorrelation.cuh"

#define EVERY 0xffffffffu
// Samples on either side that an interpolation takes.
#define DEPTH 30
#define PI 3.14159265358979323846
// Candidates of a frame that have room: two lanes look for the top of each.
#define MOST 16

extern __shared__ float4 dynamic_shared[];

// One over a distance of at least 1e-9: a single-precision guess and one step of Newton's leave less than 1e-14
// of it, and a division costs several times that.
__device__ __forceinline__ double reciprocal(double x) {
  double guess = (double)__frcp_rn((float)x);
  return guess * fma(-x, guess, 2.0);
}

// What one side adds to the value of `r` (even around entry 0) at `place`: side 0 the samples up to
// the place, side 1 those after it. All lanes take part; the two sides of a candidate are neighbours.
__device__ double interpolate(const float* r, u32 reach, double place, u32 side) {
  double whole = floor(place), fraction = place - whole;
  int n = (int)whole + (int)side;
  int step = side == 0 ? -1 : 1;
  double span = DEPTH + 0.5, distance = side == 0 ? fraction : 1.0 - fraction;
  double turn_sin, turn_cos, sine, cosine, sum = 0.0, sign = 1.0;
  sincospi(1.0 / span, &turn_sin, &turn_cos);
  sincospi(distance / span, &sine, &cosine);
  bool exact = fraction < 1e-9;
  double nearest = 0.0;
  for (int i = 0; i < DEPTH; ++i) {
    u32 index = (u32)(n < 0 ? -n : n);
    double sample = index < reach ? (double)r[index] : 0.0;
    if (i == 0) nearest = sample;
    // Where the place is a sample its own term would be 0 by 0.
    if (!exact) sum += sign * sample * (0.5 + 0.5 * cosine) * reciprocal(distance);
    double turned = sine * turn_cos + cosine * turn_sin;
    cosine = cosine * turn_cos - sine * turn_sin;
    sine = turned;
    distance += 1.0;
    sign = -sign;
    n += step;
  }
  double value = exact ? (side == 0 ? nearest : 0.0) : sum * (sinpi(fraction) / PI);
  return value + __shfl_xor_sync(EVERY, value, 1);
}

// For every frame its peak, the number of its candidates, and their frequencies and strengths in
// pairs, MOST to a frame, the most worthy first. `starts` holds the first sample of each frame;
// `unwindow` one over the window's own correlation. A warp's room is for the padded frame, where the
// tops' lists lie afterwards, and for the lags, which start at `lag_at`.
extern "C" __global__ void __launch_bounds__(32 * WARPS)
praat(const float* samples, u64 samples_length, const u64* starts, u64 starts_length,
      const float* window, u64 window_length, const float* unwindow, u64 unwindow_length,
      float* peaks, u64 peaks_length, u32* counts, u64 counts_length, double* candidates,
      u64 candidates_length, u32 half_length, u32 period, u32 lags, u32 lag_at, u32 warp_floats,
      u32 most, float least, double octave, double sample_rate, double low_hz, double high_hz) {
  if (lags < 3 || most > MOST || unwindow_length < 4 || unwindow_length > 65536) return;
  u32 last = (u32)min((u64)lags, unwindow_length - 1);
  // The interpolation reaches this far beyond the last top.
  u32 needed = (u32)min((u64)lags + DEPTH + 4, unwindow_length);
  Windowed shape = windowed(half_length, period, needed);
  if (!room_holds(shape, lag_at, warp_floats, window_length, unwindow_length, samples_length)) return;
  if (lag_at < 2 * lags + 8 + 2 * MOST) return;
  u32 lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  u32 below = (1u << lane) - 1;
  float* x = (float*)dynamic_shared + warp * warp_floats;
  float* lag = x + lag_at;
  // At most every second lag is a top.
  double* chosen = (double*)x;
  double* place = chosen + MOST;
  double* worth = place + lags / 2 + 1;
  u64 frames = starts_length;
  if (frames > peaks_length || frames > counts_length || frames > candidates_length / (2 * MOST)) return;
  for (u64 frame = (u64)blockIdx.x * WARPS + warp; frame < frames; frame += (u64)gridDim.x * WARPS) {
    u64 start = starts[frame];
    if (start > samples_length - shape.length) continue;
    float peak = autocorrelate(shape, samples + start, window, unwindow, lane, x, lag);
    u32 count = 0;
    for (u32 base = 2; base < last; base += 32) {
      u32 k = base + lane;
      bool top = k < last && lag[k] > least && lag[k] > lag[k - 1] && lag[k] >= lag[k + 1];
      u32 tops = __ballot_sync(EVERY, top);
      if (top) {
        double before = lag[k - 1], here = lag[k], after = lag[k + 1];
        double curvature = fmax(2.0 * here - before - after, 2.2250738585072014e-308);
        double slope = after - before;
        u32 at = count + __popc(tops & below);
        place[at] = (double)k + 0.5 * slope / curvature;
        double height = here + 0.125 * slope * slope / curvature;
        worth[at] = height - octave * log2(low_hz * place[at] / sample_rate);
      }
      count += __popc(tops);
    }
    __syncwarp();
    for (u32 t = lane; t < count; t += 32) {
      u32 rank = 0;
      double own = worth[t];
      for (u32 other = 0; other < count; ++other) {
        rank += worth[other] > own || (worth[other] == own && other < t);
      }
      if (rank < most) chosen[rank] = place[t];
    }
    __syncwarp();
    u32 kept = min(count, most), own = lane / 2, side = lane % 2;
    bool active = own < kept;
    double at = active ? chosen[own] : 1.5;
    if (kept > 0) {
      double height = interpolate(lag, needed, at, side);
      bool going = active;
#pragma unroll 1
      for (u32 round = 0; round < 3; ++round) {
        // Parabolas through three ever closer points.
        double width = round == 0 ? 0.25 : round == 1 ? 0.05 : 0.01;
        double before = interpolate(lag, needed, at - width, side);
        double after = interpolate(lag, needed, at + width, side);
        double curvature = before + after - 2.0 * height;
        if (curvature >= 0.0) going = false;
        double shift = going ? 0.5 * (before - after) / curvature : 0.0;
        double moved = at + fmin(fmax(shift, -2.0), 2.0) * width;
        double there = interpolate(lag, needed, moved, side);
        if (going) {
          at = moved;
          height = there;
        }
      }
      double frequency = sample_rate / at;
      bool valid = active && side == 0 && frequency <= high_hz && frequency >= low_hz;
      u32 all = __ballot_sync(EVERY, valid);
      if (valid) {
        double* to = candidates + 2 * (frame * MOST + __popc(all & below));
        to[0] = frequency;
        to[1] = height > 1.0 ? 1.0 / height : height;
      }
      kept = __popc(all);
    }
    if (lane == 0) {
      peaks[frame] = peak;
      counts[frame] = kept;
    }
    __syncwarp();
  }
}
