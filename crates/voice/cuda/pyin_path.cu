// The most likely path of probabilistic YIN through voiced and unvoiced pitch bins, a block to a file
// and a thread to four neighbouring bins, which share the scores that they look at.
//
// As on the CPU: from bin k to bin j costs a triangle over j - k, normalised over what of it lies inside
// the range; voicing changes independently; a step outside the triangle costs what librosa's smallest
// number does. One barrier to a step: scores, the voiced bins that a frame allows and the best state go
// through two sets of shared memory in turn.

#include "ragged.cuh"

#define EVERY 0xffffffffu
// Bins of a thread.
#define EACH 4
#define EACH_BIN _Pragma("unroll") for (u32 q = 0; q < EACH; ++q)
// Steps whose origins are taken back to shared memory at a time.
#define ROWS 16
#define MOST_THREADS 256

extern __shared__ double path_shared[];

struct Top {
  double score;
  u32 state;
};

__device__ __forceinline__ void keep_better(Top& top, double score, u32 state) {
  if (score > top.score || (score == top.score && state < top.state)) {
    top.score = score;
    top.state = state;
  }
}

// The best state of a warp, the voiced and lower ones first.
__device__ __forceinline__ Top best_of_warp(const double* voiced, const double* unvoiced, u32 bin, u32 bins) {
  Top top = {voiced[0], bin};
#pragma unroll
  for (u32 q = 1; q < EACH; ++q) keep_better(top, voiced[q], bin + q);
  EACH_BIN keep_better(top, unvoiced[q], bins + bin + q);
#pragma unroll
  for (u32 reach = 16; reach > 0; reach /= 2) {
    double score = __shfl_xor_sync(EVERY, top.score, reach);
    u32 state = __shfl_xor_sync(EVERY, top.state, reach);
    keep_better(top, score, state);
  }
  return top;
}

// For each of a thread's bins the best of all scores in its reach, with the triangle, and the first offset
// that has it. Score m lies at m % 4 quarters and m / 4, so that lanes read neighbours; `triangle` has three
// impossible weights on either side.
__device__ __forceinline__ void best_origins(const double* scores, u32 quarter, const double* triangle,
                                             u32 width, u32 thread, double* best, u32* from) {
  double weight[EACH];
  EACH_BIN weight[q] = triangle[0];
#pragma unroll 4
  for (u32 n = 0; n < width + EACH - 1; ++n) {
    double score = scores[n % EACH * quarter + thread + n / EACH];
#pragma unroll
    for (u32 q = EACH - 1; q > 0; --q) weight[q] = weight[q - 1];
    weight[0] = triangle[EACH - 1 + n];
    EACH_BIN {
      double here = score + weight[q];
      if (here > best[q]) {
        best[q] = here;
        from[q] = n - q;
      }
    }
  }
}

// The state of each frame: a bin, or a bin plus `bins` where it is unvoiced. `tables` holds the logarithms
// of staying voiced or unvoiced, of changing, of a first state, of the impossible; the triangle's
// logarithms, lowest offset first; and minus the logarithm of what of it each bin reaches. `origins` has
// room for all states of all frames.
extern "C" __global__ void __launch_bounds__(MOST_THREADS)
pyin_path(const float* likelihoods, u64 likelihoods_length, const float* voicing, u64 voicing_length,
          const u64* file_frames, u64 file_frames_length, const double* tables, u64 tables_length,
          unsigned short* origins, u64 origins_length, u32* states, u64 states_length, u32 bins,
          u32 reach) {
  u32 width = 2 * reach + 1, threads = blockDim.x, warps = threads / 32;
  u32 quarter = threads + (2 * reach + EACH - 1) / EACH + 1;
  u32 shared_bytes;
  asm("mov.u32 %0, %%dynamic_smem_size;" : "=r"(shared_bytes));
  if (threads % 32 != 0 || threads > MOST_THREADS || bins < 1 || bins > EACH * threads) return;
  if (reach > 4096 || tables_length < 4 + (u64)width + bins || file_frames_length < 2) return;
  // The triangle; two sets of voiced and unvoiced scores, the warps' tops, their states, the masks.
  u32 span = EACH * quarter, triangle_room = width + 2 * EACH, set_doubles = 2 * span + 32;
  u64 doubles = (u64)triangle_room + 2 * (u64)set_doubles;
  u64 row_doubles = ((u64)ROWS * bins * 4 + ROWS * 4 + 7) / 8;
  if (shared_bytes / 8 < (doubles > row_doubles ? doubles : row_doubles)) return;
  double stay = tables[0], change = tables[1], start = tables[2], impossible = tables[3];
  double* triangle = path_shared;
  double* sets = triangle + triangle_room;
  u32 thread = threadIdx.x, lane = thread % 32, warp = thread / 32, first_bin = EACH * thread;
  double lost = -1.0 / 0.0;
  double normaliser[EACH];
  EACH_BIN normaliser[q] = first_bin + q < bins ? tables[4 + width + first_bin + q] : 0.0;
  u32 low = first_bin > reach ? first_bin - reach : 0;
  u32 high = min(first_bin + EACH - 1 + reach, bins - 1);
  for (u64 file = blockIdx.x; file + 1 < file_frames_length; file += gridDim.x) {
    u64 first = file_frames[file], end = file_frames[file + 1];
    if (first >= end) continue;
    if (end > likelihoods_length / bins || end > voicing_length / 2) continue;
    if (end > origins_length / (2 * (u64)bins) || end > states_length) continue;
    __syncthreads();
    for (u32 n = thread; n < triangle_room; n += threads) {
      triangle[n] = n >= EACH - 1 && n < EACH - 1 + width ? tables[4 + n - (EACH - 1)] : lost;
    }
    for (u32 n = thread; n < 2 * span; n += threads) sets[n] = sets[set_doubles + n] = lost;
    const float* row = likelihoods + first * bins + first_bin;
    double here[EACH], voiced[EACH], unvoiced[EACH], unvoiced_here = (double)voicing[2 * first + 1];
    EACH_BIN {
      bool inside = first_bin + q < bins;
      here[q] = inside ? (double)row[q] : lost;
      voiced[q] = start + here[q];
      unvoiced[q] = inside ? start + unvoiced_here : lost;
    }
    __syncthreads();
    for (u64 frame = first + 1; frame < end; ++frame) {
      double* scores = sets + (u32)(frame & 1) * set_doubles;
      double* tops = scores + 2 * span;
      u32* top_states = (u32*)(tops + 8);
      u32* masks = (u32*)(tops + 16);
      bool unvoiced_allowed = unvoiced_here > 0.5 * impossible;
      u32 allowed = 0;
      EACH_BIN allowed |= (here[q] > 0.5 * impossible ? 1u : 0u) << q;
      // Eight lanes have the bins of a word.
      allowed <<= EACH * (lane % 8);
      for (u32 distance = 1; distance < 8; distance *= 2) allowed |= __shfl_xor_sync(EVERY, allowed, distance);
      if (lane % 8 == 0) masks[thread / 8] = allowed;
      EACH_BIN {
        if (first_bin + q < bins) {
          u32 at = (reach + q) % EACH * quarter + (reach + first_bin + q) / EACH;
          scores[at] = voiced[q] + normaliser[q];
          scores[span + at] = unvoiced[q] + normaliser[q];
        }
      }
      row += bins;
      EACH_BIN here[q] = first_bin + q < bins ? (double)__ldg(row + q) : lost;
      unvoiced_here = (double)__ldg(voicing + 2 * frame + 1);
      Top top = best_of_warp(voiced, unvoiced, first_bin, bins);
      if (lane == 0) {
        tops[warp] = top.score;
        top_states[warp] = top.state;
      }
      __syncthreads();
      double best_voiced[EACH], best_unvoiced[EACH];
      u32 from_voiced[EACH], from_unvoiced[EACH];
      EACH_BIN {
        best_voiced[q] = best_unvoiced[q] = lost;
        from_voiced[q] = from_unvoiced[q] = 0;
      }
      best_origins(scores + span, quarter, triangle, width, thread, best_unvoiced, from_unvoiced);
      // Voiced and unvoiced state of a bin were reached from the same places, at costs that differ by the
      // change. Where the last frame called one impossible and not the other, the other is ahead by
      // hundreds: the impossible one is nobody's best origin.
      if (!unvoiced_allowed) {
        best_origins(scores, quarter, triangle, width, thread, best_voiced, from_voiced);
      } else if (first_bin < bins) {
        for (u32 word = low / 32; word <= high / 32; ++word) {
          u32 bits = masks[word];
          if (word == low / 32) bits &= EVERY << (low % 32);
          if (word == high / 32) bits &= EVERY >> (31 - high % 32);
          for (; bits != 0; bits &= bits - 1) {
            u32 k = 32 * word + (u32)__ffs((int)bits) - 1;
            double score = scores[(reach + k) % EACH * quarter + (reach + k) / EACH];
            EACH_BIN {
              // Beyond the triangle the weight is impossible.
              double there = score + triangle[EACH - 1 + k + reach - first_bin - q];
              if (there > best_voiced[q]) {
                best_voiced[q] = there;
                from_voiced[q] = k + reach - first_bin - q;
              }
            }
          }
        }
      }
      Top best = {tops[0], top_states[0]};
      for (u32 n = 1; n < warps; ++n) keep_better(best, tops[n], top_states[n]);
      double jump = best.score + impossible;
      EACH_BIN {
        u32 j = first_bin + q;
        if (j < bins) {
#pragma unroll
          for (u32 to = 0; to < 2; ++to) {
            double a = best_voiced[q] + (to == 0 ? stay : change);
            double b = best_unvoiced[q] + (to == 0 ? change : stay);
            u32 from = j - reach + (b > a ? bins + from_unvoiced[q] : from_voiced[q]);
            double score = b > a ? b : a;
            if (jump > score) {
              score = jump;
              from = best.state;
            }
            origins[(frame * 2 + to) * bins + j] = (unsigned short)from;
            if (to == 0) voiced[q] = score + here[q];
            else unvoiced[q] = score + unvoiced_here;
          }
        }
      }
    }
    // Back from the best of the last states.
    Top top = best_of_warp(voiced, unvoiced, first_bin, bins);
    __syncthreads();
    u32* last_states = (u32*)(sets + 32);
    if (lane == 0) {
      sets[warp] = top.score;
      last_states[warp] = top.state;
    }
    __syncthreads();
    top.score = sets[0];
    top.state = last_states[0];
    for (u32 n = 1; n < warps; ++n) keep_better(top, sets[n], last_states[n]);
    u32 state = top.state;
    u32* rows = (u32*)path_shared;
    u32* found = rows + ROWS * bins;
    __syncthreads();
    for (u64 after = end; after > first;) {
      // Frames from `before` to `after`; the origins of the first frame of all mean nothing.
      u64 before = after - first > ROWS ? after - ROWS : first;
      u32 here_rows = (u32)(after - before);
      const u32* from = (const u32*)origins + before * bins;
      for (u32 n = thread; n < here_rows * bins; n += threads) {
        if (before + n / bins > first) rows[n] = from[n];
      }
      __syncthreads();
      if (thread == 0) {
        for (u32 n = here_rows; n-- > 0;) {
          found[n] = state;
          if (before + n > first) state = ((const unsigned short*)rows)[n * 2 * bins + state];
        }
      }
      __syncthreads();
      for (u32 n = thread; n < here_rows; n += threads) states[before + n] = found[n];
      after = before;
      __syncthreads();
    }
  }
}
