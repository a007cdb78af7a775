// Onset strength from mel levels in device memory, [frame, band]: how much each band rises from a frame to the
// next, within a range of the file's loudest.

#include "loudest.cuh"

#define THREADS 256
#define WARPS (THREADS / 32)
#define ALL 0xffffffffu

// The loudest level of each file, as ranks that are 0 before; a warp takes `run` neighbouring frames.
extern "C" __global__ void __launch_bounds__(THREADS)
onset_loudest(const float* levels, u64 levels_length, const u64* file_frames, u64 file_frames_length,
              u32* loudest, u64 loudest_length, u32 bands, u32 run) {
  if (file_frames_length < 2 || loudest_length < file_frames_length - 1 || bands < 1) return;
  u64 frames = file_frames[file_frames_length - 1];
  if (frames > levels_length / bands) return;
  u32 lane = threadIdx.x % 32;
  u64 frame = ((u64)blockIdx.x * WARPS + threadIdx.x / 32) * run, end = min(frame + run, frames);
  while (frame < end) {
    u64 file = file_of(frame, file_frames, file_frames_length);
    u64 stop = min(end, file_frames[file + 1]);
    float most = -3.402823466e38f;
    for (u64 n = frame * bands + lane; n < stop * bands; n += 32) most = fmaxf(most, levels[n]);
#pragma unroll
    for (u32 reach = 16; reach > 0; reach /= 2) most = fmaxf(most, __shfl_xor_sync(ALL, most, reach));
    if (lane == 0) raise(loudest + file, most);
    frame = stop;
  }
}

// The mean rise over the bands, a warp to a frame. That from a frame to the next is written `shift` frames after
// the former; a file's first frames have none.
extern "C" __global__ void __launch_bounds__(THREADS)
onset(const float* levels, u64 levels_length, const u64* file_frames, u64 file_frames_length,
      const u32* loudest, u64 loudest_length, float* out, u64 out_length, u32 bands, u32 shift, float range) {
  if (file_frames_length < 2 || loudest_length < file_frames_length - 1 || bands < 1 || shift < 1) return;
  u64 frames = file_frames[file_frames_length - 1];
  u64 frame = (u64)blockIdx.x * WARPS + threadIdx.x / 32;
  if (frames > levels_length / bands || frames > out_length || frame >= frames) return;
  u32 lane = threadIdx.x % 32;
  u64 file = file_of(frame, file_frames, file_frames_length);
  float rise = 0.0f;
  if (frame - file_frames[file] >= shift) {
    float least = of_rank(loudest[file]) - range;
    const float* before = levels + (frame - shift) * bands;
    for (u32 band = lane; band < bands; band += 32) {
      rise += fmaxf(fmaxf(before[bands + band], least) - fmaxf(before[band], least), 0.0f);
    }
#pragma unroll
    for (u32 reach = 16; reach > 0; reach /= 2) rise += __shfl_xor_sync(ALL, rise, reach);
  }
  if (lane == 0) out[frame] = rise / bands;
}
