// The second look of the `hq` tracker: with which periods the sound repeats itself at a voiced frame's centre, a warp
// to a frame, four lags to a lane.

#include "hq.cuh"

// Octaves on either side of the frequency in question that are tried.
#define SPAN 0.42
// The shortest stretch that is compared, samples.
#define SHORTEST 24
// Least correlation of a candidate.
#define LEAST 0.3f
// How far off the instants before and after are, periods.
#define ASIDE 0.35

extern __shared__ float4 dynamic_shared[];

// The frequency of a frame's first look, 0 where it is unvoiced: `track` holds frequency and strength in pairs.
// Pauses of at most `longest` frames are bridged where the interval over them is below `interval` octaves.
__device__ __forceinline__ double bridged(const float2* track, u64 frame, const File& file, u32 longest,
                                          double interval) {
  float own = track[frame].x;
  if (own > 0.0f) return own;
  u64 before = frame, after = frame;
  while (before > file.first && frame - before < longest && !(track[before].x > 0.0f)) --before;
  while (after + 1 < file.last && after - frame < longest && !(track[after].x > 0.0f)) ++after;
  double low = track[before].x, high = track[after].x;
  if (!(low > 0.0 && high > 0.0) || after - before - 1 > longest) return 0.0;
  double octaves = log2(high / low);
  if (!(fabs(octaves) < interval)) return 0.0;
  return low * exp2((double)(frame - before) / (double)(after - before) * octaves);
}

// What a stretch of samples adds up to, and their squares.
struct Moments {
  float sum, square;
};
__device__ __forceinline__ Moments add(Moments m, float x) { return {m.sum + x, fmaf(x, x, m.square)}; }
__device__ __forceinline__ Moments of_lanes(Moments m) { return {sum_of_lanes(m.sum), sum_of_lanes(m.square)}; }
// The moments of all lanes before this one, and of all lanes.
__device__ __forceinline__ Moments before_lane(Moments own, u32 lane, Moments* all) {
  Moments run = own;
  for (u32 reach = 1; reach < 32; reach *= 2) {
    float sum = __shfl_up_sync(EVERY, run.sum, reach), square = __shfl_up_sync(EVERY, run.square, reach);
    if (lane >= reach) run = {run.sum + sum, run.square + square};
  }
  *all = {__shfl_sync(EVERY, run.sum, 31), __shfl_sync(EVERY, run.square, 31)};
  Moments before = {__shfl_up_sync(EVERY, run.sum, 1), __shfl_up_sync(EVERY, run.square, 1)};
  return lane > 0 ? before : Moments{0.0f, 0.0f};
}

__device__ __forceinline__ float coefficient(float product, Moments a, Moments b, float count) {
  float energy_a = a.square - a.sum * a.sum / count, energy_b = b.square - b.sum * b.sum / count;
  float energy = energy_a * energy_b;
  return energy <= 1e-24f ? 0.0f : (product - a.sum * b.sum / count) / sqrtf(energy);
}

// The samples around a frame's centre, as far as the file goes.
struct Around {
  const float* centre;
  int before, after;
};
__device__ __forceinline__ float sample_at(const Around& around, int n, float otherwise) {
  return n >= -around.before && n < around.after ? __ldg(around.centre + n) : otherwise;
}

// The correlation of two stretches of SHORTEST samples, `lag` apart around an instant; a lane on its own.
__device__ float correlate_short(const Around& around, int instant, int lag, float mean) {
  int first = instant - (lag + SHORTEST) / 2;
  if (first < -around.before || first + lag + SHORTEST > around.after) return 0.0f;
  Moments a = {0.0f, 0.0f}, b = a;
  float product = 0.0f;
  for (int n = 0; n < SHORTEST; ++n) {
    float x = around.centre[first + n] - mean, y = around.centre[first + lag + n] - mean;
    a = add(a, x);
    b = add(b, y);
    product = fmaf(x, y, product);
  }
  return coefficient(product, a, b, (float)SHORTEST);
}

// Of every frame whose first look, bridged, found a frequency: that and the frequencies of repetition around it, with
// their correlations, in pairs, MOST to a frame, and a peak beyond all loudness; of the others none, and silence.
// `starts` holds the first sample of each frame, its centre `half_length` further. A warp's room is for the
// `longest_lag` samples before an instant, as many after it, and the correlations.
extern "C" __global__ void __launch_bounds__(32 * WARPS)
hq_repetition(const float* samples, u64 samples_length, const u64* starts, u64 starts_length,
              const u64* file_samples, u64 file_samples_length, const u64* file_frames,
              u64 file_frames_length, const float* track, u64 track_length, u32* counts, u64 counts_length,
              double* candidates, u64 candidates_length, float* peaks, u64 peaks_length, u32 half_length,
              u32 longest_lag, u32 warp_floats, u32 longest_pause, double interval, double sample_rate,
              double low_hz, double high_hz) {
  u32 shared_bytes;
  asm("mov.u32 %0, %%dynamic_smem_size;" : "=r"(shared_bytes));
  if (blockDim.x != 32 * WARPS || longest_lag % 4 != 0 || longest_lag > 65536 || warp_floats % 4 != 0) return;
  if (warp_floats < 3 * longest_lag + 8 || shared_bytes / (4 * WARPS) < warp_floats) return;
  u64 frames = min(min(starts_length, track_length / 2), min(counts_length, peaks_length));
  frames = min(frames, candidates_length / (2 * MOST));
  u32 lane = threadIdx.x % 32, warp = threadIdx.x / 32, below = (1u << lane) - 1;
  float* past = (float*)dynamic_shared + warp * warp_floats;
  float* future = past + longest_lag + 4;
  float* r = future + longest_lag + 4;
  u64 step = (u64)gridDim.x * WARPS;
  for (u64 frame = (u64)blockIdx.x * WARPS + warp; frame < frames; frame += step) {
    File file;
    if (!file_of(frame, samples_length, file_samples, file_samples_length, file_frames, file_frames_length,
                 &file)) {
      return;
    }
    file.last = min(file.last, frames);
    double near = bridged((const float2*)track, frame, file, longest_pause, interval);
    double period = near > 0.0 ? sample_rate / near : 0.0;
    u32 low = (u32)fmax(period * exp2(-SPAN), sample_rate / high_hz);
    u32 high = (u32)fmin(ceil(period * exp2(SPAN)), sample_rate / low_hz + 1.0) + 1;
    low = low > 2 ? low - 1 : 1;
    // Lanes hold the four lags up to a multiple of 4.
    u32 first = (low + 3) / 4 * 4, end = (high + 3) / 4 * 4;
    u64 centre = starts[frame] + half_length;
    bool voiced = near > 0.0 && high > low && end <= longest_lag && centre >= file.begin && centre <= file.end;
    if (lane == 0) peaks[frame] = voiced ? 3.4e38f : 0.0f;
    if (!voiced) {
      if (lane == 0) counts[frame] = 0;
      continue;
    }
    const u64 far = 1 << 20;
    Around around = {samples + centre, (int)min(centre - file.begin, far), (int)min(file.end - centre, far)};
    int aside = (int)(ASIDE * period);
    float mean = 0.0f;
    for (u32 n = lane; n < 2 * high; n += 32) mean += sample_at(around, (int)n - (int)high, 0.0f);
    mean = sum_of_lanes(mean) / (float)(2 * high);
    for (int which = 0; which < 3; ++which) {
      int instant = which == 0 ? 0 : which == 1 ? -aside : aside;
      float weight = which == 0 ? 0.5f : 0.25f;
      for (u32 n = lane; n < end; n += 32) {
        past[n] = sample_at(around, instant - (int)end + (int)n, mean) - mean;
        future[n] = sample_at(around, instant + (int)n, mean) - mean;
      }
      // What is not past does not count.
      if (lane < 4) past[end + lane] = 0.0f;
      __syncwarp();
      Moments a = {0.0f, 0.0f}, b = a;
      for (u32 n = lane; n < first - 4; n += 32) {
        a = add(a, past[end - 1 - n]);
        b = add(b, future[n]);
      }
      a = of_lanes(a);
      b = of_lanes(b);
      for (u32 base = first; base <= end; base += 128) {
        u32 top = base + 4 * lane;
        bool active = top <= end;
        float4 x = make_float4(0.0f, 0.0f, 0.0f, 0.0f), y = x;
        float sum[4] = {0.0f, 0.0f, 0.0f, 0.0f};
        if (active) {
          x = *(const float4*)(past + end - top);
          y = *(const float4*)(future + top - 4);
          four_lags(past + end - top, future, top, sum);
        }
        float behind[4] = {x.w, x.z, x.y, x.x}, ahead[4] = {y.x, y.y, y.z, y.w};
        Moments own_a = {0.0f, 0.0f}, own_b = own_a, all_a, all_b;
#pragma unroll
        for (u32 i = 0; i < 4; ++i) {
          own_a = add(own_a, behind[i]);
          own_b = add(own_b, ahead[i]);
        }
        Moments upto_a = before_lane(own_a, lane, &all_a), upto_b = before_lane(own_b, lane, &all_b);
        upto_a = {upto_a.sum + a.sum, upto_a.square + a.square};
        upto_b = {upto_b.sum + b.sum, upto_b.square + b.square};
#pragma unroll
        for (u32 i = 0; i < 4; ++i) {
          u32 lag = top - 3 + i;
          upto_a = add(upto_a, behind[i]);
          upto_b = add(upto_b, ahead[i]);
          if (!active || lag < low || lag > high) continue;
          bool inside = instant - (int)lag >= -around.before && instant + (int)lag <= around.after;
          float value = inside ? weight * coefficient(sum[3 - i], upto_a, upto_b, (float)lag) : 0.0f;
          r[lag - low] = which == 0 ? value : r[lag - low] + value;
        }
        a = {a.sum + all_a.sum, a.square + all_a.square};
        b = {b.sum + all_b.sum, b.square + all_b.square};
      }
      __syncwarp();
    }
    for (u32 lag = low + lane; lag < SHORTEST && lag <= high; lag += 32) {
      float beside = correlate_short(around, -aside, lag, mean) + correlate_short(around, aside, lag, mean);
      r[lag - low] = 0.5f * (correlate_short(around, 0, lag, mean) + 0.5f * beside);
    }
    __syncwarp();
    u32 lags = high - low + 1, count = 0;
    // At most every second lag is a top.
    u32* tops = (u32*)past;
    for (u32 base = 1; base + 1 < lags; base += 32) {
      u32 k = base + lane;
      bool top = k + 1 < lags && r[k] > LEAST && r[k] > r[k - 1] && r[k] >= r[k + 1];
      u32 all = __ballot_sync(EVERY, top);
      if (top) tops[count + __popc(all & below)] = k;
      count += __popc(all);
    }
    __syncwarp();
    double2* to = (double2*)candidates + frame * MOST;
    if (lane == 0) {
      double place = fmin(fmax(period - low, 0.0), (double)(lags - 1));
      u32 left = (u32)place;
      double here = r[left], there = r[min(left + 1, lags - 1)];
      to[0] = make_double2(near, here + (place - left) * (there - here));
    }
    u32 kept = 1;
    for (u32 base = 0; base < count; base += 32) {
      u32 t = base + lane, k = tops[min(t, count - 1)], rank = 0;
      // Noise may have more tops than there is room for: the highest stay.
      for (u32 other = 0; count >= MOST && other < count; ++other) {
        float there = r[tops[other]];
        rank += there > r[k] || (there == r[k] && other < t);
      }
      bool stays = t < count && rank < MOST - 1;
      u32 all = __ballot_sync(EVERY, stays);
      if (stays) {
        double2 top = parabola(r, k);
        to[kept + __popc(all & below)] = make_double2(sample_rate / (low + top.x), top.y);
      }
      kept += __popc(all);
    }
    if (lane == 0) counts[frame] = kept;
    __syncwarp();
  }
}
