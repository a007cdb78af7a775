// Cepstra of mel levels: the loudest level of each file, and cosines over levels within a range of it.

#include "loudest.cuh"

// Raises loudest[file], which begins at 0, to the rank of the file's loudest level.
extern "C" __global__ void mel_loudest(const float* levels, u64 levels_length, const u64* file_frames,
                                       u64 file_frames_length, u32* loudest, u64 loudest_length, u32 filters) {
  if (file_frames_length < 2 || loudest_length < file_frames_length - 1) return;
  u64 frames = file_frames[file_frames_length - 1];
  if (frames * filters > levels_length) return;
  u64 step = (u64)gridDim.x * blockDim.x;
  for (u64 frame = (u64)blockIdx.x * blockDim.x + threadIdx.x; frame < frames; frame += step) {
    float most = levels[frame * filters];
    for (u32 n = 1; n < filters; ++n) most = fmaxf(most, levels[frame * filters + n]);
    raise(loudest + file_of(frame, file_frames, file_frames_length), most);
  }
}

// out[frame, coefficient] = the sum of cosines[coefficient, filter] times levels, of which none counts as lower than
// `range` below the loudest of its file. A thread to a coefficient.
extern "C" __global__ void mel_cepstrum(const float* levels, u64 levels_length, const u64* file_frames,
                                        u64 file_frames_length, const u32* loudest, u64 loudest_length,
                                        const float* cosines, u64 cosines_length, float* out, u64 out_length,
                                        u32 filters, u32 coefficients, float range) {
  u64 thread = (u64)blockIdx.x * blockDim.x + threadIdx.x;
  if (coefficients == 0 || (u64)coefficients * filters > cosines_length || thread >= out_length) return;
  u64 frame = thread / coefficients, coefficient = thread % coefficients;
  if (file_frames_length < 2 || loudest_length < file_frames_length - 1) return;
  if (frame >= file_frames[file_frames_length - 1] || (frame + 1) * filters > levels_length) return;
  float floor = of_rank(loudest[file_of(frame, file_frames, file_frames_length)]) - range;
  const float *level = levels + frame * filters, *cosine = cosines + coefficient * filters;
  float sum = 0.0f;
  for (u32 n = 0; n < filters; ++n) sum = fmaf(cosine[n], fmaxf(level[n], floor), sum);
  out[thread] = sum;
}
