// Short-time spectra back to signals, and the alternation of Griffin and Lim between the two, for any
// power-of-two transform. Spectra are [frame, bin].

#include "fourier.cuh"

#define SMALLEST 1.17549435e-38f

// The frames of `spectrum` as samples under the window, [frame, sample]. `roots` holds
// exp(-2 pi i k / transform) as pairs, k < transform; `window` has the transform's length taken out of it.
extern "C" __global__ void __launch_bounds__(THREADS)
inverse_frames(const float* spectrum, u64 spectrum_length, const float* window, u64 window_length,
               const float* roots, u64 roots_length, float* frames_out, u64 frames_out_length,
               u32 transform_length) {
  __shared__ float2 shared[2 * POINTS];
  u32 points = transform_length / 2;
  if (blockDim.x != THREADS || points < 4 || points > POINTS || (points & (points - 1)) != 0) return;
  if (window_length < transform_length || roots_length < 2 * (u64)transform_length) return;
  u32 group_threads = points / 4, groups = THREADS / group_threads;
  u32 group = threadIdx.x / group_threads, t = threadIdx.x % group_threads;
  u64 frames = min(spectrum_length / (2 * (u64)(points + 1)), frames_out_length / transform_length);
  const float2* root = (const float2*)roots;
  float2* front = shared + group * points;
  float2* back = shared + POINTS + group * points;
  for (u64 first = (u64)blockIdx.x * groups; first < frames; first += (u64)gridDim.x * groups) {
    u64 frame = first + group;
    const float2* bins = (const float2*)spectrum + frame * (points + 1);
    for (u32 k = t; k < points; k += group_threads) {
      float2 packed = make_float2(0.0f, 0.0f);
      if (frame < frames) {
        float2 a = bins[k], b = bins[points - k];
        // The ends of a real signal's spectrum have no imaginary part.
        if (k == 0) a.y = b.y = 0.0f;
        float2 even = make_float2(a.x + b.x, a.y - b.y);
        float2 odd = turn(make_float2(a.x - b.x, a.y + b.y), make_float2(root[k].x, -root[k].y));
        // Even plus i times odd, and its conjugate: the inverse is the conjugate of the transform of that.
        packed = make_float2(even.x - odd.y, -(even.y + odd.x));
      }
      front[k] = packed;
    }
    __syncthreads();
    float2* points_out = transform(front, back, points, t, root);
    if (frame < frames) {
      float2* row = (float2*)(frames_out + frame * transform_length);
      for (u32 n = t; n < points; n += group_threads) {
        float2 w = ((const float2*)window)[n], z = points_out[n];
        row[n] = make_float2(z.x * w.x, -z.y * w.y);
      }
    }
    __syncthreads();
  }
}

// The samples of all files: sums over the frames that cover each, in their order, over the sums of the squared
// window. `window` is the plain one.
extern "C" __global__ void __launch_bounds__(THREADS)
overlap_add(const float* frames_in, u64 frames_in_length, const float* window, u64 window_length,
            const u64* file_samples, u64 file_samples_length, const u64* file_frames, u64 file_frames_length,
            float* samples, u64 samples_length, u32 length, u32 hop, u32 left) {
  if (window_length < length || length < 1 || hop < 1 || file_frames_length < 2) return;
  if (file_samples_length / 2 < file_frames_length - 1) return;
  u64 last = file_frames_length - 2, total = file_samples[2 * last + 1];
  if (total > samples_length || file_frames[last + 1] > frames_in_length / length) return;
  for (u64 at = (u64)blockIdx.x * blockDim.x + threadIdx.x; at < total; at += (u64)gridDim.x * blockDim.x) {
    // The file of a sample: the last that begins at or before it.
    u64 low = 0, high = last + 1;
    while (high - low > 1) {
      u64 middle = (low + high) / 2;
      if (file_samples[2 * middle] <= at) low = middle; else high = middle;
    }
    u64 begin = file_samples[2 * low], end = file_samples[2 * low + 1];
    float result = 0.0f;
    if (at < end) {
      u64 position = at - begin + left, count = file_frames[low + 1] - file_frames[low];
      u64 first = position < length ? 0 : (position - length) / hop + 1;
      u64 after = min(position / hop + 1, count);
      float sum = 0.0f, weight = 0.0f;
      for (u64 frame = first; frame < after; ++frame) {
        u32 n = (u32)(position - frame * hop);
        float w = __ldg(window + n);
        sum += __ldg(frames_in + (file_frames[low] + frame) * length + n);
        weight += w * w;
      }
      result = weight > SMALLEST ? sum / weight : sum;
    }
    samples[at] = result;
  }
}

// The first guess: magnitudes with phases that follow from the seed and the place in the file's [bin, frame]
// matrix.
extern "C" __global__ void __launch_bounds__(THREADS)
first_phases(const float* magnitudes, u64 magnitudes_length, const u64* file_frames, u64 file_frames_length,
             float* spectrum, u64 spectrum_length, u32 bins, u64 seed) {
  if (bins < 1 || file_frames_length < 2) return;
  u64 total = min(magnitudes_length, spectrum_length / 2);
  total = min(total, file_frames[file_frames_length - 1] * bins);
  for (u64 at = (u64)blockIdx.x * blockDim.x + threadIdx.x; at < total; at += (u64)gridDim.x * blockDim.x) {
    u64 frame = at / bins, bin = at % bins, low = 0, high = file_frames_length - 1;
    while (high - low > 1) {
      u64 middle = (low + high) / 2;
      if (file_frames[middle] <= frame) low = middle; else high = middle;
    }
    u64 place = bin * (file_frames[low + 1] - file_frames[low]) + frame - file_frames[low];
    // SplitMix64, number `place` of its sequence.
    u64 z = seed + (place + 1) * 0x9e3779b97f4a7c15ull;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    float part = (float)((z ^ (z >> 31)) >> 40) / 16777216.0f;
    float sine, cosine, magnitude = magnitudes[at];
    sincosf(6.28318530717958647692f * part, &sine, &cosine);
    ((float2*)spectrum)[at] = make_float2(magnitude * cosine, magnitude * sine);
  }
}

// One bin of a round: the phase of what the signal has less a share of what it had before.
__device__ __forceinline__ void take_bin(float2* spectrum, float2* before, const float* magnitudes, u64 at,
                                         float2 now, float inertia) {
  float2 was = before[at];
  float re = fmaf(-inertia, was.x, now.x), im = fmaf(-inertia, was.y, now.y);
  float scale = magnitudes[at] / (hypotf(re, im) + SMALLEST);
  spectrum[at] = make_float2(re * scale, im * scale);
  before[at] = now;
}

// A round's second half: the spectra of the signals, of which the next guess keeps the phases.
extern "C" __global__ void __launch_bounds__(THREADS)
take_phases(const float* samples, u64 samples_length, const u64* file_samples, u64 file_samples_length,
            const u64* file_frames, u64 file_frames_length, const float* window, u64 window_length,
            const float* roots, u64 roots_length, const float* magnitudes, u64 magnitudes_length,
            float* before, u64 before_length, float* spectrum, u64 spectrum_length, u32 transform_length,
            u32 hop, u32 left, u32 reflect, float inertia) {
  __shared__ float2 shared[2 * POINTS];
  u32 points = transform_length / 2;
  if (blockDim.x != THREADS || points < 4 || points > POINTS || (points & (points - 1)) != 0) return;
  if (window_length < transform_length || roots_length < 2 * (u64)transform_length) return;
  u32 group_threads = points / 4, groups = THREADS / group_threads;
  u32 group = threadIdx.x / group_threads, t = threadIdx.x % group_threads;
  u64 frames = file_frames_length > 0 ? file_frames[file_frames_length - 1] : 0, bins = points + 1;
  if (frames > magnitudes_length / bins || frames > before_length / (2 * bins)) return;
  if (frames > spectrum_length / (2 * bins)) return;
  const float2* root = (const float2*)roots;
  float2* front = shared + group * points;
  float2* back = shared + POINTS + group * points;
  float2* was = (float2*)before;
  float2* next = (float2*)spectrum;
  for (u64 first = (u64)blockIdx.x * groups; first < frames; first += (u64)gridDim.x * groups) {
    u64 frame = first + group;
    Place place;
    bool active = find_frame(frame, samples, samples_length, file_samples, file_samples_length,
                             file_frames, file_frames_length, hop, left, &place);
    take_windowed(place, active, points, t, group_threads, reflect, window, front);
    __syncthreads();
    float2* found = transform(front, back, points, t, root);
    u64 row = frame * bins;
    for (u32 k = t; active && k <= points / 2; k += group_threads) {
      if (k == 0) {
        take_bin(next, was, magnitudes, row, make_float2(found[0].x + found[0].y, 0.0f), inertia);
        take_bin(next, was, magnitudes, row + points, make_float2(found[0].x - found[0].y, 0.0f), inertia);
        continue;
      }
      float2 low, high;
      split(found, points, k, root, &low, &high);
      take_bin(next, was, magnitudes, row + k, low, inertia);
      if (2 * k < points) {
        take_bin(next, was, magnitudes, row + points - k, make_float2(high.x, -high.y), inertia);
      }
    }
    __syncthreads();
  }
}
