// Products of matrices with the sums in registers: a block makes a tile of the result, walking over the
// depth some steps at a time. The next step's numbers are on their way while this step's are multiplied.
//
// A warp's threads form 4 rows of 8; a thread has quads of neighbouring rows and columns, 16 rows and 32
// columns apart, so that the threads of a row or column read neighbouring vectors of shared memory.
//
// An element is sum = fma(a, b, sum) over the depth from first to last, as on the CPU: the same bits.

typedef unsigned long long u64;
typedef unsigned int u32;

template <int ROW_QUADS_, int COLUMN_QUADS_, int WARP_ROWS, int WARP_COLUMNS, int DEPTH_>
struct RegisterTile {
  static constexpr int ROW_QUADS = ROW_QUADS_, COLUMN_QUADS = COLUMN_QUADS_, DEPTH = DEPTH_;
  static constexpr int THREADS = 32 * WARP_ROWS * WARP_COLUMNS;
  static constexpr int ROWS = 16 * ROW_QUADS * WARP_ROWS;
  static constexpr int COLUMNS = 32 * COLUMN_QUADS * WARP_COLUMNS;
  // Rows come in columns: a pitch of 4 more keeps their stores apart.
  static constexpr int ROW_PITCH = ROWS + 4;

  struct Shared {
    float4 left[2][DEPTH * ROW_PITCH / 4];
    float4 right[2][DEPTH * COLUMNS / 4];
  };

  float sum[4 * ROW_QUADS][4 * COLUMN_QUADS];

  static __device__ __forceinline__ u32 row(u32 r) {
    u32 warp = threadIdx.x / 32 / WARP_COLUMNS;
    return warp * 16 * ROW_QUADS + r / 4 * 16 + threadIdx.x % 32 / 8 * 4 + r % 4;
  }

  static __device__ __forceinline__ u32 column(u32 c) {
    u32 warp = threadIdx.x / 32 % WARP_COLUMNS;
    return warp * 32 * COLUMN_QUADS + c / 4 * 32 + threadIdx.x % 8 * 4 + c % 4;
  }

  // `left` and `right` load a step's numbers into registers and store them in shared memory.
  template <class Left, class Right>
  __device__ __forceinline__ void add(Left& left, Right& right, u32 steps, Shared& shared) {
    if (steps == 0) return;
    left.load(0);
    right.load(0);
    left.store((float*)shared.left[0]);
    right.store((float*)shared.right[0]);
    __syncthreads();
    for (u32 step = 0; step < steps; ++step) {
      u32 now = step % 2;
      bool more = step + 1 < steps;
      if (more) {
        left.load(step + 1);
        right.load(step + 1);
      }
      const float* a = (const float*)shared.left[now] + row(0);
      const float* b = (const float*)shared.right[now] + column(0);
#pragma unroll
      for (int k = 0; k < DEPTH; ++k) {
        float4 x[ROW_QUADS], y[COLUMN_QUADS];
#pragma unroll
        for (int q = 0; q < ROW_QUADS; ++q) x[q] = *(const float4*)(a + k * ROW_PITCH + 16 * q);
#pragma unroll
        for (int q = 0; q < COLUMN_QUADS; ++q) y[q] = *(const float4*)(b + k * COLUMNS + 32 * q);
#pragma unroll
        for (int r = 0; r < 4 * ROW_QUADS; ++r) {
#pragma unroll
          for (int c = 0; c < 4 * COLUMN_QUADS; ++c) {
            sum[r][c] = fmaf(((const float*)x)[r], ((const float*)y)[c], sum[r][c]);
          }
        }
      }
      if (more) {
        left.store((float*)shared.left[1 - now]);
        right.store((float*)shared.right[1 - now]);
        __syncthreads();
      }
    }
  }
};

__device__ __forceinline__ float number(float x) { return x; }
// The bits of a bf16 are the upper half of an f32.
__device__ __forceinline__ float number(unsigned short bits) {
  return __uint_as_float((u32)bits << 16);
}

// The rows of a matrix that lies row by row, for the left side. VECTORS: its depth is a multiple of 4.
template <class Tile, class Number, bool VECTORS>
struct LeftRows {
  static constexpr u32 QUADS = Tile::ROWS * Tile::DEPTH / 4;
  const Number* from;
  u32 first, rows, depth;
  float4 quad[(QUADS + Tile::THREADS - 1) / Tile::THREADS];

  __device__ __forceinline__ void load(u32 step) {
#pragma unroll
    for (u32 i = 0; i < sizeof(quad) / sizeof(float4); ++i) {
      u32 slot = threadIdx.x + i * Tile::THREADS;
      u32 row = first + slot / (Tile::DEPTH / 4), k = step * Tile::DEPTH + slot % (Tile::DEPTH / 4) * 4;
      const Number* at = from + (u64)row * depth + k;
      quad[i] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
      if (row >= rows || slot >= QUADS) continue;
      if (VECTORS) {
        if (k < depth) quad[i] = __ldg((const float4*)at);
      } else {
        if (k < depth) quad[i].x = number(__ldg(at));
        if (k + 1 < depth) quad[i].y = number(__ldg(at + 1));
        if (k + 2 < depth) quad[i].z = number(__ldg(at + 2));
        if (k + 3 < depth) quad[i].w = number(__ldg(at + 3));
      }
    }
  }

  __device__ __forceinline__ void store(float* to) const {
#pragma unroll
    for (u32 i = 0; i < sizeof(quad) / sizeof(float4); ++i) {
      u32 slot = threadIdx.x + i * Tile::THREADS;
      if (slot >= QUADS) continue;
      float* at = to + slot % (Tile::DEPTH / 4) * 4 * Tile::ROW_PITCH + slot / (Tile::DEPTH / 4);
      at[0] = quad[i].x;
      at[Tile::ROW_PITCH] = quad[i].y;
      at[2 * Tile::ROW_PITCH] = quad[i].z;
      at[3 * Tile::ROW_PITCH] = quad[i].w;
    }
  }
};
