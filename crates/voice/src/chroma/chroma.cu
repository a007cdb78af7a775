// The power of each pitch class in each frame, over that of the frame's largest, [frame, class].

#include "frame_powers.cuh"

#define CLASSES 12

// `filters` holds the weights of the classes of a bin after those of the bin before.
extern "C" __global__ void __launch_bounds__(THREADS)
chroma(const float* samples, u64 samples_length, const u64* file_samples, u64 file_samples_length,
       const u64* file_frames, u64 file_frames_length, const float* window, u64 window_length,
       const float* roots, u64 roots_length, const float* filters, u64 filters_length, float* out,
       u64 out_length, u32 transform_length, u32 hop, u32 left, u32 reflect) {
  __shared__ float2 shared[2 * POINTS];
  __shared__ float classes[POINTS / 32 * CLASSES];
  Source source = {samples, samples_length, file_samples, file_samples_length, file_frames, file_frames_length,
                   window, window_length, roots, roots_length, transform_length, hop, left, reflect};
  u64 frames = frames_of(source);
  if (!fits(source) || frames > out_length / CLASSES) return;
  Group group = group_of(source);
  u32 bins = group.points + 1, width = group.threads < 32 ? group.threads : 32;
  if (filters_length < (u64)bins * CLASSES) return;
  // Parts of a group that a warp has, and where their sums go.
  u32 parts = group.threads / width;
  for (u64 first = (u64)blockIdx.x * group.count; first < frames; first += (u64)gridDim.x * group.count) {
    u64 frame = first + group.number;
    Place place;
    bool active;
    Powers powers = take_powers(source, group, frame, shared, &place, &active);
    const float* power = powers.power + group.number * 2 * group.points;
    float sum[CLASSES] = {0.0f};
    for (u32 bin = group.t; bin < bins; bin += group.threads) {
      const float4* weights = (const float4*)(filters + (u64)bin * CLASSES);
#pragma unroll
      for (int quad = 0; quad < CLASSES / 4; ++quad) {
        float4 weight = __ldg(weights + quad);
        sum[4 * quad] = fmaf(power[bin], weight.x, sum[4 * quad]);
        sum[4 * quad + 1] = fmaf(power[bin], weight.y, sum[4 * quad + 1]);
        sum[4 * quad + 2] = fmaf(power[bin], weight.z, sum[4 * quad + 2]);
        sum[4 * quad + 3] = fmaf(power[bin], weight.w, sum[4 * quad + 3]);
      }
    }
    // 2 points floats to a group are free, which is more than its parts need.
    float* sums = powers.room + group.number * 2 * group.points;
#pragma unroll
    for (int n = 0; n < CLASSES; ++n) {
      for (u32 reach = width / 2; reach > 0; reach /= 2) sum[n] += __shfl_xor_sync(ALL, sum[n], reach);
      if (group.t % width == 0) sums[group.t / width * CLASSES + n] = sum[n];
    }
    __syncthreads();
    for (u32 n = group.t; n < CLASSES; n += group.threads) {
      float all = 0.0f;
      for (u32 part = 0; part < parts; ++part) all += sums[part * CLASSES + n];
      classes[group.number * CLASSES + n] = all;
    }
    __syncthreads();
    for (u32 n = group.t; active && n < CLASSES; n += group.threads) {
      float largest = 0.0f, own = classes[group.number * CLASSES + n];
      for (u32 other = 0; other < CLASSES; ++other) {
        largest = fmaxf(largest, classes[group.number * CLASSES + other]);
      }
      out[frame * CLASSES + n] = largest > 1.17549435e-38f ? own / largest : own;
    }
    __syncthreads();
  }
}
