// Mel features of any power-of-two transform, from samples to features in one kernel: no spectrum
// ever reaches device memory. `mel512.cu` is the fast form of the one size that speech uses.

#include "fourier.cuh"

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
    take_windowed(place, active, points, t, group_threads, reflect, window, front);
    __syncthreads();
    float2* bins = transform(front, back, points, t, root);
    float* power = (float*)(bins == front ? back : front);
    // Bins 0 to points: 2 points floats are free in the other half.
    powers(bins, points, t, group_threads, root, power);
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
