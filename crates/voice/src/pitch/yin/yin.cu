// YIN pitch, one warp to a frame, from samples to a frequency: no correlation ever reaches device
// memory.

#include "correlation.cuh"

extern __shared__ float4 dynamic_shared[];

// Frequencies of all frames. A block has four warps and, for each, room for the padded frame with a
// pass of zeros behind every pass of lags, and for the lags.
extern "C" __global__ void __launch_bounds__(32 * WARPS)
yin(const float* samples, u64 samples_length, const u64* file_samples, u64 file_samples_length,
    const u64* file_frames, u64 file_frames_length, float* out, u64 out_length, u32 frame_length,
    u32 hop, u32 left, u32 shortest, u32 longest, u32 warp_floats, float threshold,
    float sample_rate) {
  if (shortest < 1 || shortest >= longest || longest >= frame_length || frame_length % 32 != 0) return;
  u32 passes = longest / PASS + 1;
  u32 reach = frame_length + passes * PASS + 8;
  u32 shared_bytes;
  asm("mov.u32 %0, %%dynamic_smem_size;" : "=r"(shared_bytes));
  u32 lag_room = passes * PASS;
  if (blockDim.x != 32 * WARPS || frame_length > 65536 || longest > 65536) return;
  if (warp_floats % 4 != 0 || warp_floats < slot(reach) + 4 + lag_room) return;
  if (shared_bytes / (4 * WARPS) < warp_floats) return;
  u32 lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  float* x = (float*)dynamic_shared + warp * warp_floats;
  float* lag = x + slot(reach) + 4;
  u64 frames = file_frames_length > 0 ? file_frames[file_frames_length - 1] : 0;
  for (u32 n = frame_length + lane; n < reach; n += 32) x[slot(n)] = 0.0f;
  for (u64 frame = (u64)blockIdx.x * WARPS + warp; frame < frames; frame += (u64)gridDim.x * WARPS) {
    Place place;
    if (!find_frame(frame, samples, samples_length, file_samples, file_samples_length, file_frames,
                    file_frames_length, hop, left, &place)) {
      continue;
    }
    take_frame(place, frame_length, lane, x);
    __syncwarp();
    correlate(x, frame_length, passes, lane, lag);
    __syncwarp();
    normalise(x, lag, longest, lane);
    __syncwarp();
    u32 chosen = 0;
    float lowest = 3.4e38f;
    u32 lowest_at = shortest;
    for (u32 base = shortest; base <= longest && chosen == 0; base += 32) {
      u32 k = base + lane;
      bool trough = false;
      if (k <= longest) {
        float here = lag[k];
        if (here < lowest) {
          lowest = here;
          lowest_at = k;
        }
        trough = here < threshold && is_trough(lag, k, shortest, longest);
      }
      u32 troughs = __ballot_sync(0xffffffffu, trough);
      if (troughs != 0) chosen = base + __ffs((int)troughs) - 1;
    }
    if (chosen == 0) {
      for (u32 reach = 16; reach > 0; reach /= 2) {
        float other = __shfl_down_sync(0xffffffffu, lowest, reach);
        u32 other_at = __shfl_down_sync(0xffffffffu, lowest_at, reach);
        if (other < lowest || (other == lowest && other_at < lowest_at)) {
          lowest = other;
          lowest_at = other_at;
        }
      }
      chosen = __shfl_sync(0xffffffffu, lowest_at, 0);
    }
    if (lane == 0 && frame < out_length) {
      float period = (float)chosen;
      if (chosen > shortest && chosen < longest) period += parabolic_shift(lag, chosen);
      out[frame] = sample_rate / period;
    }
    __syncwarp();
  }
}
