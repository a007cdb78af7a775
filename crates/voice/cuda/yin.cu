// YIN pitch, one warp to a frame, from samples to a frequency: no correlation ever reaches device
// memory.
//
// The correlation is the cost. Lane l sums the lags 8 l to 8 l + 7 of a pass of 256; eight samples
// times the sixteen that these lags reach are 64 products for four loads of 16 bytes.

#include "ragged.cuh"

#define WARPS 4
#define PASS 256

extern __shared__ float4 dynamic_shared[];

__device__ float running_sum(float value, u32 lane) {
  for (u32 reach = 1; reach < 32; reach *= 2) {
    float before = __shfl_up_sync(0xffffffffu, value, reach);
    if (lane >= reach) value += before;
  }
  return value;
}

// Where sample n lies: 4 floats of padding to every 32 keep the lanes' strides of 8 apart.
__device__ __forceinline__ u32 slot(u32 n) { return n + (n / 32) * 4; }

__device__ __forceinline__ void load_eight(const float* from, float* to) {
  float4 a = ((const float4*)from)[0], b = ((const float4*)from)[1];
  to[0] = a.x; to[1] = a.y; to[2] = a.z; to[3] = a.w;
  to[4] = b.x; to[5] = b.y; to[6] = b.z; to[7] = b.w;
}

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
    if (place.start >= 0 && place.start + frame_length <= place.length) {
      const float* from = place.samples + place.start;
#pragma unroll 8
      for (u32 n = lane; n < frame_length; n += 32) x[slot(n)] = __ldg(from + n);
    } else {
      for (u32 n = lane; n < frame_length; n += 32) x[slot(n)] = sample_at(place, place.start + n, 0);
    }
    __syncwarp();
    for (u32 pass = 0; pass < passes; ++pass) {
      u32 base = pass * PASS + 8 * lane;
      float sum[8] = {0.0f}, held[16], factor[8];
      load_eight(x + slot(base), held);
      const float* reached[4];
#pragma unroll
      for (u32 q = 0; q < 4; ++q) reached[q] = x + slot(base + 8 + 8 * q);
      // 32 samples are 36 floats, wherever they start.
      for (u32 offset = 0; offset < frame_length / 32 * 36; offset += 36) {
#pragma unroll
        for (u32 q = 0; q < 4; ++q) {
          load_eight(x + offset + 8 * q, factor);
          load_eight(reached[q] + offset, held + 8);
#pragma unroll
          for (u32 n = 0; n < 8; ++n) {
#pragma unroll
            for (u32 i = 0; i < 8; ++i) sum[i] = fmaf(factor[n], held[n + i], sum[i]);
          }
#pragma unroll
          for (u32 i = 0; i < 8; ++i) held[i] = held[i + 8];
        }
      }
#pragma unroll
      for (u32 i = 0; i < 8; i += 4) {
        *(float4*)(lag + base + i) = make_float4(sum[i], sum[i + 1], sum[i + 2], sum[i + 3]);
      }
    }
    __syncwarp();
    float at_zero = lag[0];
    float energy_before = 0.0f, sum_before = 0.0f;
    for (u32 base = 1; base <= longest; base += 32) {
      u32 k = base + lane;
      bool inside = k <= longest;
      float sample = inside ? x[slot(k - 1)] : 0.0f;
      float energy = running_sum(sample * sample, lane) + energy_before;
      float head = k == 1 ? 0.0f : energy;
      float difference = inside ? 2.0f * (at_zero - lag[k]) - head : 0.0f;
      float sum = running_sum(difference, lane) + sum_before;
      if (inside) lag[k] = difference / (sum / (float)k + 1.17549435e-38f);
      energy_before = __shfl_sync(0xffffffffu, energy, 31);
      sum_before = __shfl_sync(0xffffffffu, sum, 31);
    }
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
        bool falls = k == shortest || here < lag[k - 1];
        bool rises = k == longest || (k == shortest ? here < lag[k + 1] : here <= lag[k + 1]);
        trough = falls && rises && here < threshold;
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
      if (chosen > shortest && chosen < longest) {
        float before = lag[chosen - 1], here = lag[chosen], after = lag[chosen + 1];
        float curvature = after + before - 2.0f * here, slope = 0.5f * (after - before);
        if (fabsf(slope) < fabsf(curvature)) period -= slope / curvature;
      }
      out[frame] = sample_rate / period;
    }
    __syncwarp();
  }
}
