// The product of two matrices, row by row, in single precision by tensor cores.

#include "tensor_tile.cuh"

// Tiles in a column that blocks with neighbouring numbers take before they go to the next column: what
// they read stays in the second cache.
#define GROUP 16

// N: 4 where the rows of both matrices begin at multiples of 16 bytes, else 1.
template <class Tile, int N>
__device__ __forceinline__ void multiply(const float* a, const float* b, float* out, u32 rows, u32 columns,
                                         u32 depth) {
  u32 high = (rows + Tile::ROWS - 1) / Tile::ROWS, wide = (columns + Tile::COLUMNS - 1) / Tile::COLUMNS;
  u32 group = blockIdx.x / (GROUP * wide), within = blockIdx.x % (GROUP * wide);
  u32 height = min(high - group * GROUP, (u32)GROUP);
  u32 first_row = (group * GROUP + within % height) * Tile::ROWS;
  u32 first_column = within / height * Tile::COLUMNS;
  Tile tile = {};
  tile.add((depth + Tile::DEPTH - 1) / Tile::DEPTH, [&](u32 step, u32 stage) {
    u32 k = step * Tile::DEPTH;
    copy_part<Tile::ROWS, Tile::DEPTH, N, Tile::THREADS>(
        a, first_row, k, rows, depth, [&](u32 r, u32 c) { return stage + Tile::left(r, c); });
    copy_part<Tile::DEPTH, Tile::COLUMNS, N, Tile::THREADS>(
        b, k, first_column, depth, columns,
        [&](u32 r, u32 c) { return stage + Tile::LEFT + Tile::right(r, c); });
  });
#pragma unroll
  for (u32 i = 0; i < Tile::TALL; ++i) {
    u32 row = first_row + Tile::row(i);
    if (row >= rows) continue;
#pragma unroll
    for (u32 j = 0; j < Tile::BROAD; ++j) {
      u32 column = first_column + Tile::column(j);
      float* at = out + (u64)row * columns + column;
      if (N == 4) {
        if (column < columns) *(float4*)at = tile.four(i, j);
      } else {
#pragma unroll
        for (u32 e = 0; e < 4; ++e) {
          if (column + e < columns) at[e] = tile.element(i, j, e);
        }
      }
    }
  }
  if (tile.all_finite()) return;
  // As on the CPU.
  for (u32 slot = threadIdx.x; slot < Tile::ROWS * Tile::COLUMNS; slot += Tile::THREADS) {
    u32 row = first_row + slot / Tile::COLUMNS, column = first_column + slot % Tile::COLUMNS;
    if (row >= rows || column >= columns) continue;
    float* at = out + (u64)row * columns + column;
    if (isfinite(*at)) continue;
    float sum = 0.0f;
    for (u32 k = 0; k < depth; ++k) sum = fmaf(a[(u64)row * depth + k], b[(u64)k * columns + column], sum);
    *at = sum;
  }
}

// Whether the block has a tile and room for its stages, and all three matrices lie inside their buffers.
template <class Tile>
__device__ __forceinline__ bool fits(u64 a_length, u64 b_length, u64 out_length, u32 rows, u32 columns,
                                     u32 depth) {
  u64 high = ((u64)rows + Tile::ROWS - 1) / Tile::ROWS;
  u64 wide = ((u64)columns + Tile::COLUMNS - 1) / Tile::COLUMNS;
  return Tile::has_room() && blockIdx.x < high * wide &&
         (u64)rows * depth <= a_length && (u64)depth * columns <= b_length && (u64)rows * columns <= out_length;
}

template <class Tile>
__device__ __forceinline__ void multiply_either(const float* a, u64 a_length, const float* b, u64 b_length,
                                                float* out, u64 out_length, u32 rows, u32 columns, u32 depth) {
  if (!fits<Tile>(a_length, b_length, out_length, rows, columns, depth)) return;
  if (columns % 4 == 0 && depth % 4 == 0) {
    multiply<Tile, 4>(a, b, out, rows, columns, depth);
  } else {
    multiply<Tile, 1>(a, b, out, rows, columns, depth);
  }
}

// out[rows, columns] = a[rows, depth] b[depth, columns]; a block of 128 threads to a tile of 64 by 128.
extern "C" __global__ void __launch_bounds__(128, 2)
matmul(const float* a, u64 a_length, const float* b, u64 b_length, float* out, u64 out_length, u32 rows,
       u32 columns, u32 depth) {
  multiply_either<TensorTile<2, 2, 2, 2, 3>>(a, a_length, b, b_length, out, out_length, rows, columns, depth);
}

// The same for results of few tiles: a block of 128 threads to a tile of 64 by 64.
extern "C" __global__ void __launch_bounds__(128, 3)
matmul_small(const float* a, u64 a_length, const float* b, u64 b_length, float* out, u64 out_length, u32 rows,
             u32 columns, u32 depth) {
  multiply_either<TensorTile<2, 1, 2, 2, 3>>(a, a_length, b, b_length, out, out_length, rows, columns, depth);
}
