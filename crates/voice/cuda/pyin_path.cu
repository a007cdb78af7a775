// The most likely path of probabilistic YIN through voiced and unvoiced pitch bins, a block to a file
// and a thread to a bin.
//
// As on the CPU: from bin k to bin j costs a triangle over j - k, normalised over what of it lies inside
// the range; voicing changes independently; a step outside the triangle costs what librosa's smallest
// number does. One barrier to a step: scores, the voiced bins that a frame allows and the best state go
// through two sets of shared memory in turn.

#include "ragged.cuh"

#define EVERY 0xffffffffu
// Steps whose origins are taken back to shared memory at a time.
#define ROWS 16

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

// The best of a warp's states, the voiced and lower ones first.
__device__ __forceinline__ Top best_of_warp(double voiced, double unvoiced, u32 bin, u32 bins) {
  Top top = {voiced, bin};
  if (unvoiced > voiced) {
    top.score = unvoiced;
    top.state = bins + bin;
  }
#pragma unroll
  for (u32 reach = 16; reach > 0; reach /= 2) {
    double score = __shfl_xor_sync(EVERY, top.score, reach);
    u32 state = __shfl_xor_sync(EVERY, top.state, reach);
    keep_better(top, score, state);
  }
  return top;
}

// The state of each frame: a bin, or a bin plus `bins` where it is unvoiced. `tables` holds the logarithms
// of staying voiced or unvoiced, of changing, of a first state, of the impossible; the triangle's
// logarithms, lowest offset first; and minus the logarithm of what of it each bin reaches. `origins` has
// room for all states of all frames.
extern "C" __global__ void __launch_bounds__(1024)
pyin_path(const float* likelihoods, u64 likelihoods_length, const float* voicing, u64 voicing_length,
          const u64* file_frames, u64 file_frames_length, const double* tables, u64 tables_length,
          unsigned short* origins, u64 origins_length, u32* states, u64 states_length, u32 bins,
          u32 reach) {
  u32 width = 2 * reach + 1, threads = blockDim.x, warps = threads / 32;
  u32 span = threads + 2 * reach;
  u32 shared_bytes;
  asm("mov.u32 %0, %%dynamic_smem_size;" : "=r"(shared_bytes));
  if (threads % 32 != 0 || threads > 1024 || bins < 1 || bins > threads || reach > 4096) return;
  if (tables_length < 4 + (u64)width + bins || file_frames_length < 2) return;
  // Two sets of bordered scores, of tops and of masks; the triangle.
  u64 doubles = (u64)width + 2 * (2 * (u64)span + 64);
  u64 row_doubles = ((u64)ROWS * bins * 4 + ROWS * 4 + 7) / 8;
  if (shared_bytes / 8 < (doubles > row_doubles ? doubles : row_doubles)) return;
  double stay = tables[0], change = tables[1], start = tables[2], impossible = tables[3];
  double* triangle = path_shared;
  // A set: voiced and unvoiced scores between borders, the warps' tops, their states, the masks.
  double* sets = triangle + width;
  u32 set_doubles = 2 * span + 64;
  u32 j = threadIdx.x, lane = j % 32, warp = j / 32;
  bool inside = j < bins;
  double lost = -1.0 / 0.0;
  double normaliser = inside ? tables[4 + width + j] : 0.0;
  u32 low = j > reach ? j - reach : 0, high = min(j + reach, bins - 1);
  for (u64 file = blockIdx.x; file + 1 < file_frames_length; file += gridDim.x) {
    u64 first = file_frames[file], end = file_frames[file + 1];
    if (first >= end) continue;
    if (end > likelihoods_length / bins || end > voicing_length / 2) continue;
    if (end > origins_length / (2 * (u64)bins) || end > states_length) continue;
    __syncthreads();
    for (u32 n = j; n < width; n += threads) triangle[n] = tables[4 + n];
    for (u32 n = j; n < 2 * span; n += threads) sets[n] = sets[set_doubles + n] = lost;
    const float* row = likelihoods + first * bins + j;
    double here = inside ? (double)*row : lost, unvoiced_here = (double)voicing[2 * first + 1];
    double voiced = inside ? start + here : lost, unvoiced = inside ? start + unvoiced_here : lost;
    __syncthreads();
    for (u64 frame = first + 1; frame < end; ++frame) {
      double* scores = sets + (u32)(frame & 1) * set_doubles;
      double* tops = scores + 2 * span;
      u32* top_states = (u32*)(tops + 32);
      u32* masks = (u32*)(tops + 48);
      bool unvoiced_allowed = unvoiced_here > 0.5 * impossible;
      u32 allowed = __ballot_sync(EVERY, here > 0.5 * impossible);
      Top top = best_of_warp(voiced, unvoiced, j, bins);
      if (inside) {
        scores[reach + j] = voiced + normaliser;
        scores[span + reach + j] = unvoiced + normaliser;
      }
      if (lane == 0) {
        tops[warp] = top.score;
        top_states[warp] = top.state;
        masks[warp] = allowed;
      }
      row += bins;
      here = inside ? (double)__ldg(row) : lost;
      unvoiced_here = (double)__ldg(voicing + 2 * frame + 1);
      __syncthreads();
      // Voiced and unvoiced state of a bin were reached from the same places, at costs that differ by the
      // change. Where the last frame called one impossible and not the other, the other is ahead by
      // hundreds: the impossible one is nobody's best origin.
      double best_voiced = lost, best_unvoiced = lost;
      u32 from_voiced = 0, from_unvoiced = 0;
      const double* reached = scores + span + j;
#pragma unroll 4
      for (u32 offset = 0; offset < width; ++offset) {
        double score = reached[offset] + triangle[offset];
        if (score > best_unvoiced) {
          best_unvoiced = score;
          from_unvoiced = offset;
        }
      }
      if (unvoiced_allowed) {
        if (inside) {
          for (u32 word = low / 32; word <= high / 32; ++word) {
            u32 bits = masks[word];
            if (word == low / 32) bits &= EVERY << (low % 32);
            if (word == high / 32) bits &= EVERY >> (31 - high % 32);
            for (; bits != 0; bits &= bits - 1) {
              u32 k = 32 * word + (u32)__ffs((int)bits) - 1;
              u32 offset = k + reach - j;
              double score = scores[reach + k] + triangle[offset];
              if (score > best_voiced) {
                best_voiced = score;
                from_voiced = offset;
              }
            }
          }
        }
      } else {
        reached = scores + j;
#pragma unroll 4
        for (u32 offset = 0; offset < width; ++offset) {
          double score = reached[offset] + triangle[offset];
          if (score > best_voiced) {
            best_voiced = score;
            from_voiced = offset;
          }
        }
      }
      double jump = lost;
      u32 jump_from = 0;
      for (u32 n = 0; n < warps; ++n) {
        if (tops[n] > jump) {
          jump = tops[n];
          jump_from = n;
        }
      }
      // Equal tops of two warps: the lower state, which the warps' order alone does not say of voicing.
      u32 jump_state = top_states[jump_from];
      for (u32 n = jump_from + 1; n < warps; ++n) {
        if (tops[n] == jump) jump_state = min(jump_state, top_states[n]);
      }
      jump += impossible;
      if (inside) {
#pragma unroll
        for (u32 to = 0; to < 2; ++to) {
          double a = best_voiced + (to == 0 ? stay : change);
          double b = best_unvoiced + (to == 0 ? change : stay);
          u32 from = j - reach + (b > a ? bins + from_unvoiced : from_voiced);
          double score = b > a ? b : a;
          if (jump > score) {
            score = jump;
            from = jump_state;
          }
          origins[(frame * 2 + to) * bins + j] = (unsigned short)from;
          if (to == 0) voiced = score + here;
          else unvoiced = score + unvoiced_here;
        }
      }
    }
    // Back from the best of the last states.
    Top top = best_of_warp(voiced, unvoiced, j, bins);
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
      for (u32 n = j; n < here_rows * bins; n += threads) {
        if (before + n / bins > first) rows[n] = from[n];
      }
      __syncthreads();
      if (j == 0) {
        for (u32 n = here_rows; n-- > 0;) {
          found[n] = state;
          if (before + n > first) state = ((const unsigned short*)rows)[n * 2 * bins + state];
        }
      }
      __syncthreads();
      for (u32 n = j; n < here_rows; n += threads) states[before + n] = found[n];
      after = before;
      __syncthreads();
    }
  }
}
