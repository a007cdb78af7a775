// The best way through pitch candidates, a warp to a file, and the level that silence is measured
// against.

#include "ragged.cuh"

#define EVERY 0xffffffffu
#define THREADS 256
// Candidates of a frame that have room, beside the unvoiced one.
#define MOST 16
// Origins of a frame's candidates, a byte each: two loads of 16.
#define ROW 32

// Sum, least and largest sample of each tile of the batch, in threes; `tiles` holds where each begins and
// ends, in pairs.
extern "C" __global__ void __launch_bounds__(THREADS)
levels(const float* samples, u64 samples_length, const u64* tiles, u64 tiles_length, double* out,
       u64 out_length) {
  __shared__ double parts[3 * THREADS / 32];
  if (blockDim.x != THREADS || tiles_length / 2 > out_length / 3) return;
  for (u64 tile = blockIdx.x; tile < tiles_length / 2; tile += gridDim.x) {
    u64 begin = tiles[2 * tile], end = min(tiles[2 * tile + 1], samples_length);
    double sum = 0.0;
    float least = 3.4e38f, largest = -3.4e38f;
    for (u64 n = begin + threadIdx.x; n < end; n += THREADS) {
      float sample = __ldg(samples + n);
      sum += (double)sample;
      least = fminf(least, sample);
      largest = fmaxf(largest, sample);
    }
    for (u32 reach = 16; reach > 0; reach /= 2) {
      sum += __shfl_xor_sync(EVERY, sum, reach);
      least = fminf(least, __shfl_xor_sync(EVERY, least, reach));
      largest = fmaxf(largest, __shfl_xor_sync(EVERY, largest, reach));
    }
    __syncthreads();
    if (threadIdx.x % 32 == 0) {
      double* part = parts + 3 * (threadIdx.x / 32);
      part[0] = sum;
      part[1] = least;
      part[2] = largest;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
      for (u32 n = 1; n < THREADS / 32; ++n) {
        parts[0] += parts[3 * n];
        parts[1] = fmin(parts[1], parts[3 * n + 1]);
        parts[2] = fmax(parts[2], parts[3 * n + 2]);
      }
      for (u32 n = 0; n < 3; ++n) out[3 * tile + n] = parts[n];
    }
  }
}

// Frequency and strength of each frame in pairs, both 0 where it is unvoiced. `levels` holds the tiles
// of each file between two of `file_tiles`; `costs` the ceiling, what an octave below it costs, what an
// octave of a jump, what a change of voicing, the strength of the unvoiced candidate and the share of
// the loudest sample that is silence.
extern "C" __global__ void __launch_bounds__(32)
praat_path(const float* peaks, u64 peaks_length, const u32* counts, u64 counts_length,
           const double* candidates, u64 candidates_length, const double* level_of_tiles,
           u64 level_of_tiles_length, const u64* file_tiles, u64 file_tiles_length,
           const u64* file_samples, u64 file_samples_length, const u64* file_frames,
           u64 file_frames_length, const double* costs, u64 costs_length, unsigned char* origins,
           u64 origins_length, float* track, u64 track_length) {
  if (blockDim.x != 32 || costs_length < 6 || file_frames_length < 2) return;
  if (file_tiles_length < file_frames_length) return;
  if (file_samples_length / 2 < file_frames_length - 1) return;
  double ceiling = costs[0], octave = costs[1], octave_jump = costs[2], change = costs[3];
  double voicing = costs[4], silence = costs[5];
  u32 lane = threadIdx.x;
  for (u64 file = blockIdx.x; file + 1 < file_frames_length; file += gridDim.x) {
    u64 first = file_frames[file], end = file_frames[file + 1];
    if (first >= end || end > peaks_length || end > counts_length) continue;
    if (end > candidates_length / (2 * MOST) || end > origins_length / ROW || end > track_length / 2) continue;
    if (file_tiles[file + 1] > level_of_tiles_length / 3) continue;
    double sum = 0.0, least = 3.4e38, largest = -3.4e38;
    for (u64 tile = file_tiles[file] + lane; tile < file_tiles[file + 1]; tile += 32) {
      sum += level_of_tiles[3 * tile];
      least = fmin(least, level_of_tiles[3 * tile + 1]);
      largest = fmax(largest, level_of_tiles[3 * tile + 2]);
    }
    for (u32 reach = 16; reach > 0; reach /= 2) {
      sum += __shfl_xor_sync(EVERY, sum, reach);
      least = fmin(least, __shfl_xor_sync(EVERY, least, reach));
      largest = fmax(largest, __shfl_xor_sync(EVERY, largest, reach));
    }
    double mean = sum / (double)(file_samples[2 * file + 1] - file_samples[2 * file]);
    double loudest = fmax(fmax(largest - mean, mean - least), 2.2250738585072014e-308);
    // Lane 0 is the unvoiced candidate. What the next frame has is loaded a step ahead.
    u32 next_count = min(counts[first], (u32)MOST);
    float next_peak = peaks[first];
    double2 next = make_double2(0.0, 0.0);
    if (lane >= 1 && lane <= next_count) next = ((const double2*)candidates)[first * MOST + lane - 1];
    double score = 0.0, height = 0.0;
    u32 count = 0;
    for (u64 frame = first; frame < end; ++frame) {
      u32 count_before = count;
      double score_before = score, height_before = height;
      count = next_count;
      double frequency = next.x, strength = next.y;
      double intensity = fmin((double)next_peak / loudest, 1.0);
      if (frame + 1 < end) {
        next_count = min(counts[frame + 1], (u32)MOST);
        next_peak = peaks[frame + 1];
        if (lane >= 1 && lane <= next_count) {
          next = ((const double2*)candidates)[(frame + 1) * MOST + lane - 1];
        }
      }
      bool candidate = lane >= 1 && lane <= count;
      height = candidate ? log2(frequency) : 0.0;
      double value = candidate ? strength - octave * (log2(ceiling) - height)
                               : voicing + fmax(2.0 - intensity / (silence / (1.0 + voicing)), 0.0);
      if (frame == first) {
        score = value;
      } else {
        double best = __shfl_sync(EVERY, score_before, 0) - (lane == 0 ? 0.0 : change);
        u32 origin = 0;
        for (u32 n = 1; n <= count_before; ++n) {
          double other = __shfl_sync(EVERY, height_before, n);
          double cost = lane == 0 ? change : octave_jump * fabs(other - height);
          double from = __shfl_sync(EVERY, score_before, n) - cost;
          if (from > best) {
            best = from;
            origin = n;
          }
        }
        score = best + value;
        if (lane <= count) origins[frame * ROW + lane] = (unsigned char)origin;
      }
    }
    u32 at = 0;
    double best = __shfl_sync(EVERY, score, 0);
    for (u32 n = 1; n <= count; ++n) {
      double other = __shfl_sync(EVERY, score, n);
      if (other > best) {
        best = other;
        at = n;
      }
    }
    __syncwarp();
    // Back, 32 frames at a time: lane l has the origins of the frame l before the last of them.
    for (u64 after = end; after > first;) {
      u32 here = (u32)(after - first < 32 ? after - first : 32);
      u64 own = after - 1 - (lane < here ? lane : here - 1);
      u32 words[ROW / 4];
      const uint4* row = (const uint4*)(origins + own * ROW);
      uint4 low = row[0], high = row[1];
      words[0] = low.x; words[1] = low.y; words[2] = low.z; words[3] = low.w;
      words[4] = high.x; words[5] = high.y; words[6] = high.z; words[7] = high.w;
      u32 mine = 0;
      for (u32 n = 0; n < here; ++n) {
        if (lane == n) mine = at;
        u32 word = 0;
#pragma unroll
        for (u32 w = 0; w < ROW / 4; ++w) word = at / 4 == w ? words[w] : word;
        u32 origin = (word >> (8 * (at % 4))) & 255u;
        // The first frame of all came from nowhere; what it says is not used.
        at = min(__shfl_sync(EVERY, origin, n), (u32)MOST);
      }
      if (lane < here) {
        double2 found = make_double2(0.0, 0.0);
        if (mine > 0) found = ((const double2*)candidates)[own * MOST + mine - 1];
        track[2 * own] = (float)found.x;
        track[2 * own + 1] = (float)found.y;
      }
      after -= here;
    }
    __syncwarp();
  }
}
