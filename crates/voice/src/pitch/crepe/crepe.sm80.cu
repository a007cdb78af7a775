// The layers of CREPE by tensor cores, for GPUs from Ampere on: numbers in half precision, sums in single
// precision.
//
// Of a convolution, a block makes a tile of 128 frames by half of the columns, walking over the window 64 numbers at a time; a warp
// has 64 by 64 of it. Copies of the next steps are under way while a step is multiplied. The chunks of 16 bytes
// change places with their neighbours from row to row, or those of one column would lie in the same banks.

#include "warp_product.cuh"

#include "crepe_layer.cuh"

#define THREADS 128
#define ROWS 128
#define HALF (COLUMNS / 2)
#define STAGES 3
#define LEFT (2 * ROWS * DEPTH)
#define STAGE (LEFT + 2 * DEPTH * HALF)
// Tiles of rows that blocks with neighbouring numbers take before they go to the next columns: what they read
// stays in the second cache.
#define GROUP 16

extern __shared__ uint4 dynamic_shared[];

// Where chunk `column` of a row of WIDTH numbers lies.
template <int WIDTH>
__device__ __forceinline__ u32 chunk(u32 row, u32 column) {
  return row * (2 * WIDTH) + (column ^ row % 8) * 16;
}

// sum[16, 8] += a[16, 16] b[16, 8] in half precision.
__device__ __forceinline__ void multiply_add_halves(float (&sum)[4], const u32 (&a)[4], u32 b0, u32 b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// Pooled outputs of `tiles` tiles for `frames` frames; a block of 128 threads to 128 frames and half a tile.
extern "C" __global__ void __launch_bounds__(THREADS, 2)
crepe_layer(const u16* in, u64 in_length, const u16* weights, u64 weights_length, const float* affine,
            u64 affine_length, u16* out, u64 out_length, u32 frames, u32 tiles, u32 channels, u32 width, u32 depth,
            u32 step, u32 before) {
  u32 parts = max(channels / PAIRS, 1u), columns = parts * COLUMNS, out_width = tiles * PAIRS;
  u32 high = (frames + ROWS - 1) / ROWS, wide = 2 * tiles, room;
  asm("mov.u32 %0, %%dynamic_smem_size;" : "=r"(room));
  if (blockDim.x != THREADS || room < STAGES * STAGE || blockIdx.x >= high * wide ||
      (u64)frames * width > in_length || (u64)depth * columns > weights_length || 3ull * channels > affine_length ||
      (u64)frames * out_width > out_length)
    return;
  u32 group = blockIdx.x / (GROUP * wide), within = blockIdx.x % (GROUP * wide);
  u32 height = min(high - group * GROUP, (u32)GROUP);
  u32 first_row = (group * GROUP + within % height) * ROWS, half_tile = within / height, tile = half_tile / 2;
  u32 first_column = tile % parts * COLUMNS + half_tile % 2 * HALF;
  Window window(tile / parts, width, depth, step, before);
  u32 shared = shared_address(dynamic_shared);
  auto fetch = [&](int at) {
    u32 to = shared + (u32)at % STAGES * STAGE;
    if (at < window.last) {
#pragma unroll
      for (u32 i = 0; i < ROWS * DEPTH / 8 / THREADS; ++i) {
        u32 slot = threadIdx.x + i * THREADS, r = slot / (DEPTH / 8), c = slot % (DEPTH / 8);
        int column = window.column + at * DEPTH + 8 * (int)c;
        bool there = first_row + r < frames && column >= 0 && column < (int)width;
        copy_16(to + chunk<DEPTH>(r, c), there ? in + (u64)(first_row + r) * width + column : in, there);
      }
#pragma unroll
      for (u32 i = 0; i < DEPTH * HALF / 8 / THREADS; ++i) {
        u32 slot = threadIdx.x + i * THREADS, r = slot / (HALF / 8), c = slot % (HALF / 8);
        u64 place = (u64)(at * DEPTH + r) * columns + first_column + 8 * c;
        copy_16(to + LEFT + chunk<HALF>(r, c), weights + place, true);
      }
    }
    end_of_copies();
  };
  u32 lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  u32 row = warp % 2 * 64, column = warp / 2 * 64;
  float sum[4][8][4] = {};
  for (int at = window.first; at < window.first + STAGES - 1; ++at) fetch(at);
  for (int at = window.first; at < window.last; ++at) {
    wait_for_copies<STAGES - 2>();
    // Everybody's copies are there, and everybody has done with the stage that is filled next.
    __syncthreads();
    fetch(at + STAGES - 1);
    u32 left = shared + (u32)at % STAGES * STAGE, right = left + LEFT;
#pragma unroll
    for (u32 k = 0; k < DEPTH; k += 16) {
      u32 x[4][4], y[4][4];
#pragma unroll
      for (u32 i = 0; i < 4; ++i) {
        load_matrices(left + chunk<DEPTH>(row + 16 * i + lane % 16, k / 8 + lane / 16), x[i]);
      }
#pragma unroll
      for (u32 j = 0; j < 4; ++j) {
        load_transposed(right + chunk<HALF>(k + lane % 16, column / 8 + 2 * j + lane / 16), y[j]);
      }
#pragma unroll
      for (u32 i = 0; i < 4; ++i) {
#pragma unroll
        for (u32 j = 0; j < 8; ++j) {
          multiply_add_halves(sum[i][j], x[i], y[j / 2][j % 2 * 2], y[j / 2][j % 2 * 2 + 1]);
        }
      }
    }
  }
  u32 place = half_tile * (PAIRS / 2) + warp / 2 * 32 + 8 * (lane % 4);
#pragma unroll
  for (u32 i = 0; i < 8; ++i) {
    uint4 outputs = eight_outputs(&sum[i / 2][0][i % 2 * 2], affine, place % channels, channels);
    u32 r = first_row + row + 8 * i + lane / 4;
    if (r < frames) *(uint4*)(out + (u64)r * out_width + place) = outputs;
  }
}

#define PITCHES 360
// Frames and pitches of a block's tile of the dense layer.
#define FEW_ROWS 64
#define THIRD (PITCHES / 3)
#define DENSE_LEFT (2 * FEW_ROWS * DEPTH)
#define DENSE_STAGE (DENSE_LEFT + 2 * DEPTH * THIRD)

// Probabilities of the pitches, out[first + frame, pitch], from a multiple of 64 features; weights are
// [feature, pitch]. A block of 128 threads to 64 frames and a third of the pitches; a warp has 16 frames.
extern "C" __global__ void __launch_bounds__(THREADS)
crepe_pitches(const u16* in, u64 in_length, const u16* weights, u64 weights_length, const float* bias,
              u64 bias_length, float* out, u64 out_length, u64 first, u32 frames, u32 features) {
  u32 first_row = blockIdx.x / 3 * FEW_ROWS, first_column = blockIdx.x % 3 * THIRD, room;
  asm("mov.u32 %0, %%dynamic_smem_size;" : "=r"(room));
  if (blockDim.x != THREADS || room < 2 * DENSE_STAGE || features % DEPTH != 0 || bias_length < PITCHES ||
      (u64)frames * features > in_length || (u64)features * PITCHES > weights_length ||
      (first + frames) * PITCHES > out_length)
    return;
  u32 shared = shared_address(dynamic_shared);
  auto fetch = [&](u32 at) {
    u32 to = shared + at % 2 * DENSE_STAGE;
    if (at * DEPTH < features) {
      for (u32 slot = threadIdx.x; slot < FEW_ROWS * DEPTH / 8; slot += THREADS) {
        u32 r = slot / (DEPTH / 8), c = slot % (DEPTH / 8);
        bool there = first_row + r < frames;
        copy_16(to + chunk<DEPTH>(r, c), there ? in + (u64)(first_row + r) * features + at * DEPTH + 8 * c : in, there);
      }
      // Rows of 15 chunks: eight neighbours already lie in different banks.
      for (u32 slot = threadIdx.x; slot < DEPTH * THIRD / 8; slot += THREADS) {
        u32 r = slot / (THIRD / 8), c = slot % (THIRD / 8);
        u64 place = (u64)(at * DEPTH + r) * PITCHES + first_column + 8 * c;
        copy_16(to + DENSE_LEFT + slot * 16, weights + place, true);
      }
    }
    end_of_copies();
  };
  u32 lane = threadIdx.x % 32, row = threadIdx.x / 32 * 16;
  float sum[THIRD / 8][4] = {};
  fetch(0);
  for (u32 at = 0; at * DEPTH < features; ++at) {
    fetch(at + 1);
    wait_for_copies<1>();
    __syncthreads();
    u32 left = shared + at % 2 * DENSE_STAGE, right = left + DENSE_LEFT;
#pragma unroll
    for (u32 k = 0; k < DEPTH; k += 16) {
      u32 x[4], y[4];
      load_matrices(left + chunk<DEPTH>(row + lane % 16, k / 8 + lane / 16), x);
#pragma unroll
      for (u32 j = 0; j < THIRD / 8; j += 2) {
        // After the last chunk comes itself.
        u32 column = min(j + lane / 16, THIRD / 8 - 1);
        load_transposed(right + ((k + lane % 16) * (THIRD / 8) + column) * 16, y);
        multiply_add_halves(sum[j], x, y[0], y[1]);
        if (j + 1 < THIRD / 8) multiply_add_halves(sum[j + 1], x, y[2], y[3]);
      }
    }
    __syncthreads();
  }
#pragma unroll
  for (u32 i = 0; i < 2; ++i) {
    u32 frame = first_row + row + 8 * i + lane / 4;
    if (frame >= frames) continue;
#pragma unroll
    for (u32 j = 0; j < THIRD / 8; ++j) {
      u32 pitch = first_column + 8 * j + lane % 4 * 2;
      float a = sum[j][2 * i] + bias[pitch], b = sum[j][2 * i + 1] + bias[pitch + 1];
      *(float2*)(out + (first + frame) * PITCHES + pitch) =
          make_float2(1.0f / (1.0f + expf(-a)), 1.0f / (1.0f + expf(-b)));
    }
  }
}
