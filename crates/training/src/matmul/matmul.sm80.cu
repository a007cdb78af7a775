// The product of two bf16 matrices by tensor cores, summed in single precision, for GPUs from Ampere on.
//
// A block makes a tile of 128 rows, walking over the depth 64 at a time; a warp has 64 by 64 of it. Copies of
// the next steps are under way while a step is multiplied. Both matrices lie in shared memory as in global
// memory, row by row; the eight chunks of 16 bytes that rows of eight steps have in one column change places
// with their neighbours, or they would all lie in the same banks.

#include "warp_product.cuh"

#define DEPTH 64
#define ROWS 128
#define STAGES 3
// Tiles in a column that blocks with neighbouring numbers take before they go to the next column: what
// they read stays in the second cache.
#define GROUP 16

extern __shared__ uint4 dynamic_shared[];

// A tile of a matrix, WIDTH numbers to a row, for `shared_address` of its first row.
template <int WIDTH>
__device__ __forceinline__ u32 chunk(u32 row, u32 column) {
  return row * (2 * WIDTH) + (column ^ row % 8) * 16;
}

// Begins the copy of HEIGHT by WIDTH numbers, from row `first_row` and column `first_column` on; zeros
// beyond the edges.
template <int HEIGHT, int WIDTH, int THREADS>
__device__ __forceinline__ void copy_tile(u32 to, const u16* from, u32 first_row, u32 first_column, u32 rows,
                                          u32 columns) {
#pragma unroll
  for (u32 i = 0; i < HEIGHT * WIDTH / 8 / THREADS; ++i) {
    u32 slot = threadIdx.x + i * THREADS;
    u32 r = slot / (WIDTH / 8), c = slot % (WIDTH / 8);
    u32 row = first_row + r, column = first_column + 8 * c;
    bool there = row < rows && column < columns;
    copy_16(to + chunk<WIDTH>(r, c), there ? from + (u64)row * columns + column : from, there);
  }
}

// The same number by number, where rows do not begin at multiples of 16 bytes.
template <int HEIGHT, int WIDTH, int THREADS>
__device__ void gather_tile(char* to, const u16* from, u32 first_row, u32 first_column, u32 rows,
                            u32 columns) {
  for (u32 slot = threadIdx.x; slot < HEIGHT * WIDTH; slot += THREADS) {
    u32 r = slot / WIDTH, c = slot % WIDTH;
    u32 row = first_row + r, column = first_column + c;
    bool there = row < rows && column < columns;
    *(u16*)(to + chunk<WIDTH>(r, c / 8) + c % 8 * 2) = there ? from[(u64)row * columns + column] : 0;
  }
}

template <int COLUMNS>
__device__ __forceinline__ void multiply(const u16* a, const u16* b, float* out, u32 rows, u32 columns,
                                         u32 depth) {
  constexpr int THREADS = COLUMNS, LEFT = 2 * ROWS * DEPTH, STAGE = LEFT + 2 * DEPTH * COLUMNS;
  u32 high = (rows + ROWS - 1) / ROWS, wide = (columns + COLUMNS - 1) / COLUMNS;
  u32 group = blockIdx.x / (GROUP * wide), within = blockIdx.x % (GROUP * wide);
  u32 height = min(high - group * GROUP, (u32)GROUP);
  u32 first_row = (group * GROUP + within % height) * ROWS, first_column = within / height * COLUMNS;
  bool aligned = columns % 8 == 0 && depth % 8 == 0;
  char* memory = (char*)dynamic_shared;
  u32 shared = shared_address(memory);
  u32 steps = (depth + DEPTH - 1) / DEPTH;
  auto fetch = [&](u32 step) {
    u32 stage = step % STAGES * STAGE;
    if (step < steps && aligned) {
      copy_tile<ROWS, DEPTH, THREADS>(shared + stage, a, first_row, step * DEPTH, rows, depth);
      copy_tile<DEPTH, COLUMNS, THREADS>(shared + stage + LEFT, b, step * DEPTH, first_column, depth, columns);
    } else if (step < steps) {
      gather_tile<ROWS, DEPTH, THREADS>(memory + stage, a, first_row, step * DEPTH, rows, depth);
      gather_tile<DEPTH, COLUMNS, THREADS>(memory + stage + LEFT, b, step * DEPTH, first_column, depth, columns);
    }
    end_of_copies();
  };
  u32 lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  u32 row = warp % 2 * 64, column = warp / 2 * 64;
  float sum[4][8][4] = {};
  for (u32 step = 0; step < STAGES - 1; ++step) fetch(step);
  for (u32 step = 0; step < steps; ++step) {
    wait_for_copies<STAGES - 2>();
    // Everybody's copies are there, and everybody has done with the stage that is filled next.
    __syncthreads();
    fetch(step + STAGES - 1);
    u32 left = shared + step % STAGES * STAGE, right = left + LEFT;
#pragma unroll
    for (u32 k = 0; k < DEPTH; k += 16) {
      u32 x[4][4], y[4][4];
#pragma unroll
      for (u32 i = 0; i < 4; ++i) {
        load_matrices(left + chunk<DEPTH>(row + 16 * i + lane % 16, k / 8 + lane / 16), x[i]);
      }
#pragma unroll
      for (u32 j = 0; j < 4; ++j) {
        load_transposed(right + chunk<COLUMNS>(k + lane % 16, column / 8 + 2 * j + lane / 16), y[j]);
      }
#pragma unroll
      for (u32 i = 0; i < 4; ++i) {
#pragma unroll
        for (u32 j = 0; j < 8; ++j) multiply_add(sum[i][j], x[i], y[j / 2][j % 2 * 2], y[j / 2][j % 2 * 2 + 1]);
      }
    }
  }
#pragma unroll
  for (u32 i = 0; i < 8; ++i) {
    u32 r = first_row + row + 8 * i + lane / 4;
    if (r >= rows) continue;
    float* line = out + (u64)r * columns;
#pragma unroll
    for (u32 j = 0; j < 8; ++j) {
      u32 c = first_column + column + 8 * j + lane % 4 * 2;
      const float* pair = sum[i / 2][j] + i % 2 * 2;
      if (columns % 2 == 0) {
        if (c < columns) *(float2*)(line + c) = make_float2(pair[0], pair[1]);
      } else {
        if (c < columns) line[c] = pair[0];
        if (c + 1 < columns) line[c + 1] = pair[1];
      }
    }
  }
}

// Whether the block has a tile and room for its stages, and all three matrices lie inside their buffers.
template <int COLUMNS>
__device__ __forceinline__ bool fits(u64 a_length, u64 b_length, u64 out_length, u32 rows, u32 columns,
                                     u32 depth) {
  u32 room;
  asm("mov.u32 %0, %%dynamic_smem_size;" : "=r"(room));
  u64 tiles = (((u64)rows + ROWS - 1) / ROWS) * (((u64)columns + COLUMNS - 1) / COLUMNS);
  return blockDim.x == COLUMNS && room >= STAGES * 2 * DEPTH * (ROWS + COLUMNS) && blockIdx.x < tiles &&
         (u64)rows * depth <= a_length && (u64)depth * columns <= b_length &&
         (u64)rows * columns <= out_length;
}

// out[rows, columns] = a[rows, depth] b[depth, columns]; a block of 128 threads to a tile of 128 by 128.
extern "C" __global__ void __launch_bounds__(128, 2)
matmul_bf16(const u16* a, u64 a_length, const u16* b, u64 b_length, float* out, u64 out_length, u32 rows,
            u32 columns, u32 depth) {
  if (!fits<128>(a_length, b_length, out_length, rows, columns, depth)) return;
  multiply<128>(a, b, out, rows, columns, depth);
}
