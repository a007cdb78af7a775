// The product of two bf16 matrices by Hopper's tensor cores, summed in single precision.
//
// A block of three warpgroups stays and makes tiles of 128 by 256, walking over the depth 64 at a time. One
// thread of the first group orders copies into a ring of stages from the units that copy tiles by
// themselves; each of the other groups multiplies 64 rows. Two neighbouring blocks, a cluster, have tiles
// one below the other: each orders half of the right side, and both get it.

#include "hopper.cuh"

#define THREADS 384
#define CLUSTER 2
#define STAGES 4
#define GROUP 16
#define ROWS 128
#define COLUMNS 256
#define DEPTH 64
#define LEFT (2 * ROWS * DEPTH)
#define RIGHT (2 * DEPTH * COLUMNS)
#define STAGE (LEFT + RIGHT)
#define STRIP_BYTES (2 * DEPTH * STRIP)

extern __shared__ char dynamic_shared[];

// The tiles of a cluster, one after another: GROUP of them in a column before the next column, so that
// what is read stays in the second cache.
struct Tiles {
  u32 high, wide, at;

  __device__ __forceinline__ Tiles(u32 rows, u32 columns)
      : high((rows + CLUSTER * ROWS - 1) / (CLUSTER * ROWS)),
        wide((columns + COLUMNS - 1) / COLUMNS),
        at(blockIdx.x / CLUSTER) {}
  __device__ __forceinline__ bool more() const { return at < high * wide; }
  __device__ __forceinline__ void next() { at += gridDim.x / CLUSTER; }
  __device__ __forceinline__ void place(u32& row, u32& column) const {
    u32 group = at / (GROUP * wide), within = at % (GROUP * wide);
    u32 height = min(high - group * GROUP, (u32)GROUP);
    row = ((group * GROUP + within % height) * CLUSTER + block_of_cluster()) * ROWS;
    column = within / height * COLUMNS;
  }
};

// out[rows, columns] = a[rows, depth] b[depth, columns]. Clusters of two blocks of 384 threads.
extern "C" __global__ void __launch_bounds__(THREADS, 1)
__cluster_dims__(CLUSTER, 1, 1)
matmul_bf16(const __grid_constant__ TensorMap a, const __grid_constant__ TensorMap b, float* out,
            u64 out_length, u32 rows, u32 columns, u32 depth) {
  __shared__ u64 barriers[2 * STAGES];
  u32 full = (u32)__cvta_generic_to_shared(barriers), empty = full + 8 * STAGES;
  // The pattern repeats every 1024 bytes, and stages begin where it does.
  u32 shared = ((u32)__cvta_generic_to_shared(dynamic_shared) + 1023) & ~1023u;
  u32 steps = (depth + DEPTH - 1) / DEPTH, group = threadIdx.x / 128, thread = threadIdx.x % 128;
  u32 room;
  asm("mov.u32 %0, %%dynamic_smem_size;" : "=r"(room));
  if (blockDim.x != THREADS || room < STAGES * STAGE + 1024 || (u64)rows * columns > out_length) return;
  if (threadIdx.x == 0) {
    for (u32 stage = 0; stage < STAGES; ++stage) {
      make_barrier(full + 8 * stage, 1);
      make_barrier(empty + 8 * stage, 2 * CLUSTER);
    }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  meet_cluster();
  Turn<STAGES> turn;
  u32 row, column;
  if (group == 0) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
    if (thread == 0) {
      for (Tiles tiles(rows, columns); tiles.more(); tiles.next()) {
        tiles.place(row, column);
        for (u32 step = 0; step < steps; ++step) {
          u32 to = shared + turn.stage * STAGE, barrier = full + 8 * turn.stage;
          wait(empty + 8 * turn.stage, turn.parity ^ 1);
          expect_bytes(barrier, STAGE);
          copy_box(to, a, step * DEPTH, row, barrier);
          for (u32 i = 0; i < COLUMNS / STRIP / CLUSTER; ++i) {
            u32 strip = block_of_cluster() * (COLUMNS / STRIP / CLUSTER) + i;
            u32 there = to + LEFT + strip * STRIP_BYTES;
            copy_box_to((1 << CLUSTER) - 1, there, b, column + strip * STRIP, step * DEPTH, barrier);
          }
          turn.next();
        }
      }
    }
  } else {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
    float sum[128];
    for (Tiles tiles(rows, columns); tiles.more(); tiles.next()) {
      tiles.place(row, column);
      u32 before = 0;
      for (u32 step = 0; step < steps; ++step) {
        wait(full + 8 * turn.stage, turn.parity);
        u32 left = shared + turn.stage * STAGE + (group - 1) * (64 * 2 * DEPTH);
        u32 right = shared + turn.stage * STAGE + LEFT;
        fence_products();
#pragma unroll
        for (u32 k = 0; k < DEPTH; k += 16) {
          multiply_add(sum, matrix(left + 2 * k, 16), matrix(right + k * 2 * STRIP, STRIP_BYTES), step + k);
        }
        end_of_products();
        // The products of the step before are done: its stage can be filled, in all blocks that share it.
        wait_for_products<1>();
        if (step > 0 && thread < CLUSTER) arrive(empty + 8 * before, thread);
        before = turn.stage;
        turn.next();
      }
      wait_for_products<0>();
      if (thread < CLUSTER) arrive(empty + 8 * before, thread);
      write_sum<COLUMNS>(sum, out, row + (group - 1) * 64, column, rows, columns);
    }
  }
  __syncwarp();
  // Nobody leaves while others may still write here.
  meet_cluster();
}
