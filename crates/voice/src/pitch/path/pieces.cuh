// Paths through frames that are searched in pieces of a file at once.
//
// Scores are multiples of one unit, so that sums are the same in any order. A piece starts some frames early
// from scores that are all equal; where its scores have become those that the piece before ends with,
// everything after is what one walk through the file finds. Where they have not, it is walked again. The way
// back starts some frames late and is checked and joined alike.

#pragma once

#include "ragged.cuh"

#define EVERY 0xffffffffu

// Pieces are fours of frames: where the walk starts, the first frame of the piece, the one after its last, and
// the one after the file's last.
struct Piece {
  u64 start, begin, end, file_end;
};

__device__ __forceinline__ Piece piece_at(const u64* pieces, u64 n) {
  return {pieces[4 * n], pieces[4 * n + 1], pieces[4 * n + 2], pieces[4 * n + 3]};
}

// Whether a piece lies inside buffers of so many frames.
__device__ __forceinline__ bool piece_fits(const Piece& p, u64 frames) {
  return p.start <= p.begin && p.begin < p.end && p.end <= p.file_end && p.file_end <= frames;
}

// The next piece from `at` on that does not start with the scores that the one before ends with; `end` where
// there is none. All threads of a block take part.
__device__ __forceinline__ u64 next_apart(const u32* same, u64 at, u64 end, u32* least) {
  for (; at < end; at += blockDim.x) {
    __syncthreads();
    if (threadIdx.x == 0) *least = EVERY;
    __syncthreads();
    u64 own = at + threadIdx.x;
    if (own < end && same[own] == 0) atomicMin(least, threadIdx.x);
    __syncthreads();
    u32 found = *least;
    if (found != EVERY) return at + found;
  }
  return end;
}

// The way back through piece `n` by a thread, from the best state of a frame `further` frames behind it or of the
// file's last. A row of origins has `row` states, and is followed only below that. `entries` gets what the way
// came through in the frame after the piece. One load waits for the other: what hides that is other pieces.
template <typename Origin>
__device__ __forceinline__ void trace_back(const Piece& piece, u64 n, const Origin* origins,
                                           const u32* tops, u32 row, u32 further, u32* places, u32* entries) {
  u64 frame = min(piece.end - 1 + further, piece.file_end - 1);
  u32 place = min(tops[frame], row - 1);
  for (; frame > piece.begin; --frame) {
    if (frame < piece.end) places[frame] = place;
    if (frame == piece.end) entries[n] = place;
    place = min((u32)__ldg(origins + frame * row + place), row - 1);
  }
  places[frame] = place;
}

// Follows the way back once more where a piece's way came from another place than the piece after it has,
// until both meet: the pieces from `first` to `end` of a file, by a warp.
template <typename Origin>
__device__ __forceinline__ void join_pieces(const u64* pieces, u64 first, u64 end, const Origin* origins,
                                            u64 frames, u32 row, const u32* entries, u32* places) {
  u32 lane = threadIdx.x % 32;
  // Pieces below `at` are to be held against the one after them.
  u64 at = end - 1;
  while (at > first) {
    bool apart = false;
    if (at - first > lane) {
      u64 own = at - 1 - lane;
      Piece piece = piece_at(pieces, own);
      apart = piece_fits(piece, frames) && piece.end < frames && entries[own] != places[piece.end];
    }
    u32 all = __ballot_sync(EVERY, apart);
    if (all == 0) {
      at = at - first > 32 ? at - 32 : first;
      continue;
    }
    at -= (u64)__ffs((int)all);
    if (lane == 0) {
      Piece piece = piece_at(pieces, at);
      u32 place = min(places[piece.end], row - 1);
      for (u64 frame = piece.end; frame-- > piece.begin;) {
        place = min((u32)origins[(frame + 1) * row + place], row - 1);
        if (places[frame] == place) break;
        places[frame] = place;
      }
    }
    __syncwarp();
  }
}
