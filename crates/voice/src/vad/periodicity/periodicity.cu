// How periodic a signal is around each frame: the top of its normalised autocorrelation, a warp to a frame.

#include "autocorrelation.cuh"

extern __shared__ float4 dynamic_shared[];

// The highest value of every frame among the lags from `first` to before `last`, not below 0, and 0 for a frame
// whose middle is constant. `starts` holds the first sample of each frame; `unwindow` one over the window's own
// correlation.
extern "C" __global__ void __launch_bounds__(32 * WARPS)
periodicity(const float* samples, u64 samples_length, const u64* starts, u64 starts_length, const float* window,
            u64 window_length, const float* unwindow, u64 unwindow_length, float* tops, u64 tops_length,
            u32 half_length, u32 period, u32 first, u32 last, u32 lag_at, u32 warp_floats) {
  Windowed shape = windowed(half_length, period, last);
  if (!room_holds(shape, lag_at, warp_floats, window_length, unwindow_length, samples_length)) return;
  if (last < 1 || starts_length > tops_length) return;
  u32 lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  float* x = (float*)dynamic_shared + warp * warp_floats;
  float* lag = x + lag_at;
  u64 stride = (u64)gridDim.x * WARPS;
  for (u64 frame = (u64)blockIdx.x * WARPS + warp; frame < starts_length; frame += stride) {
    u64 start = starts[frame];
    if (start > samples_length - shape.length) continue;
    float peak = autocorrelate(shape, samples + start, window, unwindow, lane, x, lag);
    float top = 0.0f;
    for (u32 n = first + lane; n < last; n += 32) top = fmaxf(top, lag[n]);
    for (u32 distance = 16; distance > 0; distance /= 2) {
      top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, distance));
    }
    if (lane == 0) tops[frame] = peak > 0.0f ? top : 0.0f;
    __syncwarp();
  }
}
