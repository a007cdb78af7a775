// Short-time spectra of any power-of-two transform: complex, powers or magnitudes, [frame, bin].

#include "fourier.cuh"

#define COMPLEX 0
#define POWER 1

// What of a bin is written: two numbers of a complex one, or one.
__device__ __forceinline__ void write_bin(float* out, u64 at, float2 bin, u32 kind) {
  if (kind == COMPLEX) {
    ((float2*)out)[at] = bin;
  } else {
    // The high bin of a pair is the complex conjugate, which neither power nor magnitude sees.
    float power = fmaf(bin.y, bin.y, bin.x * bin.x);
    out[at] = kind == POWER ? power : sqrtf(power);
  }
}

// `roots` holds exp(-2 pi i k / transform) as pairs, k < transform.
extern "C" __global__ void __launch_bounds__(THREADS)
spectrogram(const float* samples, u64 samples_length, const u64* file_samples,
            u64 file_samples_length, const u64* file_frames, u64 file_frames_length,
            const float* window, u64 window_length, const float* roots, u64 roots_length, float* out,
            u64 out_length, u32 transform_length, u32 hop, u32 left, u32 reflect, u32 kind) {
  __shared__ float2 shared[2 * POINTS];
  u32 points = transform_length / 2;
  if (blockDim.x != THREADS || points < 4 || points > POINTS || (points & (points - 1)) != 0) return;
  if (window_length < transform_length || roots_length < 2 * (u64)transform_length) return;
  u32 group_threads = points / 4;
  u32 groups = THREADS / group_threads;
  u32 group = threadIdx.x / group_threads;
  u32 t = threadIdx.x % group_threads;
  u64 frames = file_frames_length > 0 ? file_frames[file_frames_length - 1] : 0;
  if (frames > out_length / ((kind == COMPLEX ? 2 : 1) * (u64)(points + 1))) return;
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
    u64 row = frame * (points + 1);
    for (u32 k = t; active && k <= points / 2; k += group_threads) {
      if (k == 0) {
        write_bin(out, row, make_float2(bins[0].x + bins[0].y, 0.0f), kind);
        write_bin(out, row + points, make_float2(bins[0].x - bins[0].y, 0.0f), kind);
        continue;
      }
      float2 low, high;
      split(bins, points, k, root, &low, &high);
      write_bin(out, row + k, low, kind);
      if (2 * k < points) write_bin(out, row + points - k, make_float2(high.x, -high.y), kind);
    }
    __syncthreads();
  }
}
