// Probabilistic YIN: what each frame says of pitch bins and voicing, a warp to a frame.
//
// Every trough of the normalised difference gets the probability that a random threshold would choose
// it. Thresholds lie at hundredths; between two that some trough lies between, the set of troughs below
// the threshold stays the same, so they are taken in runs, as on the CPU. `pyin_path.cu` finds the track.

#include "correlation.cuh"

#define THRESHOLDS 100
#define EVERY 0xffffffffu
#define SMALLEST 2.2250738585072014e-308
#define NONE 0xffffffffu
// ln of the smallest number, in the units of scores.
#define IMPOSSIBLE (-46425468)

extern __shared__ float4 dynamic_shared[];

// The first threshold above a depth, from 1 on; 101 where there is none.
__device__ u32 threshold_above(double depth) {
  double hundredths = floor(depth * THRESHOLDS);
  u32 i = hundredths < 0.0 ? 0 : hundredths > THRESHOLDS ? THRESHOLDS : (u32)hundredths;
  while (i <= THRESHOLDS && depth >= (double)i / THRESHOLDS) ++i;
  return i > 0 ? i : 1;
}

// The least of `firsts` above `after`, THRESHOLDS + 1 where there is none.
__device__ u32 next_threshold(const u32* firsts, u32 count, u32 after, u32 lane) {
  u32 least = THRESHOLDS + 1;
  for (u32 t = lane; t < count; t += 32) {
    if (firsts[t] > after) least = min(least, firsts[t]);
  }
  for (u32 reach = 16; reach > 0; reach /= 2) least = min(least, __shfl_xor_sync(EVERY, least, reach));
  return least;
}

// A probability's logarithm in units of 2^-16, as scores are.
__device__ int score_of(double probability) { return __double2int_rn(log(probability + SMALLEST) * 65536.0); }

// Log-likelihoods of the pitch bins and, behind them, of an unvoiced one, [frame, bin] with rows of a
// multiple of four; and for each frame the probability that it is voiced. `tables` holds the probability of the thresholds
// up to i, i from 0 to 100; the powers of the preference for early troughs, `most` of them; and the
// share of the first of n troughs, n from 0 to `most`. A warp's room is for the padded frame, where the
// troughs' lists lie once the frame is no longer needed, and for the lags, which start at `lag_at`.
extern "C" __global__ void __launch_bounds__(32 * WARPS)
pyin(const float* samples, u64 samples_length, const u64* file_samples, u64 file_samples_length,
     const u64* file_frames, u64 file_frames_length, const double* tables, u64 tables_length,
     int* rows, u64 rows_length, float* voicing, u64 voicing_length,
     u32 frame_length, u32 hop, u32 left, u32 shortest, u32 longest, u32 lag_at, u32 warp_floats,
     u32 bins, u32 most, double sample_rate, double low_hz, double per_octave, double no_trough) {
  if (shortest < 1 || shortest >= longest || longest >= frame_length || frame_length % 32 != 0) return;
  u32 passes = longest / PASS + 1;
  u32 reach = frame_length + passes * PASS + 8;
  u32 shared_bytes;
  asm("mov.u32 %0, %%dynamic_smem_size;" : "=r"(shared_bytes));
  if (blockDim.x != 32 * WARPS || frame_length > 65536 || longest > 65536 || bins < 1) return;
  if (most < (longest - shortest) / 2 + 2 || tables_length < THRESHOLDS + 1 + 2 * (u64)most + 1) return;
  if (lag_at % 4 != 0 || lag_at < slot(reach) + 4 || lag_at < 5 * (u64)most) return;
  if (warp_floats % 4 != 0 || warp_floats < lag_at + passes * PASS) return;
  if (shared_bytes / (4 * WARPS) < warp_floats) return;
  u32 lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  u32 below = (1u << lane) - 1;
  float* x = (float*)dynamic_shared + warp * warp_floats;
  float* lag = x + lag_at;
  double* probability = (double*)x;
  float* period = (float*)(probability + most);
  float* depth = period + most;
  u32* first = (u32*)(depth + most);
  const double* cumulated = tables;
  const double* power = tables + THRESHOLDS + 1;
  const double* share_of_first = power + most;
  u64 frames = file_frames_length > 0 ? file_frames[file_frames_length - 1] : 0;
  u32 stride = (bins + 1 + 3) / 4 * 4;
  if (frames > rows_length / stride || frames > voicing_length) return;
  for (u64 frame = (u64)blockIdx.x * WARPS + warp; frame < frames; frame += (u64)gridDim.x * WARPS) {
    Place place;
    if (!find_frame(frame, samples, samples_length, file_samples, file_samples_length, file_frames,
                    file_frames_length, hop, left, &place)) {
      continue;
    }
    int* row = rows + frame * stride;
    for (u32 bin = lane; bin < stride; bin += 32) row[bin] = IMPOSSIBLE;
    take_frame(place, frame_length, lane, x);
    // The lists of the frame before may have lain here.
    for (u32 n = frame_length + lane; n < reach; n += 32) x[slot(n)] = 0.0f;
    __syncwarp();
    correlate(x, frame_length, passes, lane, lag);
    __syncwarp();
    normalise(x, lag, longest, lane);
    __syncwarp();
    u32 count = 0;
    float lowest = 3.4e38f;
    u32 lowest_at = NONE;
    for (u32 base = shortest; base <= longest; base += 32) {
      u32 k = base + lane;
      bool trough = k <= longest && is_trough(lag, k, shortest, longest);
      u32 troughs = __ballot_sync(EVERY, trough);
      if (trough) {
        u32 at = count + __popc(troughs & below);
        depth[at] = lag[k];
        period[at] = (float)k + (k > shortest && k < longest ? parabolic_shift(lag, k) : 0.0f);
        first[at] = threshold_above((double)lag[k]);
        probability[at] = 0.0;
        if (lag[k] < lowest) {
          lowest = lag[k];
          lowest_at = at;
        }
      }
      count += __popc(troughs);
    }
    __syncwarp();
    for (u32 reach = 16; reach > 0; reach /= 2) {
      float other = __shfl_xor_sync(EVERY, lowest, reach);
      u32 other_at = __shfl_xor_sync(EVERY, lowest_at, reach);
      if (other < lowest || (other == lowest && other_at < lowest_at)) {
        lowest = other;
        lowest_at = other_at;
      }
    }
    u32 begin = next_threshold(first, count, 0, lane);
    while (begin <= THRESHOLDS) {
      u32 end = next_threshold(first, count, begin, lane);
      double weight = cumulated[end - 1] - cumulated[begin - 1];
      u32 total = 0;
      for (u32 base = 0; base < count; base += 32) {
        u32 t = base + lane;
        total += __popc(__ballot_sync(EVERY, t < count && first[t] <= begin));
      }
      double share = weight * share_of_first[total];
      u32 before = 0;
      for (u32 base = 0; base < count; base += 32) {
        u32 t = base + lane;
        bool chosen = t < count && first[t] <= begin;
        u32 all = __ballot_sync(EVERY, chosen);
        if (chosen) probability[t] += share * power[before + __popc(all & below)];
        before += __popc(all);
      }
      begin = end;
    }
    __syncwarp();
    if (lane == 0 && lowest_at != NONE) {
      probability[lowest_at] += no_trough * cumulated[first[lowest_at] - 1];
    }
    __syncwarp();
    // Of two troughs in one bin the longer period stays, and bins fall as periods grow: from the last
    // trough back, one stays where the one after it has another bin.
    double voiced = 0.0;
    u32 bin_after = NONE;
    for (u32 turn = (count + 31) / 32; turn-- > 0;) {
      u32 t = 32 * turn + lane;
      u32 bin = NONE;
      double here = t < count ? probability[t] : 0.0;
      if (here > 0.0) {
        double place_of = rint(per_octave * log2(sample_rate / (double)period[t] / low_hz));
        if (place_of < (double)bins) bin = place_of > 0.0 ? (u32)place_of : 0;
      }
      u32 valid = __ballot_sync(EVERY, bin != NONE);
      u32 later = valid & ~(below | (1u << lane));
      u32 next = __shfl_sync(EVERY, bin, later != 0 ? __ffs((int)later) - 1 : 0);
      if (later == 0) next = bin_after;
      if (bin != NONE && bin != next) {
        row[bin] = score_of(here);
        voiced += here;
      }
      u32 earliest = __shfl_sync(EVERY, bin, valid != 0 ? __ffs((int)valid) - 1 : 0);
      if (valid != 0) bin_after = earliest;
    }
    for (u32 reach = 16; reach > 0; reach /= 2) voiced += __shfl_xor_sync(EVERY, voiced, reach);
    if (lane == 0) {
      voiced = fmin(fmax(voiced, 0.0), 1.0);
      voicing[frame] = (float)voiced;
      row[bins] = score_of((1.0 - voiced) / bins);
    }
    __syncwarp();
  }
}
