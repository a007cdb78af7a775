// The product of two matrices, row by row, in single precision.

#include "register_tile.cuh"

// Tiles in a column that blocks with neighbouring numbers take before they go to the next column: what
// they read stays in the second cache.
#define GROUP 16

// The columns of a matrix that lies row by row, for the right side. VECTORS: its width is a multiple of 4.
template <class Tile, class Number, bool VECTORS>
struct RightRows {
  const Number* from;
  u32 first, columns, depth;
  float4 quad[Tile::COLUMNS * Tile::DEPTH / 4 / Tile::THREADS];

  __device__ __forceinline__ void load(u32 step) {
#pragma unroll
    for (u32 i = 0; i < sizeof(quad) / sizeof(float4); ++i) {
      u32 slot = threadIdx.x + i * Tile::THREADS;
      u32 k = step * Tile::DEPTH + slot / (Tile::COLUMNS / 4), c = first + slot % (Tile::COLUMNS / 4) * 4;
      const Number* at = from + (u64)k * columns + c;
      quad[i] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
      if (k >= depth) continue;
      if (VECTORS) {
        if (c < columns) quad[i] = __ldg((const float4*)at);
      } else {
        if (c < columns) quad[i].x = number(__ldg(at));
        if (c + 1 < columns) quad[i].y = number(__ldg(at + 1));
        if (c + 2 < columns) quad[i].z = number(__ldg(at + 2));
        if (c + 3 < columns) quad[i].w = number(__ldg(at + 3));
      }
    }
  }

  __device__ __forceinline__ void store(float* to) const {
#pragma unroll
    for (u32 i = 0; i < sizeof(quad) / sizeof(float4); ++i) {
      ((float4*)to)[threadIdx.x + i * Tile::THREADS] = quad[i];
    }
  }
};

template <class Tile, class Number, bool VECTORS>
__device__ __forceinline__ void multiply(const Number* a, const Number* b, float* out, u32 rows,
                                         u32 columns, u32 depth, typename Tile::Shared& shared) {
  u32 high = (rows + Tile::ROWS - 1) / Tile::ROWS;
  u32 wide = (columns + Tile::COLUMNS - 1) / Tile::COLUMNS;
  u32 group = blockIdx.x / (GROUP * wide), within = blockIdx.x % (GROUP * wide);
  u32 height = min(high - group * GROUP, (u32)GROUP);
  u32 first_row = (group * GROUP + within % height) * Tile::ROWS;
  u32 first_column = within / height * Tile::COLUMNS;
  Tile tile = {};
  LeftRows<Tile, Number, VECTORS> left = {a, first_row, rows, depth};
  RightRows<Tile, Number, VECTORS> right = {b, first_column, columns, depth};
  tile.add(left, right, (depth + Tile::DEPTH - 1) / Tile::DEPTH, shared);
#pragma unroll
  for (u32 r = 0; r < 4 * Tile::ROW_QUADS; ++r) {
    u32 row = first_row + Tile::row(r);
    if (row >= rows) continue;
    float* line = out + (u64)row * columns;
#pragma unroll
    for (u32 c = 0; c < 4 * Tile::COLUMN_QUADS; c += 4) {
      u32 column = first_column + Tile::column(c);
      if (VECTORS) {
        float4 v = make_float4(tile.sum[r][c], tile.sum[r][c + 1], tile.sum[r][c + 2], tile.sum[r][c + 3]);
        if (column < columns) *(float4*)(line + column) = v;
      } else {
#pragma unroll
        for (u32 i = 0; i < 4; ++i) {
          if (column + i < columns) line[column + i] = tile.sum[r][c + i];
        }
      }
    }
  }
}

// Whether the block has a tile and all three matrices lie inside their buffers.
template <class Tile>
__device__ __forceinline__ bool fits(u64 a_length, u64 b_length, u64 out_length, u32 rows, u32 columns,
                                     u32 depth) {
  u64 high = ((u64)rows + Tile::ROWS - 1) / Tile::ROWS;
  u64 wide = ((u64)columns + Tile::COLUMNS - 1) / Tile::COLUMNS;
  return blockDim.x == Tile::THREADS && blockIdx.x < high * wide && (u64)rows * depth <= a_length &&
         (u64)depth * columns <= b_length && (u64)rows * columns <= out_length;
}

// Tiles of the same size for rows that are whole vectors and for others, which need more registers to a step.
template <class Whole, class Odd>
__device__ __forceinline__ void multiply_either(const float* a, u64 a_length, const float* b, u64 b_length,
                                                float* out, u64 out_length, u32 rows, u32 columns, u32 depth) {
  __shared__ union {
    typename Whole::Shared whole;
    typename Odd::Shared odd;
  } shared;
  if (!fits<Whole>(a_length, b_length, out_length, rows, columns, depth)) return;
  if (columns % 4 == 0 && depth % 4 == 0) {
    multiply<Whole, float, true>(a, b, out, rows, columns, depth, shared.whole);
  } else {
    multiply<Odd, float, false>(a, b, out, rows, columns, depth, shared.odd);
  }
}

// out[rows, columns] = a[rows, depth] b[depth, columns]; a block of 256 threads to a tile of 128 by 128.
extern "C" __global__ void __launch_bounds__(256, 2)
matmul(const float* a, u64 a_length, const float* b, u64 b_length, float* out, u64 out_length, u32 rows,
       u32 columns, u32 depth) {
  multiply_either<RegisterTile<2, 2, 4, 2, 16>, RegisterTile<2, 2, 4, 2, 8>>(
      a, a_length, b, b_length, out, out_length, rows, columns, depth);
}

// The same for results of few tiles: a block of 128 threads to a tile of 64 by 64.
extern "C" __global__ void __launch_bounds__(128, 4)
matmul_small(const float* a, u64 a_length, const float* b, u64 b_length, float* out, u64 out_length, u32 rows,
             u32 columns, u32 depth) {
  multiply_either<RegisterTile<2, 1, 2, 2, 16>, RegisterTile<2, 1, 2, 2, 8>>(
      a, a_length, b, b_length, out, out_length, rows, columns, depth);
}

// The same of bf16 by the same units: for GPUs whose tensor cores have none.
extern "C" __global__ void __launch_bounds__(256, 2)
matmul_bf16(const unsigned short* a, u64 a_length, const unsigned short* b, u64 b_length, float* out,
            u64 out_length, u32 rows, u32 columns, u32 depth) {
  typedef RegisterTile<2, 2, 4, 2, 8> Tile;
  __shared__ Tile::Shared shared;
  if (!fits<Tile>(a_length, b_length, out_length, rows, columns, depth)) return;
  multiply<Tile, unsigned short, false>(a, b, out, rows, columns, depth, shared);
}
