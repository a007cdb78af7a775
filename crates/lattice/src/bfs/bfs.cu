// Shortest paths on bit tiles: the search of bfs/cpu.rs, all levels in one cooperative launch.
//
// Between levels all blocks meet. A tile's own words are written by the one thread that visits it in
// a level; what is sent to tiles goes through atomics, and whoever sends the first bits puts the
// tile on the next list. `free` may be read while its owner clears bits in it: a stale bit sends too
// much, and the receiver drops it.
//
// state: [0..3) list lengths of levels mod 3, [3] the level at which the target was reached plus one,
//        [4] the last level with something new, [5] unused; reached: one count.

#include "grid_barrier.cuh"

typedef unsigned long long u64;

#define X0 0x1111111111111111ull
#define X3 0x8888888888888888ull
#define Y0 0x000f000f000f000full
#define Y3 0xf000f000f000f000ull

__device__ __forceinline__ u64 spread(u64 bits) {
  return ((bits & ~X3) << 1) | ((bits & ~X0) >> 1) | ((bits & ~Y3) << 4) | ((bits & ~Y0) >> 4) |
         (bits << 16) | (bits >> 16);
}

// Sets up a search: `free` from the maze, everything else empty but for the source.
extern "C" __global__ void bfs_begin(const u64* maze, u64 maze_length, u64* free, u64 free_length,
                                     u64* sent, u64 sent_length, u64* labels, u64 labels_length,
                                     u32* lists, u64 lists_length, u32* state, u64 state_length,
                                     u64* reached, u64 reached_length, u32* arrived,
                                     u64 arrived_length, u64 tiles, u64 source_tile,
                                     u64 source_bit) {
  if (maze_length < tiles || free_length < tiles || sent_length < 2 * tiles ||
      labels_length < 2 * tiles || lists_length < 2 * tiles || state_length < 6 ||
      reached_length < 1 || arrived_length < 1 || source_tile >= tiles)
    return;
  u64 stride = (u64)gridDim.x * blockDim.x;
  for (u64 tile = (u64)blockIdx.x * blockDim.x + threadIdx.x; tile < tiles; tile += stride) {
    free[tile] = maze[tile];
    sent[tile] = tile == source_tile ? source_bit : 0;
    sent[tiles + tile] = 0;
    labels[tile] = 0;
    labels[tiles + tile] = 0;
  }
  if (blockIdx.x == 0 && threadIdx.x < 6) state[threadIdx.x] = threadIdx.x == 0 ? 1 : 0;
  if (blockIdx.x == 0 && threadIdx.x == 0) {
    lists[0] = (u32)source_tile;
    reached[0] = 0;
    arrived[0] = 0;
  }
}

extern "C" __global__ void __launch_bounds__(256)
    bfs_levels(u64* free, u64 free_length, u64* sent, u64 sent_length, u64* labels,
               u64 labels_length, u32* lists, u64 lists_length, u32* state, u64 state_length,
               u64* reached, u64 reached_length, u32* arrived, u64 arrived_length, u32 tx, u32 ty,
               u32 tz, u32 target_tile, u64 target_bit) {
  u64 wide = (u64)tx * ty * tz;
  if (wide >= 1ull << 31 || free_length < wide || sent_length < 2 * wide ||
      labels_length < 2 * wide || lists_length < 2 * wide || state_length < 6 ||
      reached_length < 1 || arrived_length < 1)
    return;
  u32 tiles = (u32)wide;
  __shared__ u32 block_count, block_base;
  u32 passed = 0;
  u32 count_cells = 0, last = 0;
  u32 stride = gridDim.x * blockDim.x;
  u32 plane = tx * ty;
  for (u32 level = 0;; ++level) {
    u32 count = min(__ldcg(state + level % 3), tiles);
    // Every thread sees the same words, so the whole grid leaves together.
    if (count == 0 || __ldcg(state + 3) != 0) break;
    u32 parity = level & 1;
    const u32* list = lists + (u64)parity * tiles;
    u32* next_list = lists + (u64)(parity ^ 1) * tiles;
    u64* now = sent + (u64)parity * tiles;
    u64* later = sent + (u64)(parity ^ 1) * tiles;
    u32* next_count = state + (level + 1) % 3;
    if (blockIdx.x == 0 && threadIdx.x == 0) state[(level + 2) % 3] = 0;
    u64 low = level % 3 != 1 ? ~0ull : 0, high = level % 3 != 0 ? ~0ull : 0;
    u32 rounds = (count + stride - 1) / stride;
    for (u32 round = 0; round < rounds; ++round) {
      u32 entry = round * stride + blockIdx.x * blockDim.x + threadIdx.x;
      u32 found[7];
      u32 mine = 0;
      if (threadIdx.x == 0) block_count = 0;
      __syncthreads();
      u32 tile = entry < count ? __ldcg(list + entry) : tiles;
      if (tile < tiles) {
        u32 line = tile / tx, x = tile - line * tx, z = line / ty, y = line - z * ty;
        u32 beside[7] = {tile,
                         x > 0 ? tile - 1 : tile,
                         x + 1 < tx ? tile + 1 : tile,
                         y > 0 ? tile - tx : tile,
                         y + 1 < ty ? tile + tx : tile,
                         z > 0 ? tile - plane : tile,
                         z + 1 < tz ? tile + plane : tile};
        // All words at once: waiting for this tile's before asking for its neighbours' would double
        // the time of a level, most of which is waiting.
        u64 around[7];
#pragma unroll
        for (int face = 0; face < 7; ++face) around[face] = __ldcg(free + beside[face]);
        u64 open = around[0];
        u64 fresh = __ldcg(now + tile) & open;
        now[tile] = 0;
        if (fresh != 0) {
          open &= ~fresh;
          free[tile] = open;
          if (low) labels[tile] |= fresh;
          if (high) labels[(u64)tiles + tile] |= fresh;
          count_cells += __popcll(fresh);
          last = level;
          if (tile == target_tile && (fresh & target_bit) != 0) state[3] = level + 1;
          u64 bits[7] = {spread(fresh) & open,
                         x > 0 ? (fresh & X0) << 3 : 0,
                         x + 1 < tx ? (fresh & X3) >> 3 : 0,
                         y > 0 ? (fresh & Y0) << 12 : 0,
                         y + 1 < ty ? (fresh & Y3) >> 12 : 0,
                         z > 0 ? fresh << 48 : 0,
                         z + 1 < tz ? fresh >> 48 : 0};
#pragma unroll
          for (int face = 1; face < 7; ++face) bits[face] &= around[face];
          u64 before[7];
#pragma unroll
          for (int face = 0; face < 7; ++face)
            before[face] = bits[face] != 0 ? atomicOr(later + beside[face], bits[face]) : 1;
#pragma unroll
          for (int face = 0; face < 7; ++face) {
            found[face] = before[face] == 0 ? beside[face] : tiles;
            mine += before[face] == 0;
          }
        }
      }
      u32 place = mine ? atomicAdd(&block_count, mine) : 0;
      __syncthreads();
      if (threadIdx.x == 0) block_base = block_count ? atomicAdd(next_count, block_count) : 0;
      __syncthreads();
      if (mine) {
        u32 at = block_base + place;
#pragma unroll
        for (int face = 0; face < 7; ++face)
          if (found[face] < tiles && at < tiles) next_list[at++] = found[face];
      }
    }
    grid_barrier(arrived, passed);
  }
  if (last) atomicMax(state + 4, last);
  if (count_cells) atomicAdd(reached, (u64)count_cells);
}
