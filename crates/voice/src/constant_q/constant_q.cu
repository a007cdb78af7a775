// Constant-Q spectra of an octave, 64 frames and twelve filters to a block.
//
// A filter's sparse spectrum times that of a frame is a sum over the frame's samples, which leaves no limit to
// how long a frame is. A lane has two frames, a warp twelve columns, real and imaginary parts of six filters, and
// four warps share the samples: a load of a sample serves twelve products, and one of four weights eight in
// every lane.

#include "ragged.cuh"

#define THREADS 256
#define FRAMES 64
#define COLUMNS 24
#define HALF (COLUMNS / 2)
// Samples of every frame at a time, and how many of them a warp takes.
#define STEP 64
#define SHARE (STEP / 4)
// One more than the samples: lanes keep to different banks.
#define PITCH (STEP + 1)
#define SUM_PITCH (COLUMNS + 1)

// Where a frame's samples lie, and those of its places that have one.
struct Row {
  const float* samples;
  u32 begin, end;
};

// `filters` holds the columns of each of `length` samples, rounded up to steps, and those of the next twelve
// filters after them; `count` filters go to the bins from `first_bin` on of [frame, bin] in pairs.
extern "C" __global__ void __launch_bounds__(THREADS)
constant_q(const float* samples, u64 samples_length, const u64* file_samples, u64 file_samples_length,
           const u64* file_frames, u64 file_frames_length, const float* filters, u64 filters_length, float* out,
           u64 out_length, u32 length, u32 hop, u32 left, u32 first_bin, u32 count, u32 bins) {
  __shared__ float part[FRAMES * PITCH];
  __shared__ float4 weights[STEP * COLUMNS / 4];
  __shared__ Row rows[FRAMES];
  u32 steps = (length + STEP - 1) / STEP, tile = blockIdx.y;
  u64 frames = file_frames_length > 0 ? file_frames[file_frames_length - 1] : 0;
  if (blockDim.x != THREADS || steps < 1 || bins < 1 || (u64)first_bin + count > bins) return;
  if (frames > out_length / 2 / bins) return;
  if (filters_length / (STEP * COLUMNS) < (u64)steps * (tile + 1)) return;
  const float4* columns = (const float4*)filters + (u64)tile * steps * (STEP * COLUMNS / 4);
  u32 lane = threadIdx.x % 32, half = threadIdx.x / 32 % 2, share = threadIdx.x / 64;
  u64 first = (u64)blockIdx.x * FRAMES;
  if (threadIdx.x < FRAMES) {
    Place place;
    bool active = find_frame(first + threadIdx.x, samples, samples_length, file_samples, file_samples_length,
                             file_frames, file_frames_length, hop, left, &place);
    Row row = {samples, 0, 0};
    if (active) {
      long long end = min(place.length - place.start, (long long)length);
      row = {place.samples + place.start, (u32)max(-place.start, 0ll), (u32)max(end, 0ll)};
    }
    rows[threadIdx.x] = row;
  }
  __syncthreads();
  float sum[2][HALF] = {{0.0f}};
  // What a thread loads of a step, while the step before is summed.
  u32 row_in_step = threadIdx.x / STEP, in_step = threadIdx.x % STEP;
  bool loads_two = threadIdx.x + THREADS < STEP * COLUMNS / 4;
  float next[FRAMES * STEP / THREADS];
  float4 next_weights[2];
  auto load = [&](u32 step) {
    u32 n = step * STEP + in_step;
#pragma unroll
    for (int i = 0; i < FRAMES * STEP / THREADS; ++i) {
      Row row = rows[row_in_step + i * (THREADS / STEP)];
      next[i] = n >= row.begin && n < row.end ? __ldg(row.samples + n) : 0.0f;
    }
    const float4* from = columns + (u64)step * (STEP * COLUMNS / 4) + threadIdx.x;
    next_weights[0] = __ldg(from);
    if (loads_two) next_weights[1] = __ldg(from + THREADS);
  };
  load(0);
  for (u32 step = 0; step < steps; ++step) {
    __syncthreads();
    weights[threadIdx.x] = next_weights[0];
    if (loads_two) weights[threadIdx.x + THREADS] = next_weights[1];
#pragma unroll
    for (int i = 0; i < FRAMES * STEP / THREADS; ++i) {
      part[(row_in_step + i * (THREADS / STEP)) * PITCH + in_step] = next[i];
    }
    __syncthreads();
    if (step + 1 < steps) load(step + 1);
    const float* x = part + lane * PITCH + share * SHARE;
    const float4* w = weights + share * SHARE * (COLUMNS / 4) + half * (HALF / 4);
#pragma unroll 4
    for (u32 i = 0; i < SHARE; ++i) {
      float a = x[i], b = x[32 * PITCH + i];
#pragma unroll
      for (int quad = 0; quad < HALF / 4; ++quad) {
        float4 weight = w[i * (COLUMNS / 4) + quad];
        sum[0][4 * quad] = fmaf(a, weight.x, sum[0][4 * quad]);
        sum[0][4 * quad + 1] = fmaf(a, weight.y, sum[0][4 * quad + 1]);
        sum[0][4 * quad + 2] = fmaf(a, weight.z, sum[0][4 * quad + 2]);
        sum[0][4 * quad + 3] = fmaf(a, weight.w, sum[0][4 * quad + 3]);
        sum[1][4 * quad] = fmaf(b, weight.x, sum[1][4 * quad]);
        sum[1][4 * quad + 1] = fmaf(b, weight.y, sum[1][4 * quad + 1]);
        sum[1][4 * quad + 2] = fmaf(b, weight.z, sum[1][4 * quad + 2]);
        sum[1][4 * quad + 3] = fmaf(b, weight.w, sum[1][4 * quad + 3]);
      }
    }
  }
  // The upper half of the warps gives its sums to the lower, twice.
  for (u32 halves = 2; halves > 0; halves /= 2) {
    float* room = part + (share % halves) * FRAMES * SUM_PITCH + lane * SUM_PITCH + half * HALF;
    __syncthreads();
    if (share >= halves && share < 2 * halves) {
#pragma unroll
      for (int c = 0; c < HALF; ++c) {
        room[c] = sum[0][c];
        room[32 * SUM_PITCH + c] = sum[1][c];
      }
    }
    __syncthreads();
    if (share < halves) {
#pragma unroll
      for (int c = 0; c < HALF; ++c) {
        sum[0][c] += room[c];
        sum[1][c] += room[32 * SUM_PITCH + c];
      }
    }
  }
  if (share > 0) return;
#pragma unroll
  for (int f = 0; f < 2; ++f) {
    u64 frame = first + lane + 32 * f;
#pragma unroll
    for (int c = 0; c < HALF / 2; ++c) {
      u32 filter = tile * (COLUMNS / 2) + half * (HALF / 2) + c;
      if (frame < frames && filter < count) {
        ((float2*)out)[frame * bins + first_bin + filter] = make_float2(sum[f][2 * c], sum[f][2 * c + 1]);
      }
    }
  }
}
