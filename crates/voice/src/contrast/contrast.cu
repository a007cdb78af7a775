// Spectral contrast: the mean of the few loudest and of the few quietest bins of each band, in decibels, and
// how far apart they are once both are within a range of the file's loudest.
//
// Where more than one bin counts, runs of 32 of a band's are sorted, a warp to a run, and merged into the 32
// quietest and the 32 loudest so far, a warp to a band.

#include "frame_powers.cuh"
#include "loudest.cuh"

#define WARPS (THREADS / 32)
#define MOST_BANDS 8
#define NONE __int_as_float(0x7f800000)
#define UNKNOWN __int_as_float(0x7fffffff)

__device__ __forceinline__ float exchange(float value, u32 reach, bool lower) {
  float other = __shfl_xor_sync(ALL, value, reach);
  return lower ? fminf(value, other) : fmaxf(value, other);
}

// A warp's values in rising order.
__device__ __forceinline__ float sort(float value, u32 lane) {
#pragma unroll
  for (u32 size = 2; size <= 32; size *= 2) {
#pragma unroll
    for (u32 reach = size / 2; reach > 0; reach /= 2) {
      value = exchange(value, reach, ((lane & reach) == 0) == ((lane & size) == 0));
    }
  }
  return value;
}

// The 32 least of a warp's values in rising order and another's in falling order, rising.
__device__ __forceinline__ float least(float rising, float falling, u32 lane) {
  float value = fminf(rising, falling);
#pragma unroll
  for (u32 reach = 16; reach > 0; reach /= 2) value = exchange(value, reach, (lane & reach) == 0);
  return value;
}

__device__ __forceinline__ float sum_of_lanes(float value) {
#pragma unroll
  for (u32 reach = 16; reach > 0; reach /= 2) value += __shfl_xor_sync(ALL, value, reach);
  return value;
}

// Levels of the loudest and the quietest, [frame, band] in pairs, and their largest in each file, in pairs of
// ranks that are 0 before. `bands` holds in fours: first bin, number of bins, how many of them count at either
// end, and where its sorted runs lie; `runs` in threes: first bin, number of bins, and where they go.
extern "C" __global__ void __launch_bounds__(THREADS)
contrast(const float* samples, u64 samples_length, const u64* file_samples, u64 file_samples_length,
         const u64* file_frames, u64 file_frames_length, const float* window, u64 window_length,
         const float* roots, u64 roots_length, const u32* bands, u64 bands_length, const u32* runs,
         u64 runs_length, float* levels, u64 levels_length, u32* loudest, u64 loudest_length,
         u32 transform_length, u32 hop, u32 left, u32 reflect, float floor_magnitude) {
  __shared__ float2 shared[2 * POINTS];
  __shared__ float of_bands[POINTS / 32 * MOST_BANDS * 2];
  Source source = {samples, samples_length, file_samples, file_samples_length, file_frames, file_frames_length,
                   window, window_length, roots, roots_length, transform_length, hop, left, reflect};
  u32 band_count = (u32)(bands_length / 4), run_count = (u32)(runs_length / 3);
  u64 frames = frames_of(source);
  if (!fits(source) || band_count > MOST_BANDS || band_count < 1) return;
  if (frames > levels_length / 2 / band_count || loudest_length < 2 * (file_frames_length - 1)) return;
  Group group = group_of(source);
  u32 room = 2 * group.points, bins = group.points + 1, warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  for (u64 first = (u64)blockIdx.x * group.count; first < frames; first += (u64)gridDim.x * group.count) {
    u64 frame = first + group.number;
    Place place;
    bool active;
    Powers powers = take_powers(source, group, frame, shared, &place, &active);
    for (u32 job = warp; job < run_count * group.count; job += WARPS) {
      const u32* run = runs + job / group.count * 3;
      u32 bin = run[0], count = run[1], to = run[2], own = job % group.count * room;
      if ((u64)bin + count > bins || (u64)to + count > room || count > 32) continue;
      float value = sort(lane < count ? powers.power[own + bin + lane] : NONE, lane);
      if (lane < count) powers.room[own + to + lane] = value;
    }
    __syncthreads();
    for (u32 job = warp; job < band_count * group.count; job += WARPS) {
      // The last bands are the widest: they come first.
      u32 number = band_count - 1 - job / group.count, of = job % group.count;
      const u32* band = bands + 4 * number;
      u32 bin = band[0], count = band[1], ends = band[2], at = band[3], own = of * room;
      if ((u64)bin + count > bins || (u64)at + count > room || ends > 32) continue;
      float low, high;
      if (ends > 1) {
        low = high = NONE;
        for (u32 from = 0; from < count; from += 32) {
          const float* run = powers.room + own + at + from;
          u32 here = min(count - from, 32u);
          low = least(low, 31 - lane < here ? run[31 - lane] : NONE, lane);
          high = least(high, lane + here >= 32 ? -run[lane + here - 32] : NONE, lane);
        }
        low = sum_of_lanes(lane < ends ? sqrtf(low) : 0.0f) / ends;
        high = sum_of_lanes(lane < ends ? sqrtf(-high) : 0.0f) / ends;
      } else {
        low = high = UNKNOWN;
        for (u32 i = lane; i < count; i += 32) {
          float power = powers.power[own + bin + i];
          low = fminf(low, power);
          high = fmaxf(high, power);
        }
#pragma unroll
        for (u32 reach = 16; reach > 0; reach /= 2) {
          low = exchange(low, reach, true);
          high = exchange(high, reach, false);
        }
        low = sqrtf(low);
        high = sqrtf(high);
      }
      if (lane == 0) {
        float* level = of_bands + 2 * (of * MOST_BANDS + number);
        level[0] = 10.0f * log10f(fmaxf(high, floor_magnitude));
        level[1] = 10.0f * log10f(fmaxf(low, floor_magnitude));
      }
    }
    __syncthreads();
    if (active && group.t < 2) {
      float most = UNKNOWN;
      for (u32 band = 0; band < band_count; ++band) {
        float level = of_bands[2 * (group.number * MOST_BANDS + band) + group.t];
        levels[2 * (frame * band_count + band) + group.t] = level;
        most = fmaxf(most, level);
      }
      raise(loudest + 2 * file_of(frame, file_frames, file_frames_length) + group.t, most);
    }
    __syncthreads();
  }
}

// What `contrast` found within `range` of the file's loudest, [frame, band].
extern "C" __global__ void __launch_bounds__(THREADS)
contrast_between(const float* levels, u64 levels_length, const u32* loudest, u64 loudest_length,
                 const u64* file_frames, u64 file_frames_length, float* out, u64 out_length, u32 band_count,
                 float range) {
  if (file_frames_length < 2 || loudest_length / 2 < file_frames_length - 1 || band_count < 1) return;
  u64 end = file_frames[file_frames_length - 1] * band_count;
  if (end > out_length || end > levels_length / 2) return;
  for (u64 n = (u64)blockIdx.x * THREADS + threadIdx.x; n < end; n += (u64)gridDim.x * THREADS) {
    u64 file = file_of(n / band_count, file_frames, file_frames_length);
    float high = fmaxf(levels[2 * n], of_rank(loudest[2 * file]) - range);
    float low = fmaxf(levels[2 * n + 1], of_rank(loudest[2 * file + 1]) - range);
    out[n] = high - low;
  }
}
