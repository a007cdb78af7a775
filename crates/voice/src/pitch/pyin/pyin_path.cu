// The most likely path of probabilistic YIN through voiced and unvoiced pitch bins, in pieces of a file at
// once.
//
// Scores are whole numbers relative to the best of their frame, as on the CPU: from bin k to bin j costs a
// triangle over j - k, normalised over what of it lies inside the range; voicing changes independently; a
// step outside the triangle costs what librosa's smallest number does. `pieces.cuh` says how pieces meet.

#include "pieces.cuh"

// Bins of a thread.
#define OWN 4
// Offsets that the low bits of a key tell apart, the lowest first among equals.
#define OFFSETS 64
#define OFFSET_BITS 6
// Added to scores before they become keys, so that the range of 32 bits is used.
#define BIAS ((1 << 25) - (1 << 20))
// A key that no path comes from.
#define LOST (-2000000000)
// ln of the smallest normal number in units of 2^-16.
#define IMPOSSIBLE (-46425468)
#define MOST_WARPS 8

extern __shared__ int4 path_shared[];

// What steps cost, and how rows of states lie in memory: `stride` voiced states, then as many unvoiced.
struct Costs {
  const int* weights;
  const int* normaliser;
  int stay;
  int change;
  u32 bins;
  u32 reach;
  u32 stride;
};

// Scores of a thread's states.
struct Scores {
  int voiced[OWN];
  int unvoiced[OWN];
  // The row of the frame that they are of.
  int here[OWN];
  int unvoiced_here;
  // The best state of all, as a place in a row.
  u32 top;
  // What leaving a bin costs: the same in every frame.
  int normaliser[OWN];
};

struct Room {
  int* voiced;
  int* unvoiced;
  int* weights;
  int* tops;
  u32* top_places;
};

// The likelihoods of a thread's bins, and those of an unvoiced bin, which follow the last bin.
struct Row {
  int4 own;
  int unvoiced;
};

__device__ __forceinline__ Row load_row(const int* rows, u64 frame, const Costs& costs) {
  const int* row = rows + frame * costs.stride;
  Row loaded;
  loaded.own = make_int4(IMPOSSIBLE, IMPOSSIBLE, IMPOSSIBLE, IMPOSSIBLE);
  if (OWN * threadIdx.x < costs.stride) loaded.own = __ldg((const int4*)row + threadIdx.x);
  loaded.unvoiced = __ldg(row + costs.bins);
  return loaded;
}

__device__ __forceinline__ void take_row(const Row& row, const Costs& costs, Scores& scores) {
  const int own[OWN] = {row.own.x, row.own.y, row.own.z, row.own.w};
#pragma unroll
  for (int b = 0; b < OWN; ++b) scores.here[b] = OWN * threadIdx.x + b < costs.bins ? own[b] : IMPOSSIBLE;
  scores.unvoiced_here = row.unvoiced;
}

// Finds the best state of the block and makes all scores relative to it. One barrier.
__device__ __forceinline__ void settle_scores(Scores& scores, const Room& room, const Costs& costs) {
  u32 lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
  int voiced = scores.voiced[0], unvoiced = scores.unvoiced[0];
#pragma unroll
  for (int b = 1; b < OWN; ++b) {
    voiced = max(voiced, scores.voiced[b]);
    unvoiced = max(unvoiced, scores.unvoiced[b]);
  }
  int best = max(voiced, unvoiced);
#pragma unroll
  for (u32 distance = 16; distance > 0; distance /= 2) {
    best = max(best, __shfl_xor_sync(EVERY, best, distance));
  }
  // Voiced states come first, and lower ones.
  u32 in_voiced = __ballot_sync(EVERY, voiced == best), in_unvoiced = __ballot_sync(EVERY, unvoiced == best);
  u32 finder = (u32)__ffs((int)(in_voiced != 0 ? in_voiced : in_unvoiced)) - 1;
  if (lane == finder) {
    u32 place = 0;
#pragma unroll
    for (int b = OWN - 1; b >= 0; --b) {
      if ((in_voiced != 0 ? scores.voiced[b] : scores.unvoiced[b]) == best) place = b;
    }
    room.tops[warp] = best;
    room.top_places[warp] = OWN * threadIdx.x + place + (in_voiced != 0 ? 0 : costs.stride);
  }
  __syncthreads();
  best = room.tops[0];
  u32 top = room.top_places[0];
  for (u32 n = 1; n < warps; ++n) {
    int other = room.tops[n];
    u32 place = room.top_places[n];
    if (other > best || (other == best && place < top)) {
      best = other;
      top = place;
    }
  }
  scores.top = top;
#pragma unroll
  for (int b = 0; b < OWN; ++b) {
    // What is further behind than a jump costs is nobody's best origin.
    scores.voiced[b] = max(scores.voiced[b] - best, IMPOSSIBLE);
    scores.unvoiced[b] = max(scores.unvoiced[b] - best, IMPOSSIBLE);
  }
}

// The best keys of a thread's bins among four offsets, `near` and `far` the keys that they reach.
__device__ __forceinline__ void four_offsets(const int4& near, const int4& far, const int4& w, u32 count,
                                             int* top) {
  const int window[8] = {near.x, near.y, near.z, near.w, far.x, far.y, far.z, far.w};
  const int weight[4] = {w.x, w.y, w.z, w.w};
#pragma unroll
  for (u32 q = 0; q < 4; ++q) {
    if (q < count) {
#pragma unroll
      for (int b = 0; b < OWN; ++b) top[b] = max(window[b + q] + weight[q], top[b]);
    }
  }
}

// For each of the thread's bins the best of score and weight, from voiced states in row 0 and from unvoiced ones
// in row 1, and the first offset that reaches it.
__device__ __forceinline__ void best_origins(const int* voiced, const int* unvoiced, const int* weights,
                                             u32 width, int best[2][OWN], u32 from[2][OWN]) {
  for (u32 group = 0; group < width; group += OFFSETS) {
    u32 end = min(width, group + OFFSETS), p = group;
    int top[2][OWN] = {{LOST, LOST, LOST, LOST}, {LOST, LOST, LOST, LOST}};
    int4 near[2] = {*(const int4*)(voiced + p), *(const int4*)(unvoiced + p)};
#pragma unroll 5
    for (; p + 4 <= end; p += 4) {
      int4 w = *(const int4*)(weights + p);
      int4 far[2] = {*(const int4*)(voiced + p + 4), *(const int4*)(unvoiced + p + 4)};
#pragma unroll
      for (int v = 0; v < 2; ++v) {
        four_offsets(near[v], far[v], w, 4, top[v]);
        near[v] = far[v];
      }
    }
    if (p < end) {
      int4 w = *(const int4*)(weights + p);
      int4 far[2] = {*(const int4*)(voiced + p + 4), *(const int4*)(unvoiced + p + 4)};
#pragma unroll
      for (int v = 0; v < 2; ++v) four_offsets(near[v], far[v], w, end - p, top[v]);
    }
#pragma unroll
    for (int v = 0; v < 2; ++v) {
#pragma unroll
      for (int b = 0; b < OWN; ++b) {
        int score = (top[v][b] >> OFFSET_BITS) - BIAS;
        if (group == 0 || score > best[v][b]) {
          best[v][b] = score;
          from[v][b] = group + OFFSETS - 1 - (u32)(top[v][b] & (OFFSETS - 1));
        }
      }
    }
  }
}

// One frame on: scores become those of the frame whose row is `next`, and the origins of its states are
// written to `origins` unless that is null.
__device__ __forceinline__ void step(Scores& scores, const Row& next, const Room& room, const Costs& costs,
                                     unsigned short* origins) {
  u32 width = 2 * costs.reach + 1, first = OWN * threadIdx.x;
#pragma unroll
  for (int v = 0; v < 2; ++v) {
    int key[OWN];
#pragma unroll
    for (int b = 0; b < OWN; ++b) {
      int score = (v == 0 ? scores.voiced[b] : scores.unvoiced[b]) + scores.normaliser[b];
      key[b] = first + b < costs.bins ? (score + BIAS) * OFFSETS : LOST;
    }
    int* to = (v == 0 ? room.voiced : room.unvoiced) + costs.reach + first;
    if (costs.reach % 4 == 0) {
      *(int4*)to = make_int4(key[0], key[1], key[2], key[3]);
    } else {
#pragma unroll
      for (int b = 0; b < OWN; ++b) to[b] = key[b];
    }
  }
  __syncthreads();
  int best[2][OWN];
  u32 from[2][OWN];
  best_origins(room.voiced + first, room.unvoiced + first, room.weights, width, best, from);
  u32 top = scores.top;
  take_row(next, costs, scores);
  u32 places[2][OWN];
#pragma unroll
  for (int b = 0; b < OWN; ++b) {
    u32 base = first + b - costs.reach;
#pragma unroll
    for (int to_unvoiced = 0; to_unvoiced < 2; ++to_unvoiced) {
      int voiced = best[0][b] + (to_unvoiced ? costs.change : costs.stay);
      int unvoiced = best[1][b] + (to_unvoiced ? costs.stay : costs.change);
      int score = max(voiced, unvoiced);
      u32 place = base + (unvoiced > voiced ? costs.stride + from[1][b] : from[0][b]);
      if (IMPOSSIBLE > score) {
        score = IMPOSSIBLE;
        place = top;
      }
      score += to_unvoiced ? scores.unvoiced_here : scores.here[b];
      if (first + b >= costs.bins) score = 4 * IMPOSSIBLE;
      if (to_unvoiced) scores.unvoiced[b] = score; else scores.voiced[b] = score;
      places[to_unvoiced][b] = place;
    }
  }
  if (origins != nullptr && first < costs.stride) {
#pragma unroll
    for (int voicing = 0; voicing < 2; ++voicing) {
      const u32* p = places[voicing];
      uint2 packed = make_uint2((p[0] & 0xffffu) | (p[1] << 16), (p[2] & 0xffffu) | (p[3] << 16));
      *(uint2*)(origins + voicing * costs.stride + first) = packed;
    }
  }
  settle_scores(scores, room, costs);
}

__device__ __forceinline__ void save(const Scores& scores, const Costs& costs, int* edge) {
  if (OWN * threadIdx.x >= costs.stride) return;
  ((int4*)edge)[threadIdx.x] =
      make_int4(scores.voiced[0], scores.voiced[1], scores.voiced[2], scores.voiced[3]);
  ((int4*)(edge + costs.stride))[threadIdx.x] =
      make_int4(scores.unvoiced[0], scores.unvoiced[1], scores.unvoiced[2], scores.unvoiced[3]);
}

// Whether two saved edges are the same; the places behind the last bin do not count.
__device__ __forceinline__ bool same_edge(const int* a, const int* b, const Costs& costs) {
  bool same = true;
  for (u32 n = threadIdx.x; n < 2 * costs.stride; n += blockDim.x) {
    if (n % costs.stride < costs.bins && a[n] != b[n]) same = false;
  }
  return __syncthreads_and(same);
}

// The tables: stay, change, weights from offset 0 on, normalisers. False where they do not fit.
__device__ __forceinline__ bool costs_of(const int* tables, u64 tables_length, u32 bins, u32 reach,
                                         Costs* costs) {
  u32 width = 2 * reach + 1;
  if (bins < 1 || bins > 4096 || reach > 4096 || tables_length < 2 + (u64)width + bins) return false;
  costs->stay = tables[0];
  costs->change = tables[1];
  costs->weights = tables + 2;
  costs->normaliser = tables + 2 + width;
  costs->bins = bins;
  costs->reach = reach;
  costs->stride = (bins + 1 + 3) / 4 * 4;
  return true;
}

// Shares shared memory out and fills it. False where there is too little.
__device__ __forceinline__ bool room_of(const Costs& costs, Room* room) {
  u32 shared_bytes;
  asm("mov.u32 %0, %%dynamic_smem_size;" : "=r"(shared_bytes));
  u32 width = 2 * costs.reach + 1, threads = blockDim.x;
  u32 span = (OWN * threads + width + 11) / 4 * 4, weights = (width + 7) / 4 * 4;
  u32 words = 2 * span + weights + 2 * MOST_WARPS;
  if (threads % 32 != 0 || threads > 32 * MOST_WARPS || OWN * threads < costs.stride) return false;
  if (shared_bytes / 4 < words) return false;
  int* base = (int*)path_shared;
  room->voiced = base;
  room->unvoiced = base + span;
  room->weights = base + 2 * span;
  room->tops = room->weights + weights;
  room->top_places = (u32*)(room->tops + MOST_WARPS);
  for (u32 n = threadIdx.x; n < 2 * span; n += threads) base[n] = LOST;
  for (u32 n = threadIdx.x; n < weights; n += threads) {
    u32 low = OFFSETS - 1 - n % OFFSETS;
    room->weights[n] = n < width ? costs.weights[n] * OFFSETS + (int)low : 0;
  }
  __syncthreads();
  return true;
}

// Walks from frame `from`, whose scores there are, to the last before `end`; keeps origins and tops of the
// frames from `keep` on, and the scores of the frame before them in `enter`, those of the last in `leave`.
__device__ __forceinline__ void walk(Scores& scores, const int* rows, u64 from, u64 keep, u64 end,
                                     const Room& room, const Costs& costs, unsigned short* origins,
                                     u32* tops, int* enter, int* leave) {
#pragma unroll
  for (int b = 0; b < OWN; ++b) {
    u32 bin = OWN * threadIdx.x + b;
    scores.normaliser[b] = bin < costs.bins ? costs.normaliser[bin] : 0;
  }
  Row next, after;
  u64 last = end - 1;
  next = load_row(rows, min(from + 1, last), costs);
  after = load_row(rows, min(from + 2, last), costs);
  for (u64 frame = from + 1; frame < end; ++frame) {
    if (frame == keep && enter != nullptr) save(scores, costs, enter);
    Row row = next;
    next = after;
    after = load_row(rows, min(frame + 2, last), costs);
    bool kept = frame >= keep;
    step(scores, row, room, costs,
         kept ? origins + frame * 2 * costs.stride : nullptr);
    if (kept && threadIdx.x == 0) tops[frame] = scores.top;
  }
  save(scores, costs, leave);
}

// Every piece from its start on. `edges` has two rows of states to a piece: the scores before it and those of
// its last frame.
extern "C" __global__ void __launch_bounds__(32 * MOST_WARPS, 2)
pyin_forward(const int* rows, u64 rows_length, const u64* pieces, u64 pieces_length, const int* tables,
             u64 tables_length, unsigned short* origins, u64 origins_length, u32* tops, u64 tops_length,
             int* edges, u64 edges_length, u32 bins, u32 reach) {
  Costs costs;
  Room room;
  if (!costs_of(tables, tables_length, bins, reach, &costs) || !room_of(costs, &room)) return;
  u64 row = 2 * (u64)costs.stride;
  u64 frames = min(min(rows_length / costs.stride, origins_length / row), tops_length);
  if (edges_length / (2 * row) < pieces_length / 4) return;
  for (u64 n = blockIdx.x; n < pieces_length / 4; n += gridDim.x) {
    Piece piece = piece_at(pieces, n);
    if (!piece_fits(piece, frames)) continue;
    Scores scores;
    take_row(load_row(rows, piece.start, costs), costs, scores);
#pragma unroll
    for (int b = 0; b < OWN; ++b) {
      bool inside = OWN * threadIdx.x + b < costs.bins;
      scores.voiced[b] = inside ? scores.here[b] : 4 * IMPOSSIBLE;
      scores.unvoiced[b] = inside ? scores.unvoiced_here : 4 * IMPOSSIBLE;
    }
    __syncthreads();
    settle_scores(scores, room, costs);
    if (piece.start == piece.begin && threadIdx.x == 0) tops[piece.start] = scores.top;
    walk(scores, rows, piece.start, piece.begin, piece.end, room, costs, origins, tops,
         edges + 2 * n * row, edges + (2 * n + 1) * row);
    __syncthreads();
  }
}

// Whether each piece starts with the scores that the one before it ends with; the first of a file does.
extern "C" __global__ void __launch_bounds__(256)
pyin_compare(const u64* pieces, u64 pieces_length, const int* edges, u64 edges_length, u32* same,
             u64 same_length, u32 bins) {
  Costs costs;
  costs.bins = bins;
  costs.stride = (bins + 1 + 3) / 4 * 4;
  u64 row = 2 * (u64)costs.stride, n = blockIdx.x;
  if (bins < 1 || bins > 4096 || n >= pieces_length / 4 || n >= same_length) return;
  if (edges_length / (2 * row) < pieces_length / 4) return;
  bool first = pieces[4 * n] == pieces[4 * n + 1];
  bool equal = first || same_edge(edges + (2 * n - 1) * row, edges + 2 * n * row, costs);
  if (threadIdx.x == 0) same[n] = equal;
}

// Walks the pieces again that started with other scores than the one before ends with, a block to a file, and
// counts them. `file_pieces` holds the running total of pieces.
extern "C" __global__ void __launch_bounds__(32 * MOST_WARPS, 2)
pyin_repair(const int* rows, u64 rows_length, const u64* pieces, u64 pieces_length, const int* tables,
            u64 tables_length, const u64* file_pieces, u64 file_pieces_length, const u32* same,
            u64 same_length, unsigned short* origins, u64 origins_length, u32* tops, u64 tops_length,
            int* edges, u64 edges_length, u32* repaired, u64 repaired_length, u32 bins, u32 reach) {
  __shared__ u32 least;
  Costs costs;
  Room room;
  if (!costs_of(tables, tables_length, bins, reach, &costs) || !room_of(costs, &room)) return;
  u64 row = 2 * (u64)costs.stride, file = blockIdx.x;
  u64 frames = min(min(rows_length / costs.stride, origins_length / row), tops_length);
  if (file + 1 >= file_pieces_length || file >= repaired_length) return;
  u64 at = file_pieces[file], end = file_pieces[file + 1];
  if (at > end || end > pieces_length / 4 || end > same_length || edges_length / (2 * row) < end) return;
  u32 walked = 0;
  while (at < end) {
    at = next_apart(same, at, end, &least);
    bool right = false;
    while (at < end && !right) {
      Piece piece = piece_at(pieces, at);
      if (at == file_pieces[file] || !piece_fits(piece, frames) || piece.begin < 1) return;
      const int* edge = edges + (2 * at - 1) * row;
      Scores scores;
      u32 first = OWN * threadIdx.x;
#pragma unroll
      for (int b = 0; b < OWN; ++b) {
        bool inside = first + b < costs.bins;
        scores.voiced[b] = inside ? edge[first + b] : 4 * IMPOSSIBLE;
        scores.unvoiced[b] = inside ? edge[costs.stride + first + b] : 4 * IMPOSSIBLE;
      }
      take_row(load_row(rows, piece.begin - 1, costs), costs, scores);
      __syncthreads();
      // Finds the best state; the scores are relative to it already.
      settle_scores(scores, room, costs);
      walk(scores, rows, piece.begin - 1, piece.begin, piece.end, room, costs, origins, tops, nullptr,
           edges + (2 * at + 1) * row);
      ++walked;
      ++at;
      __syncthreads();
      right = at >= end || same_edge(edges + (2 * at - 1) * row, edges + 2 * at * row, costs);
    }
    // The piece after the last that was walked starts with the right scores.
    ++at;
  }
  if (threadIdx.x == 0) repaired[file] = walked;
}

// The way back through each piece, a thread to each, from the best state of a frame `further` frames behind it or
// of the file's last. `entries` holds what the way came through in the frame after the piece.
extern "C" __global__ void __launch_bounds__(32)
pyin_back(const u64* pieces, u64 pieces_length, const unsigned short* origins, u64 origins_length,
          const u32* tops, u64 tops_length, u32* places, u64 places_length, u32* entries,
          u64 entries_length, u32 bins, u32 further) {
  u32 row = 2 * ((bins + 1 + 3) / 4 * 4);
  u64 n = (u64)blockIdx.x * blockDim.x + threadIdx.x;
  if (bins < 1 || bins > 4096 || n >= pieces_length / 4 || n >= entries_length) return;
  Piece piece = piece_at(pieces, n);
  if (!piece_fits(piece, min(min(origins_length / row, tops_length), places_length))) return;
  trace_back(piece, n, origins, tops, row, further, places, entries);
}

// Follows the way back once more where a piece's way came from another place than the piece after it has,
// until both meet; a warp to a file.
extern "C" __global__ void __launch_bounds__(32)
pyin_join(const u64* pieces, u64 pieces_length, const u64* file_pieces, u64 file_pieces_length,
          const unsigned short* origins, u64 origins_length, const u32* entries, u64 entries_length,
          u32* places, u64 places_length, u32 bins) {
  u32 row = 2 * ((bins + 1 + 3) / 4 * 4);
  u64 file = blockIdx.x;
  if (bins < 1 || bins > 4096 || blockDim.x != 32 || file + 1 >= file_pieces_length) return;
  u64 first = file_pieces[file], end = file_pieces[file + 1];
  if (first >= end || end > pieces_length / 4 || end > entries_length) return;
  u64 frames = min(origins_length / row, places_length);
  join_pieces(pieces, first, end, origins, frames, row, entries, places);
}
