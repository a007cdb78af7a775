// Products of f32 matrices by tensor cores, for GPUs from Ampere on: a block makes a tile of the result,
// walking over the depth 32 steps at a time. Copies of the next steps are under way while a step is
// multiplied.
//
// Tensor cores take factors of 11 bits. A number is the sum of two of them but for its last bit: x = high +
// low, and x y = low high + high low + high high but for low low, 2^-22 of it. They also cut their sums off
// where f32 rounds, always towards zero. So the 32 steps of a stage have sums of their own, which are then
// added with rounding: the result errs no more than one of f32 alone does.
//
// Infinite numbers, NaN, and what rounds to infinity leave NaN or infinity in the sums. `all_finite` says
// whether that happened in a block; it then computes those elements again as the CPU does. Tensor cores take
// numbers below 2^-126 for 0, halves of larger numbers among them.

#include "warp_product.cuh"

extern __shared__ __align__(128) uint4 dynamic_shared[];

// Copies N numbers, or zeros where `there` is false; nothing is read then.
template <int N>
__device__ __forceinline__ void copy_numbers(u32 to, const float* from, bool there) {
  if (N == 4) {
    copy_16(to, from, there);
  } else {
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(to), "l"(from), "r"(there ? 4 : 0)
                 : "memory");
  }
}

// With `high` rounded, `low` is of either sign, and what is lost of many products falls either way.
__device__ __forceinline__ void split(u32 number, u32& high, u32& low) {
  high = (number + 0x1000) & 0xffffe000;
  low = __float_as_uint(__uint_as_float(number) - __uint_as_float(high));
}

// sum[16, 8] += a[16, 8] b[8, 8].
__device__ __forceinline__ void multiply_add(float (&sum)[4], const u32 (&a)[4], const u32 (&b)[2]) {
  asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

// A warp makes 16 HIGH rows by 32 WIDE columns. Thread i gets rows i / 4 of every eight, and of every 32
// columns the eight from i % 4 * 8 on.
template <int HIGH, int WIDE, int WARPS_DOWN, int WARPS_ACROSS, int STAGES_>
struct TensorTile {
  static constexpr int DEPTH = 32, STAGES = STAGES_;
  static constexpr int THREADS = 32 * WARPS_DOWN * WARPS_ACROSS;
  static constexpr int ROWS = 16 * HIGH * WARPS_DOWN, COLUMNS = 32 * WIDE * WARPS_ACROSS;
  // Threads of a warp read four rows of the right side: a pitch of 8 more keeps them apart.
  static constexpr int PITCH = COLUMNS + 8;
  static constexpr int LEFT = 4 * ROWS * DEPTH, STAGE = LEFT + 4 * DEPTH * PITCH;
  static constexpr int SHARED = STAGES * STAGE;
  // How many rows a thread has, and at how many places four columns.
  static constexpr int TALL = 2 * HIGH, BROAD = 2 * WIDE;

  float sum[HIGH][4 * WIDE][4];

  // Whether the block has the threads and the shared memory that the tile needs.
  static __device__ __forceinline__ bool has_room() {
    u32 room;
    asm("mov.u32 %0, %%dynamic_smem_size;" : "=r"(room));
    return blockDim.x == THREADS && room >= SHARED;
  }

  // Where the left side has a number: the eight chunks of 16 bytes of a row change places with their
  // neighbours, or those of eight rows would lie in the same banks.
  static __device__ __forceinline__ u32 left(u32 row, u32 k) {
    return row * (4 * DEPTH) + (k / 4 ^ row % 8) * 16 + k % 4 * 4;
  }

  static __device__ __forceinline__ u32 right(u32 k, u32 column) { return 4 * (k * PITCH + column); }

  static __device__ __forceinline__ u32 warp_row() { return threadIdx.x / 32 % WARPS_DOWN * (16 * HIGH); }
  static __device__ __forceinline__ u32 warp_column() { return threadIdx.x / 32 / WARPS_DOWN * (32 * WIDE); }

  __device__ __forceinline__ void add_stage(const char* stage) {
    u32 lane = threadIdx.x % 32;
    u32 a = shared_address(stage) + left(warp_row() + lane % 16, lane / 16 * 4);
    const char* b = stage + LEFT + right(lane % 4, warp_column() + lane / 4 * 4);
    float part[HIGH][4 * WIDE][4] = {};
#pragma unroll
    for (u32 k = 0; k < DEPTH; k += 8) {
      u32 y_high[4 * WIDE][2], y_low[4 * WIDE][2];
#pragma unroll
      for (u32 i = 0; i < 2 * WIDE; ++i) {
        u32 j = i / 2 * 4, half = i % 2;
        uint4 four = *(const uint4*)(b + right(k + 4 * half, 8 * j));
        split(four.x, y_high[j][half], y_low[j][half]);
        split(four.y, y_high[j + 1][half], y_low[j + 1][half]);
        split(four.z, y_high[j + 2][half], y_low[j + 2][half]);
        split(four.w, y_high[j + 3][half], y_low[j + 3][half]);
      }
#pragma unroll
      for (u32 i = 0; i < HIGH; ++i) {
        u32 x[4], x_high[4], x_low[4];
        load_matrices((a ^ k * 4) + i * 16 * 4 * DEPTH, x);
#pragma unroll
        for (u32 r = 0; r < 4; ++r) split(x[r], x_high[r], x_low[r]);
#pragma unroll
        for (u32 j = 0; j < 4 * WIDE; ++j) multiply_add(part[i][j], x_low, y_high[j]);
#pragma unroll
        for (u32 j = 0; j < 4 * WIDE; ++j) multiply_add(part[i][j], x_high, y_low[j]);
#pragma unroll
        for (u32 j = 0; j < 4 * WIDE; ++j) multiply_add(part[i][j], x_high, y_high[j]);
      }
    }
#pragma unroll
    for (u32 i = 0; i < HIGH; ++i) {
#pragma unroll
      for (u32 j = 0; j < 4 * WIDE; ++j) {
#pragma unroll
        for (u32 e = 0; e < 4; ++e) sum[i][j][e] += part[i][j][e];
      }
    }
  }

  // `fetch` begins the copies of a step to a stage.
  template <class Fetch>
  __device__ __forceinline__ void add(u32 steps, Fetch fetch) {
    char* memory = (char*)dynamic_shared;
    for (u32 step = 0; step < STAGES - 1; ++step) {
      if (step < steps) fetch(step, shared_address(memory) + step * STAGE);
      end_of_copies();
    }
    for (u32 step = 0; step < steps; ++step) {
      wait_for_copies<STAGES - 2>();
      // Everybody's copies are there, and everybody has done with the stage that is filled next.
      __syncthreads();
      u32 next = step + STAGES - 1;
      if (next < steps) fetch(next, shared_address(memory) + next % STAGES * STAGE);
      end_of_copies();
      add_stage(memory + step % STAGES * STAGE);
    }
  }

  // The same for all threads of the block. All have then written what they have.
  __device__ __forceinline__ bool all_finite() const {
    float nothing = 0.0f;
#pragma unroll
    for (u32 i = 0; i < HIGH; ++i) {
#pragma unroll
      for (u32 j = 0; j < 4 * WIDE; ++j) {
#pragma unroll
        for (u32 e = 0; e < 4; ++e) nothing = fmaf(sum[i][j][e], 0.0f, nothing);
      }
    }
    return __syncthreads_and(nothing == 0.0f);
  }

  static __device__ __forceinline__ u32 row(u32 i) { return warp_row() + 8 * i + threadIdx.x % 32 / 4; }
  static __device__ __forceinline__ u32 column(u32 j) {
    return warp_column() + j / 2 * 32 + threadIdx.x % 4 * 8 + j % 2 * 4;
  }
  __device__ __forceinline__ float element(u32 i, u32 j, u32 e) const {
    return sum[i / 2][j / 2 * 4 + e][i % 2 * 2 + j % 2];
  }
  __device__ __forceinline__ float4 four(u32 i, u32 j) const {
    return make_float4(element(i, j, 0), element(i, j, 1), element(i, j, 2), element(i, j, 3));
  }
};

// Begins the copy of HEIGHT by WIDTH numbers of a matrix, from row `first_row` and column `first_column` on,
// to the addresses that `place` gives for rows and columns; zeros beyond the edges. N: 4 where rows begin at
// multiples of 16 bytes, else 1.
template <int HEIGHT, int WIDTH, int N, int THREADS, class Place>
__device__ __forceinline__ void copy_part(const float* from, u32 first_row, u32 first_column, u32 rows,
                                          u32 columns, Place place) {
  constexpr u32 ACROSS = WIDTH / N, DOWN = THREADS / ACROSS;
  u32 r = threadIdx.x / ACROSS, c = threadIdx.x % ACROSS * N;
  const float* at = from + (u64)(first_row + r) * columns + first_column + c;
  u32 high = rows - first_row, wide = columns - first_column;
  // Most parts lie inside the matrix: their copies need no looking.
  if (high >= HEIGHT && wide >= WIDTH) {
#pragma unroll
    for (u32 i = 0; i < HEIGHT; i += DOWN) {
      copy_numbers<N>(place(r + i, c), at, true);
      at += (u64)DOWN * columns;
    }
    return;
  }
#pragma unroll
  for (u32 i = 0; i < HEIGHT; i += DOWN) {
    copy_numbers<N>(place(r + i, c), at, c < wide && r + i < high);
    at += (u64)DOWN * columns;
  }
}
