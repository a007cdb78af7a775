// The shape of each frame's spectrum in seven numbers: centroid, bandwidth, roll-off, flatness, entropy, flux
// and slope, [frame, number].
//
// A block takes neighbouring frames, one early, since the flux looks back. A thread has five neighbouring bins,
// an odd number, so that the threads of a warp keep to different banks.

#include "frame_powers.cuh"

#define OWN 5
#define ROWS 7
#define TINY 1.17549435e-38f
// Floats of the room in which groups sum: four to a warp, or one to a group.
#define SUMS 32

// The sum of `value` over the threads of a group before this one, and over all in `total`; all threads of a
// block come here together.
__device__ __forceinline__ float sum_before(const Group& group, float value, float* sums, float* total) {
  u32 width = group.threads < 32 ? group.threads : 32, lane = group.t % width;
  float up_to = value;
  for (u32 reach = 1; reach < width; reach *= 2) {
    float below = __shfl_up_sync(ALL, up_to, reach, width);
    if (lane >= reach) up_to += below;
  }
  float before = __shfl_up_sync(ALL, up_to, 1, width);
  if (lane == 0) before = 0.0f;
  if (lane == width - 1) sums[threadIdx.x / width] = up_to;
  __syncthreads();
  u32 parts = group.threads / width, own = group.t / width;
  float all = 0.0f;
  for (u32 n = 0; n < parts; ++n) {
    if (n == own) before += all;
    all += sums[group.number * parts + n];
  }
  *total = all;
  __syncthreads();
  return before;
}

// Each value summed over the threads of a group, in all of them, always in the same order. All threads of a
// block come here together.
template <int VALUES>
__device__ __forceinline__ void sum_over_group(const Group& group, float* values, float* sums) {
  u32 width = group.threads < 32 ? group.threads : 32;
#pragma unroll
  for (int i = 0; i < VALUES; ++i) {
    for (u32 reach = width / 2; reach > 0; reach /= 2) values[i] += __shfl_xor_sync(ALL, values[i], reach);
  }
  if (group.threads <= 32) return;
  u32 warp = threadIdx.x / 32, warps = group.threads / 32, first = group.number * warps;
  if (threadIdx.x % 32 == 0) {
#pragma unroll
    for (int i = 0; i < VALUES; ++i) sums[warp * VALUES + i] = values[i];
  }
  __syncthreads();
#pragma unroll
  for (int i = 0; i < VALUES; ++i) {
    values[i] = 0.0f;
    for (u32 n = 0; n < warps; ++n) values[i] += sums[(first + n) * VALUES + i];
  }
  __syncthreads();
}

// A block takes `run` frames, a multiple of those that it transforms at once, of which the first is the last of
// the block before. `slope_middle` is the mean of the bins' frequencies and `slope_scatter` one over the sum of
// their squared distances from it.
extern "C" __global__ void __launch_bounds__(THREADS)
statistics(const float* samples, u64 samples_length, const u64* file_samples, u64 file_samples_length,
           const u64* file_frames, u64 file_frames_length, const float* window, u64 window_length,
           const float* roots, u64 roots_length, float* out, u64 out_length, u32 transform_length, u32 hop,
           u32 left, u32 reflect, u32 run, float bin_hz, float rolloff_share, float floor_power,
           float slope_middle, float slope_scatter) {
  __shared__ float2 shared[2 * POINTS];
  __shared__ float sums[SUMS];
  // Magnitudes of the frame before the first.
  __shared__ float last[POINTS + 1];
  __shared__ u32 rolloffs[POINTS / 32];
  Source source = {samples, samples_length, file_samples, file_samples_length, file_frames, file_frames_length,
                   window, window_length, roots, roots_length, transform_length, hop, left, reflect};
  u64 frames = frames_of(source);
  if (!fits(source) || frames > out_length / ROWS || run < 2) return;
  Group group = group_of(source);
  u32 room = 2 * group.points, bins = group.points + 1, own = group.t * OWN;
  u64 begin = (u64)blockIdx.x * (run - 1);
  for (u32 done = 0; done < run; done += group.count) {
    // The frame before the first of all is none.
    u64 frame = begin + done + group.number - 1;
    if (begin + done > frames) break;
    Place place;
    bool active;
    Powers powers = take_powers(source, group, frame, shared, &place, &active);
    float* magnitudes = powers.power + group.number * room;
    if (group.t == 0) rolloffs[group.number] = bins;
    float own_sum = 0.0f, values[3] = {0.0f, 0.0f, 0.0f};
    float magnitude[OWN];
#pragma unroll
    for (int i = 0; i < OWN; ++i) {
      magnitude[i] = 0.0f;
      if (own + i < bins) {
        float power = magnitudes[own + i], bounded = fmaxf(power, floor_power);
        magnitude[i] = sqrtf(power);
        magnitudes[own + i] = magnitude[i];
        own_sum += magnitude[i];
        values[0] = fmaf(magnitude[i], (own + i) * bin_hz, values[0]);
        values[1] += bounded;
        values[2] += __logf(bounded);
      }
    }
    float sum, below = sum_before(group, own_sum, sums, &sum);
    sum_over_group<3>(group, values, sums);
    float divisor = fmaxf(sum, TINY), centroid = values[0] / divisor, threshold = sum * rolloff_share;
    // In the first frame of a file there is no rise.
    const float* before = group.number > 0 ? magnitudes - room : last;
    bool follows = active && place.start > -(long long)left;
    float more[3] = {0.0f, 0.0f, 0.0f};
#pragma unroll
    for (int i = 0; i < OWN; ++i) {
      if (own + i < bins) {
        float distance = (own + i) * bin_hz - centroid;
        more[0] = fmaf(distance * distance, magnitude[i], more[0]);
        float share = fmaxf(magnitude[i] / divisor, TINY);
        more[1] = fmaf(-share, __logf(share), more[1]);
        float rise = follows ? fmaxf(magnitude[i] - before[own + i], 0.0f) : 0.0f;
        more[2] = fmaf(rise, rise, more[2]);
        bool reached = below >= threshold;
        below += magnitude[i];
        if (below >= threshold && (i == 0 || !reached)) atomicMin(rolloffs + group.number, own + i);
      }
    }
    sum_over_group<3>(group, more, sums);
    __syncthreads();
    if (active && (done > 0 || group.number > 0) && group.t == 0) {
      float count = (float)bins;
      float* row = out + frame * ROWS;
      row[0] = centroid;
      row[1] = sqrtf(more[0] / divisor);
      row[2] = rolloffs[group.number] < bins ? rolloffs[group.number] * bin_hz : 0.0f;
      row[3] = expf(values[2] / count) / (values[1] / count);
      row[4] = sum > 0.0f ? more[1] / logf(count) : 0.0f;
      row[5] = sqrtf(more[2]);
      row[6] = sum > 0.0f ? (centroid - slope_middle) * slope_scatter : 0.0f;
    }
    if (group.number == group.count - 1) {
#pragma unroll
      for (int i = 0; i < OWN; ++i) {
        if (own + i < bins) last[own + i] = magnitude[i];
      }
    }
    __syncthreads();
  }
}
