// The first look of the `hq` tracker: candidates from autocorrelations averaged over neighbouring frames, and from
// the frame's own where they are high. A warp to a frame.

#include "autocorrelation.cuh"
#include "hq.cuh"

// Frames on either side of a frame that are averaged with it.
#define AROUND 3
// Tops that are taken from one autocorrelation.
#define KEPT 10

extern __shared__ float4 dynamic_shared[];

// For every frame its autocorrelation, in rows of `stride` lags, and its peak. `starts` holds the first sample of
// each frame; `unwindow` one over the window's own correlation.
extern "C" __global__ void __launch_bounds__(32 * WARPS)
hq_correlations(const float* samples, u64 samples_length, const u64* starts, u64 starts_length,
                const float* window, u64 window_length, const float* unwindow, u64 unwindow_length,
                float* rows, u64 rows_length, float* peaks, u64 peaks_length, u32 half_length, u32 period,
                u32 stride, u32 lag_at, u32 warp_floats) {
  Windowed shape = windowed(half_length, period, stride);
  if (!room_holds(shape, lag_at, warp_floats, window_length, unwindow_length, samples_length)) return;
  if (stride < 1 || starts_length > peaks_length || starts_length > rows_length / stride) return;
  u32 lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  float* x = (float*)dynamic_shared + warp * warp_floats;
  float* lag = x + lag_at;
  u64 step = (u64)gridDim.x * WARPS;
  for (u64 frame = (u64)blockIdx.x * WARPS + warp; frame < starts_length; frame += step) {
    u64 start = starts[frame];
    if (start > samples_length - shape.length) continue;
    float peak = autocorrelate(shape, samples + start, window, unwindow, lane, x, lag);
    for (u32 n = lane; n < stride; n += 32) rows[frame * stride + n] = lag[n];
    if (lane == 0) peaks[frame] = peak;
    __syncwarp();
  }
}

// What makes a top a candidate.
struct Rule {
  double octave, rate, low_hz, high_hz;
};

// Lists of a warp in shared memory.
struct Lists {
  double* worth;
  double2* found;
  u32* lags;
};

// The candidates of an autocorrelation whose tops at the lags from 2 to before `last` are above `least`: frequency
// and strength of the most worthy in `found`, and how many there are.
__device__ __forceinline__ u32 candidates_of(const float* r, u32 last, float least, const Rule& rule,
                                             const Lists& lists, u32 lane) {
  u32 below = (1u << lane) - 1, count = 0;
  for (u32 base = 2; base < last; base += 32) {
    u32 k = base + lane;
    bool top = k < last && r[k] > least && r[k] > r[k - 1] && r[k] >= r[k + 1];
    u32 tops = __ballot_sync(EVERY, top);
    if (top) lists.lags[count + __popc(tops & below)] = k;
    count += __popc(tops);
  }
  __syncwarp();
  for (u32 t = lane; t < count; t += 32) {
    double2 top = parabola(r, lists.lags[t]);
    lists.worth[t] = top.y - rule.octave * log2(rule.low_hz * top.x / rule.rate);
  }
  __syncwarp();
  for (u32 t = lane; t < count; t += 32) {
    u32 rank = 0;
    double own = lists.worth[t];
    for (u32 other = 0; other < count; ++other) {
      rank += lists.worth[other] > own || (lists.worth[other] == own && other < t);
    }
    if (rank < KEPT) lists.found[rank] = parabola(r, lists.lags[t]);
  }
  __syncwarp();
  double2 own = lists.found[min(lane, (u32)KEPT - 1)];
  own = make_double2(rule.rate / own.x, own.y > 1.0 ? 1.0 / own.y : own.y);
  bool valid = lane < min(count, (u32)KEPT) && own.x <= rule.high_hz && own.x >= rule.low_hz;
  u32 all = __ballot_sync(EVERY, valid);
  if (valid) lists.found[__popc(all & below)] = own;
  __syncwarp();
  return __popc(all);
}

// The number of candidates of every frame, their frequencies and strengths in pairs, MOST to a frame, and the
// greatest strength. Candidates nearer than `same`, a ratio, are one. A warp's room is for two rows and the lists of their tops, of which at most every second lag
// is one.
extern "C" __global__ void __launch_bounds__(32 * WARPS)
hq_candidates(const float* rows, u64 rows_length, const u64* file_samples, u64 file_samples_length,
              const u64* file_frames, u64 file_frames_length, u32* counts, u64 counts_length,
              double* candidates, u64 candidates_length, float* confidence, u64 confidence_length,
              u32 stride, u32 last, u32 warp_floats, float least, float least_alone, double same,
              double octave, double sample_rate, double low_hz, double high_hz) {
  u32 shared_bytes;
  asm("mov.u32 %0, %%dynamic_smem_size;" : "=r"(shared_bytes));
  if (blockDim.x != 32 * WARPS || stride % 4 != 0 || stride > 65536 || last < 2 || last >= stride) return;
  if (warp_floats % 4 != 0 || warp_floats < 3 * stride + stride / 2 + 4 * KEPT) return;
  if (shared_bytes / (4 * WARPS) < warp_floats) return;
  u64 frames = min(min(rows_length / stride, counts_length), min(candidates_length / (2 * MOST), confidence_length));
  u32 lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  float* mean = (float*)dynamic_shared + warp * warp_floats;
  float* alone = mean + stride;
  Lists lists;
  lists.found = (double2*)(alone + stride);
  lists.worth = (double*)(lists.found + KEPT);
  lists.lags = (u32*)(lists.worth + stride / 2);
  Rule rule = {octave, sample_rate, low_hz, high_hz};
  u64 step = (u64)gridDim.x * WARPS;
  for (u64 frame = (u64)blockIdx.x * WARPS + warp; frame < frames; frame += step) {
    File file;
    if (!file_of(frame, ~0ull, file_samples, file_samples_length, file_frames, file_frames_length, &file)) return;
    u64 begin = max(file.first + AROUND, frame) - AROUND, end = min(min(file.last, frames), frame + AROUND + 1);
    float share = 1.0f / (float)(end - begin);
    for (u32 n = lane; n < stride; n += 32) {
      float sum = 0.0f;
      // As the CPU rounds it.
      for (u64 other = begin; other < end; ++other) {
        sum = __fadd_rn(sum, __fmul_rn(share, __ldg(rows + other * stride + n)));
      }
      mean[n] = sum;
      alone[n] = __ldg(rows + frame * stride + n);
    }
    __syncwarp();
    // A lane holds a candidate.
    u32 count = candidates_of(mean, last, least, rule, lists, lane);
    double2 own = make_double2(1.0, 0.0);
    if (lane < count) own = lists.found[lane];
    __syncwarp();
    u32 others = candidates_of(alone, last, least_alone, rule, lists, lane);
    for (u32 n = 0; n < others; ++n) {
      double2 other = lists.found[n];
      bool near = own.x < other.x * same && other.x < own.x * same;
      u32 known = __ballot_sync(EVERY, lane < count && near);
      u32 place = known != 0 ? __ffs((int)known) - 1 : count;
      if (lane == place) own = make_double2(known != 0 ? own.x : other.x, fmax(own.y, other.y));
      count += known == 0;
    }
    double strongest = lane < count ? own.y : 0.0;
    for (u32 distance = 16; distance > 0; distance /= 2) {
      strongest = fmax(strongest, __shfl_xor_sync(EVERY, strongest, distance));
    }
    if (lane < count) ((double2*)candidates)[frame * MOST + lane] = own;
    if (lane == 0) {
      counts[frame] = count;
      confidence[frame] = (float)strongest;
    }
    __syncwarp();
  }
}
