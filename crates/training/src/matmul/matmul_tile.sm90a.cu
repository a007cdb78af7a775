// The product of two bf16 matrices by Hopper's tensor cores, summed in single precision, for results that
// tiles of 128 by 256 leave multiprocessors without work: smaller tiles, one to a block.
//
// A warp orders copies into a ring of stages from the units that copy tiles by themselves, 64 of the depth at
// a time; each warpgroup multiplies 64 rows.

#include "hopper.cuh"

#define DEPTH 64
#define STRIP_BYTES (2 * DEPTH * STRIP)

extern __shared__ char dynamic_shared[];

template <int ROWS, int COLUMNS, int STAGES>
__device__ __forceinline__ void multiply(const TensorMap& a, const TensorMap& b, float* out, u64 out_length,
                                         u32 rows, u32 columns, u32 depth) {
  constexpr u32 GROUPS = ROWS / 64, COPIER = 128 * GROUPS, LEFT = 2 * ROWS * DEPTH;
  constexpr u32 STAGE = LEFT + 2 * DEPTH * COLUMNS;
  __shared__ u64 barriers[2 * STAGES];
  u32 full = (u32)__cvta_generic_to_shared(barriers), empty = full + 8 * STAGES;
  // The pattern repeats every 1024 bytes, and stages begin where it does.
  u32 shared = ((u32)__cvta_generic_to_shared(dynamic_shared) + 1023) & ~1023u;
  u32 high = (rows + ROWS - 1) / ROWS, steps = (depth + DEPTH - 1) / DEPTH;
  u32 row = blockIdx.x % high * ROWS, column = blockIdx.x / high * COLUMNS;
  u32 room;
  asm("mov.u32 %0, %%dynamic_smem_size;" : "=r"(room));
  if (blockDim.x != COPIER + 32 || room < STAGES * STAGE + 1024 || (u64)rows * columns > out_length) return;
  if (threadIdx.x == COPIER) {
    prefetch_map(a);
    prefetch_map(b);
    for (u32 stage = 0; stage < STAGES; ++stage) {
      make_barrier(full + 8 * stage, 1);
      make_barrier(empty + 8 * stage, GROUPS);
    }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  __syncthreads();
  Turn<STAGES> turn;
  if (threadIdx.x == COPIER) {
    for (u32 step = 0; step < steps; ++step) {
      u32 to = shared + turn.stage * STAGE, barrier = full + 8 * turn.stage;
      wait(empty + 8 * turn.stage, turn.parity ^ 1);
      expect_bytes(barrier, STAGE);
      copy_box(to, a, step * DEPTH, row, barrier);
      for (u32 strip = 0; strip < COLUMNS / STRIP; ++strip) {
        copy_box(to + LEFT + strip * STRIP_BYTES, b, column + strip * STRIP, step * DEPTH, barrier);
      }
      turn.next();
    }
  } else if (threadIdx.x < COPIER) {
    u32 group = threadIdx.x / 128, before = 0;
    float sum[COLUMNS / 2];
    for (u32 step = 0; step < steps; ++step) {
      wait(full + 8 * turn.stage, turn.parity);
      u32 left = shared + turn.stage * STAGE + group * (64 * 2 * DEPTH);
      u32 right = shared + turn.stage * STAGE + LEFT;
      fence_products();
#pragma unroll
      for (u32 k = 0; k < DEPTH; k += 16) {
        multiply_add(sum, matrix(left + 2 * k, 16), matrix(right + k * 2 * STRIP, STRIP_BYTES), step + k);
      }
      end_of_products();
      // The products of the step before are done: its stage can be filled.
      wait_for_products<1>();
      if (step > 0 && threadIdx.x % 128 == 0) arrive(empty + 8 * before);
      before = turn.stage;
      turn.next();
    }
    wait_for_products<0>();
    write_sum<COLUMNS>(sum, out, row + group * 64, column, rows, columns);
  }
}

// out[rows, columns] = a[rows, depth] b[depth, columns]; a block of 160 threads to a tile of 64 by 128.
extern "C" __global__ void __launch_bounds__(160, 1)
matmul_bf16_64x128(const __grid_constant__ TensorMap a, const __grid_constant__ TensorMap b, float* out,
                   u64 out_length, u32 rows, u32 columns, u32 depth) {
  multiply<64, 128, 8>(a, b, out, out_length, rows, columns, depth);
}

// The same by blocks of 288 threads, for tiles of 128 by 128.
extern "C" __global__ void __launch_bounds__(288, 1)
matmul_bf16_128x128(const __grid_constant__ TensorMap a, const __grid_constant__ TensorMap b, float* out,
                    u64 out_length, u32 rows, u32 columns, u32 depth) {
  multiply<128, 128, 6>(a, b, out, out_length, rows, columns, depth);
}

// The same for tiles of 128 by 192.
extern "C" __global__ void __launch_bounds__(288, 1)
matmul_bf16_128x192(const __grid_constant__ TensorMap a, const __grid_constant__ TensorMap b, float* out,
                    u64 out_length, u32 rows, u32 columns, u32 depth) {
  multiply<128, 192, 5>(a, b, out, out_length, rows, columns, depth);
}
