// SWIPE' in three kernels: the loudness of the frames of each window, how well every candidate's kernel fits
// it, and the best candidate of each frame of the result.

#include "fourier.cuh"

#define EVERY 0xffffffffu
// Curvatures feel their neighbours by this ratio to a bin; beyond REACH bins that is less than a rounding.
#define RATIO -0.2679491924f
#define ROOT_3 1.7320508076f
#define REACH 16
// A block's part of the product of levels and kernels, and how many channels of it are in shared memory.
#define ROWS 128
#define COLUMNS 64
#define DEPTH 16
// Windows that a frame may be heard through, and frequencies tried around its best candidate.
#define WINDOWS 16
#define FINE 17u
#define LOWEST (-3.402823466e38f)

extern __shared__ float4 dynamic_shared[];

// The second difference of the magnitudes, which go on at both ends with the same slope: without it they would
// be mirrored there.
__device__ __forceinline__ float second_difference(const float* y, int n, int last, float slope) {
  while (n < 0 || n > last) n = n < 0 ? -n : 2 * last - n;
  if (n == 0) return 2.0f * (y[1] - y[0] - slope);
  if (n == last) return 2.0f * (slope - (y[last] - y[last - 1]));
  return (y[n + 1] - y[n]) - (y[n] - y[n - 1]);
}

// A sum that fades by RATIO to a term, four terms on.
__device__ __forceinline__ float after(float run, float4 terms) {
  run = fmaf(RATIO, run, terms.x);
  run = fmaf(RATIO, run, terms.y);
  run = fmaf(RATIO, run, terms.z);
  return fmaf(RATIO, run, terms.w);
}

// Levels, not yet scaled, in rows of `pitch` channels, and what scales each row to length one: the frames of all
// files of the first window, then those of the next, which is half as long, and so on. All windows share the
// grid, for one alone has too few frames to fill a GPU. A frame is two `hop` long, `hop / 4` threads to each.
//
// To each window there are a table of `file_frames` and one of taps, each a bin, two shares and a bend; window
// and roots follow each other. `slope` is per bin of the first window.
extern "C" __global__ void __launch_bounds__(1024)
swipe_loudness(const float* samples, u64 samples_length, const u64* file_samples, u64 file_samples_length,
               const u64* file_frames, u64 file_frames_length, const float* window, u64 window_length,
               const float* roots, u64 roots_length, const float* taps, u64 taps_length, float* levels,
               u64 levels_length, float* scales, u64 scales_length, u32 windows, u32 hop, u32 pitch,
               float slope) {
  u64 files = file_samples_length / 2, first_row = 0, first = blockIdx.x, frames = 0;
  if (hop > 4096 || (hop & (hop - 1)) != 0 || windows < 1 || file_frames_length < windows * (files + 1)) return;
  u32 shared_bytes, channels = (u32)(taps_length / (4 * windows)), groups = 0;
  asm("mov.u32 %0, %%dynamic_smem_size;" : "=r"(shared_bytes));
  for (u32 n = 0;; ++n) {
    if (n == windows || hop < 8 || blockDim.x % (hop / 4) != 0) return;
    if (window_length < 2 * (u64)hop || roots_length < 4 * (u64)hop) return;
    frames = file_frames[files];
    groups = blockDim.x / (hop / 4);
    u64 blocks = (frames + groups - 1) / groups;
    if (first < blocks) break;
    first -= blocks;
    first_row += frames;
    file_frames += files + 1;
    window += 2 * hop;
    window_length -= 2 * hop;
    roots += 4 * hop;
    roots_length -= 4 * hop;
    taps += 4 * channels;
    slope *= 2.0f;
    hop /= 2;
  }
  u32 points = hop, group_threads = points / 4;
  if (channels > pitch || shared_bytes < groups * (20 * points + 8 * REACH)) return;
  if (first_row + frames > scales_length || first_row + frames > levels_length / pitch) return;
  u32 group = threadIdx.x / group_threads, t = threadIdx.x % group_threads;
  const float2* root = (const float2*)roots;
  float2* front = (float2*)dynamic_shared + group * points;
  float2* back = front + groups * points;
  float* differences = (float*)((float2*)dynamic_shared + 2 * groups * points) + group * (points + 2 * REACH);
  u64 frame = first * groups + group;
  Place place;
  bool active = find_frame(frame, samples, samples_length, file_samples, file_samples_length, file_frames,
                           files + 1, hop, hop, &place);
  take_windowed(place, active, points, t, group_threads, 0, window, front);
  __syncthreads();
  float2* bins = transform(front, back, points, t, root);
  float* y = (float*)(bins == front ? back : front);
  float* bends = y + points;
  for (u32 k = t; k <= points / 2; k += group_threads) {
    float2 low = make_float2(bins[0].x + bins[0].y, 0.0f), high;
    if (k > 0) {
      split(bins, points, k, root, &low, &high);
      y[points - k] = sqrtf(fmaf(high.x, high.x, high.y * high.y));
    }
    y[k] = sqrtf(fmaf(low.x, low.x, low.y * low.y));
  }
  __syncthreads();
  for (int n = (int)t - REACH; n < (int)points + REACH; n += (int)group_threads) {
    differences[n + REACH] = second_difference(y, n, (int)points - 1, slope);
  }
  __syncthreads();
  // Four bins to a thread: what comes from below and what comes from above.
  const float4* quad = (const float4*)differences + t;
  float run = 0.0f;
#pragma unroll
  for (u32 q = 0; q < REACH / 4; ++q) run = after(run, quad[q]);
  float4 own = quad[REACH / 4], below;
  below.x = fmaf(RATIO, run, own.x);
  below.y = fmaf(RATIO, below.x, own.y);
  below.z = fmaf(RATIO, below.y, own.z);
  below.w = fmaf(RATIO, below.z, own.w);
  run = 0.0f;
#pragma unroll
  for (u32 q = REACH / 2; q > REACH / 4; --q) {
    float4 those = quad[q];
    run = after(run, make_float4(those.w, those.z, those.y, those.x));
  }
  // The bin itself came from below.
  float4 bend;
  bend.w = ROOT_3 * fmaf(RATIO, run, below.w);
  run = fmaf(RATIO, run, own.w);
  bend.z = ROOT_3 * fmaf(RATIO, run, below.z);
  run = fmaf(RATIO, run, own.z);
  bend.y = ROOT_3 * fmaf(RATIO, run, below.y);
  run = fmaf(RATIO, run, own.y);
  bend.x = ROOT_3 * fmaf(RATIO, run, below.x);
  ((float4*)bends)[t] = bend;
  __syncthreads();
  float sum = 0.0f;
  float* row = levels + (first_row + frame) * pitch;
  for (u32 c = t; active && c < pitch; c += group_threads) {
    float value = 0.0f;
    if (c < channels) {
      float4 tap = ((const float4*)taps)[c];
      u32 at = min((u32)tap.x, points - 2);
      float line = fmaf(y[at + 1], tap.z, y[at] * tap.y);
      // Nothing that is not above zero is heard, nor what is not a number.
      value = fmaxf(fmaf(bends[at] * bends[at + 1], tap.w, line), 0.0f);
    }
    sum += value;
    row[c] = sqrtf(value);
  }
  float* sums = (float*)bins;
  sums[t] = sum;
  __syncthreads();
  for (u32 step = group_threads / 2; step > 0; step /= 2) {
    if (t < step) sums[t] += sums[t + step];
    __syncthreads();
  }
  if (active && t == 0) scales[first_row + frame] = 1.0f / sqrtf(fmaxf(sums[0], 1.17549435e-38f));
}

// Four levels of a row, and four kernels of a channel; zeros where there are none.
__device__ __forceinline__ float4 four_of(const float* from, bool there) {
  return there ? *(const float4*)from : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
}

// `out[row][column] = scales[row] * sum over channels of levels[row][channel] * kernels[channel][base + column]`,
// a tile to a block. A tile is its first row, the row behind the window's last, the window's base, its first
// column, and the first channel that counts. A row of `levels` has `pitch` channels, one of `kernels` `columns`
// candidates, one of `out` `width`.
extern "C" __global__ void __launch_bounds__(256)
swipe_strengths(const float* levels, u64 levels_length, const float* scales, u64 scales_length,
                const float* kernels, u64 kernels_length, const u64* tiles, u64 tiles_length, float* out,
                u64 out_length, u32 pitch, u32 columns, u32 width) {
  __shared__ float a[DEPTH][ROWS + 4];
  __shared__ float b[DEPTH][COLUMNS];
  if (blockDim.x != 256 || pitch % DEPTH != 0 || columns % 4 != 0 || width % 4 != 0) return;
  if (kernels_length < (u64)pitch * columns) return;
  u32 t = threadIdx.x, across = t % 16 * 4, down = t / 16 * 8;
  for (u64 tile = blockIdx.x; tile < tiles_length / 5; tile += gridDim.x) {
    const u64* its = tiles + 5 * tile;
    u64 first = its[0], end = its[1];
    u32 base = (u32)its[2], column = (u32)its[3], channel = (u32)its[4] / DEPTH * DEPTH;
    if (end > scales_length || end > levels_length / pitch || end > out_length / width || base % 4 != 0) return;
    // What a thread brings of the next channels: two times four levels and four kernels.
    u64 row = first + t / 4;
    const float* level = levels + row * pitch + t % 4 * 4;
    const float* kernel = kernels + (u64)(t / 16) * columns + base + column + across;
    bool near = row < end, far = row + 64 < end, heard = base + column + across < columns;
    float4 low = four_of(level + channel, near), high = four_of(level + 64 * pitch + channel, far);
    float4 weights = four_of(kernel + (u64)channel * columns, heard);
    float sums[8][4] = {};
    for (; channel < pitch; channel += DEPTH) {
      u32 quad = t % 4 * 4, at = t / 4;
      a[quad][at] = low.x;
      a[quad + 1][at] = low.y;
      a[quad + 2][at] = low.z;
      a[quad + 3][at] = low.w;
      a[quad][at + 64] = high.x;
      a[quad + 1][at + 64] = high.y;
      a[quad + 2][at + 64] = high.z;
      a[quad + 3][at + 64] = high.w;
      *(float4*)&b[t / 16][across] = weights;
      __syncthreads();
      u32 next = channel + DEPTH;
      if (next < pitch) {
        low = four_of(level + next, near);
        high = four_of(level + 64 * pitch + next, far);
        weights = four_of(kernel + (u64)next * columns, heard);
      }
#pragma unroll
      for (u32 k = 0; k < DEPTH; ++k) {
        float4 upper = *(const float4*)&a[k][down], lower = *(const float4*)&a[k][down + 4];
        float4 these = *(const float4*)&b[k][across];
        float left[8] = {upper.x, upper.y, upper.z, upper.w, lower.x, lower.y, lower.z, lower.w};
#pragma unroll
        for (u32 i = 0; i < 8; ++i) {
          sums[i][0] = fmaf(left[i], these.x, sums[i][0]);
          sums[i][1] = fmaf(left[i], these.y, sums[i][1]);
          sums[i][2] = fmaf(left[i], these.z, sums[i][2]);
          sums[i][3] = fmaf(left[i], these.w, sums[i][3]);
        }
      }
      __syncthreads();
    }
#pragma unroll
    for (u32 i = 0; i < 8; ++i) {
      u64 to = first + down + i;
      if (to >= end || column + across >= width) continue;
      float scale = scales[to];
      float4 four = make_float4(scale * sums[i][0], scale * sums[i][1], scale * sums[i][2], scale * sums[i][3]);
      *(float4*)(out + to * width + column + across) = four;
    }
  }
}

// What is the same for all candidates of a frame, to each window: the row before it, how far it is on the way
// to the next, and the candidates heard.
struct Between {
  const float* row;
  float share;
  u32 start, end;
};

// What a window says of a candidate; nothing of those that it does not hear.
__device__ __forceinline__ float heard(const Between& between, const float* rows, u32 candidate, u32 width) {
  bool inside = candidate >= between.start && candidate < between.end;
  const float* row = inside ? between.row + candidate : rows;
  float before = row[0], after = row[width];
  return inside ? fmaf(between.share, after - before, before) : 0.0f;
}

// `weights` holds to each candidate the first window that hears it, how much that one counts, and how much the
// next.
__device__ __forceinline__ float strength(const Between* between, const float* rows, u32 candidate, u32 width,
                                          const float4* weights) {
  float4 own = weights[candidate];
  u32 first = min((u32)own.x, WINDOWS - 2u);
  u32 second = own.z != 0.0f ? first + 1 : first;
  return heard(between[first], rows, candidate, width) * own.y +
         heard(between[second], rows, candidate, width) * own.z;
}

// Frequency, 0 where unvoiced, and strength of every frame, a warp to each. `first_rows` holds the first row of
// each file for each window, and behind them the number of rows; `windows` the hop, the candidates heard and the
// base of each; `fine` the outer places of a parabola, the places tried on it, and the factors that they mean.
extern "C" __global__ void __launch_bounds__(128)
swipe_choose(const float* rows, u64 rows_length, const u64* file_frames, u64 file_frames_length,
             const u64* first_rows, u64 first_rows_length, const u32* windows, u64 windows_length,
             const float* weights, u64 weights_length, const double* pitches, u64 pitches_length,
             const double* fine, u64 fine_length, float* out, u64 out_length, u32 hop, u32 width,
             float threshold) {
  __shared__ Between shared[4][WINDOWS];
  u32 count = (u32)(windows_length / 4), candidates = (u32)pitches_length;
  if (blockDim.x != 128 || count > WINDOWS || candidates < 1 || fine_length < 2 + 2 * FINE) return;
  if (file_frames_length < 2 || weights_length < 4 * (u64)candidates) return;
  u64 files = file_frames_length - 1, frames = file_frames[files];
  if (first_rows_length < count * files + 1 || frames > out_length / 2) return;
  if (first_rows[count * files] > rows_length / width || rows_length / width < 2) return;
  u32 lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  Between* between = shared[warp];
  for (u64 frame = (u64)blockIdx.x * 4 + warp; frame < frames; frame += (u64)gridDim.x * 4) {
    u64 file = 0, above = files;
    while (above - file > 1) {
      u64 middle = (file + above) / 2;
      if (file_frames[middle] <= frame) file = middle; else above = middle;
    }
    u64 at = (frame - file_frames[file]) * hop;
    __syncwarp();
    if (lane < WINDOWS) between[lane].start = between[lane].end = 0;
    if (lane < count) {
      u32 apart = windows[4 * lane], base = windows[4 * lane + 3];
      u64 row = first_rows[lane * files + file] + at / apart;
      // The next row is read too.
      bool inside = row + 1 < first_rows[lane * files + file + 1];
      between[lane].row = rows + row * width - base;
      between[lane].share = (float)(at % apart) / (float)apart;
      between[lane].start = windows[4 * lane + 1];
      between[lane].end = inside ? min(min(windows[4 * lane + 2], candidates), base + width) : 0;
    }
    __syncwarp();
    float best = LOWEST;
    u32 chosen = 0;
#pragma unroll 4
    for (u32 c = lane; c < candidates; c += 32) {
      float here = strength(between, rows, c, width, (const float4*)weights);
      if (here > best) {
        best = here;
        chosen = c;
      }
    }
    for (u32 distance = 16; distance > 0; distance /= 2) {
      float other = __shfl_xor_sync(EVERY, best, distance);
      u32 its = __shfl_xor_sync(EVERY, chosen, distance);
      if (other > best || (other == best && its < chosen)) {
        best = other;
        chosen = its;
      }
    }
    double frequency = 0.0;
    if (best > threshold) {
      frequency = pitches[0];
      if (chosen > 0 && chosen + 1 < candidates) {
        u32 neighbour = min(chosen - 1 + lane, candidates - 1);
        float own = strength(between, rows, neighbour, width, (const float4*)weights);
        double before = __shfl_sync(EVERY, own, 0), here = __shfl_sync(EVERY, own, 1);
        double after = __shfl_sync(EVERY, own, 2), left = fine[0], right = fine[1];
        double rise = (before - here) / left, fall = (after - here) / right;
        double bend = (rise - fall) / (left - right), slope = rise - bend * left;
        double x = lane < FINE ? fine[2 + lane] : 0.0;
        double top = lane < FINE ? x * (slope + bend * x) : LOWEST;
        u32 step = lane;
        for (u32 distance = 16; distance > 0; distance /= 2) {
          double other = __shfl_xor_sync(EVERY, top, distance);
          u32 its = __shfl_xor_sync(EVERY, step, distance);
          if (other > top || (other == top && its < step)) {
            top = other;
            step = its;
          }
        }
        frequency = pitches[chosen - 1] * fine[2 + FINE + min(step, FINE - 1)];
      }
    }
    if (lane == 0) {
      out[2 * frame] = (float)frequency;
      out[2 * frame + 1] = fmaxf(best, 0.0f);
    }
  }
}
