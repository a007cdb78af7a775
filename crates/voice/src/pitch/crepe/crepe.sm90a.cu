// A convolution of CREPE by Hopper's tensor cores: numbers in half precision, sums in single precision.
//
// A block of three warpgroups stays and makes tiles of 128 frames by 256 columns. One thread of the first group
// orders copies into a ring of stages from the units that copy boxes by themselves; each of the other groups
// multiplies 64 frames. Two neighbouring blocks, a cluster, have the same columns: each orders half of the
// weights, and both get them.

#define NUMBERS "f16.f16"
#include "hopper.cuh"

#include "crepe_layer.cuh"

#define THREADS 384
#define CLUSTER 2
// A bit to each block of a cluster.
#define BOTH 3
#define STAGES 4
#define GROUP 8
#define ROWS 128
#define LEFT (2 * ROWS * DEPTH)
#define RIGHT (2 * DEPTH * COLUMNS)
#define STAGE (LEFT + RIGHT)
#define STRIP_BYTES (2 * DEPTH * STRIP)

extern __shared__ char dynamic_shared[];

// The tiles of a cluster, one after another: GROUP of them at the same columns before the next columns, so that
// what is read stays in the second cache.
struct Tiles {
  u32 high, wide, at;

  __device__ __forceinline__ Tiles(u32 rows, u32 columns)
      : high((rows + CLUSTER * ROWS - 1) / (CLUSTER * ROWS)), wide(columns), at(blockIdx.x / CLUSTER) {}
  __device__ __forceinline__ bool more() const { return at < high * wide; }
  __device__ __forceinline__ void next() { at += gridDim.x / CLUSTER; }
  __device__ __forceinline__ void place(u32& row, u32& tile) const {
    u32 group = at / (GROUP * wide), within = at % (GROUP * wide);
    u32 height = min(high - group * GROUP, (u32)GROUP);
    row = ((group * GROUP + within % height) * CLUSTER + block_of_cluster()) * ROWS;
    tile = within / height;
  }
};

// Pooled outputs of `tiles` tiles for `frames` frames; `affine` has bias, scale and shift to a channel.
// Clusters of two blocks of 384 threads.
extern "C" __global__ void __launch_bounds__(THREADS, 1)
__cluster_dims__(CLUSTER, 1, 1)
crepe_layer(const __grid_constant__ TensorMap in, const __grid_constant__ TensorMap weights, const float* affine,
            u64 affine_length, unsigned short* out, u64 out_length, u32 frames, u32 tiles, u32 channels, u32 width,
            u32 depth, u32 step, u32 before) {
  __shared__ u64 barriers[2 * STAGES];
  u32 full = (u32)__cvta_generic_to_shared(barriers), empty = full + 8 * STAGES;
  // The pattern repeats every 1024 bytes, and stages begin where it does.
  u32 shared = ((u32)__cvta_generic_to_shared(dynamic_shared) + 1023) & ~1023u;
  u32 group = threadIdx.x / 128, thread = threadIdx.x % 128, out_width = tiles * PAIRS;
  u32 parts = max(channels / PAIRS, 1u);
  u32 room;
  asm("mov.u32 %0, %%dynamic_smem_size;" : "=r"(room));
  if (blockDim.x != THREADS || room < STAGES * STAGE + 1024 || (u64)frames * out_width > out_length ||
      3ull * channels > affine_length)
    return;
  if (threadIdx.x == 0) {
    for (u32 stage = 0; stage < STAGES; ++stage) {
      make_barrier(full + 8 * stage, 1);
      make_barrier(empty + 8 * stage, 2 * CLUSTER);
    }
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  meet_cluster();
  Turn<STAGES> turn;
  u32 row, tile;
  if (group == 0) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
    if (thread == 0) {
      for (Tiles all(frames, tiles); all.more(); all.next()) {
        all.place(row, tile);
        Window window(tile / parts, width, depth, step, before);
        int column = tile % parts * COLUMNS;
        for (int at = window.first; at < window.last; ++at) {
          u32 to = shared + turn.stage * STAGE, barrier = full + 8 * turn.stage;
          wait(empty + 8 * turn.stage, turn.parity ^ 1);
          expect_bytes(barrier, STAGE);
          copy_box(to, in, window.column + at * DEPTH, row, barrier);
#pragma unroll
          for (u32 i = 0; i < COLUMNS / STRIP / CLUSTER; ++i) {
            u32 strip = block_of_cluster() * (COLUMNS / STRIP / CLUSTER) + i;
            u32 there = to + LEFT + strip * STRIP_BYTES;
            copy_box_to(BOTH, there, weights, column + strip * STRIP, at * DEPTH, barrier);
          }
          turn.next();
        }
      }
    }
  } else {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
    float sum[128];
    for (Tiles all(frames, tiles); all.more(); all.next()) {
      all.place(row, tile);
      Window window(tile / parts, width, depth, step, before);
      u32 last = 0;
      for (int at = window.first; at < window.last; ++at) {
        wait(full + 8 * turn.stage, turn.parity);
        u32 left = shared + turn.stage * STAGE + (group - 1) * (64 * 2 * DEPTH);
        u32 right = shared + turn.stage * STAGE + LEFT;
        fence_products();
#pragma unroll
        for (u32 k = 0; k < DEPTH; k += 16) {
          multiply_add(sum, matrix(left + 2 * k, 16), matrix(right + k * 2 * STRIP, STRIP_BYTES),
                       at - window.first + k);
        }
        end_of_products();
        // The products of the step before are done: its stage can be filled, in both blocks that share it.
        wait_for_products<1>();
        if (at > window.first && thread < CLUSTER) arrive(empty + 8 * last, thread);
        last = turn.stage;
        turn.next();
      }
      wait_for_products<0>();
      if (thread < CLUSTER) arrive(empty + 8 * last, thread);
      u32 lane = thread % 32, first = row + (group - 1) * 64 + thread / 32 * 16 + lane / 4;
#pragma unroll
      for (u32 i = 0; i < PAIRS / 32; ++i) {
        u32 place = tile * PAIRS + 32 * i + 8 * (lane % 4);
#pragma unroll
        for (u32 half = 0; half < 2; ++half) {
          uint4 outputs = eight_outputs(sum + 32 * i + 2 * half, affine, place % channels, channels);
          u32 r = first + 8 * half;
          if (r < frames) *(uint4*)(out + (u64)r * out_width + place) = outputs;
        }
      }
    }
  }
  __syncwarp();
  // Nobody leaves while the other may still write here.
  meet_cluster();
}
