// Scaled dot-product attention over bf16 by tensor cores, without the matrix of scores in memory, for GPUs from
// Ampere on. Scores, their softmax and the sums are f32; shares are rounded to bf16 for their product with the
// values, and so is the result.
//
// Four warps take 32 queries of a head each and walk over its keys, TILE at a time, with the running maximum and
// sum of the softmax. Two tiles of keys and values lie in shared memory: one is copied while the other is used.
// Scores lie in registers as the next product wants its left side: no share changes threads.

#include "warp_product.cuh"

#define THREADS 128
#define LOWEST -3.402823466e38f

extern __shared__ __align__(128) uint4 dynamic_shared[];

__device__ __forceinline__ float power_of_two(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

__device__ __forceinline__ u32 pair_of(float low, float high) {
  u32 pair;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  return pair;
}

// Where a row has its chunk of 16 bytes: the chunks of eight rows change places with their neighbours, or those
// in one column would lie in the same banks.
template <int WIDTH>
__device__ __forceinline__ u32 chunk(u32 row, u32 column) {
  return row * (2 * WIDTH) + (column ^ row % 8) * 16;
}

// ROWS rows of [token, WIDTH] from `first` on; rows past the end are zeros. Nobody waits.
template <int ROWS, int WIDTH>
__device__ __forceinline__ void copy_rows(const u16* from, u32 first, u32 tokens, u32 to) {
#pragma unroll
  for (u32 i = 0; i < ROWS * WIDTH / 8 / THREADS; ++i) {
    u32 slot = threadIdx.x + i * THREADS, r = slot / (WIDTH / 8), c = slot % (WIDTH / 8);
    bool there = first + r < tokens;
    copy_16(to + chunk<WIDTH>(r, c), from + (there ? (u64)(first + r) * WIDTH + 8 * c : 0), there);
  }
}

template <int WIDTH_, int TILE_>
struct Attention {
  static constexpr int WIDTH = WIDTH_, TILE = TILE_, HIGH = 2;
  static constexpr int ROWS = 16 * HIGH * (THREADS / 32);
  static constexpr int KEYS = 2 * TILE * WIDTH, STAGE = 2 * KEYS;
  static constexpr int SHARED = 2 * ROWS * WIDTH + 2 * STAGE;
  // Wider queries have no room in registers beside their results.
  static constexpr bool KEPT = WIDTH == 64;

  float result[HIGH][WIDTH / 8][4], largest[HIGH][2], sum[HIGH][2];
  u32 kept[HIGH][KEPT ? WIDTH / 16 : 1][4];

  static __device__ __forceinline__ void copy_tile(const u16* key, const u16* value, u32 at, u32 tokens, u32 stage) {
    copy_rows<TILE, WIDTH>(key, at, tokens, stage);
    copy_rows<TILE, WIDTH>(value, at, tokens, stage + KEYS);
  }

  static __device__ __forceinline__ void load_query(u32 queries, int h, int step, u32 (&a)[4]) {
    u32 lane = threadIdx.x % 32;
    load_matrices(queries + chunk<WIDTH>(threadIdx.x / 32 * 16 * HIGH + 16 * h + lane % 16, 2 * step + lane / 16), a);
  }

  __device__ __forceinline__ void add_scores(u32 queries, u32 keys, float (&score)[HIGH][TILE / 8][4]) {
    u32 lane = threadIdx.x % 32;
#pragma unroll (KEPT ? WIDTH / 16 : 2)
    for (int step = 0; step < WIDTH / 16; ++step) {
      u32 loaded[HIGH][4];
      if (!KEPT) {
#pragma unroll
        for (int h = 0; h < HIGH; ++h) load_query(queries, h, step, loaded[h]);
      }
#pragma unroll
      for (int n = 0; n < TILE / 16; ++n) {
        u32 b[4];
        load_matrices(keys + chunk<WIDTH>(16 * n + lane / 16 * 8 + lane % 8, 2 * step + lane / 8 % 2), b);
#pragma unroll
        for (int h = 0; h < HIGH; ++h) {
          const u32(&a)[4] = KEPT ? kept[h][KEPT ? step : 0] : loaded[h];
          multiply_add(score[h][2 * n], a, b[0], b[1]);
          multiply_add(score[h][2 * n + 1], a, b[2], b[3]);
        }
      }
    }
  }

  // Scores become shares of the softmax so far; what was summed up before shrinks where the maximum grew. The
  // first tile has a key that every query sees, so that there is a maximum from then on.
  __device__ __forceinline__ void share(float (&score)[HIGH][TILE / 8][4], u32 first_query, u32 at, u32 tokens,
                                        bool causal, float scale, bool whole) {
    u32 lane = threadIdx.x % 32;
#pragma unroll
    for (int h = 0; h < HIGH; ++h) {
      float shrink[2];
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        u32 query = first_query + 16 * h + 8 * r + lane / 4;
        float top = largest[h][r];
#pragma unroll
        for (int n = 0; n < TILE / 8; ++n) {
#pragma unroll
          for (int e = 0; e < 2; ++e) {
            float& x = score[h][n][2 * r + e];
            u32 k = at + 8 * n + lane % 4 * 2 + e;
            if (!whole && (k >= tokens || (causal && k > query))) x = LOWEST;
            top = fmaxf(top, x);
          }
        }
        top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, 1));
        top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, 2));
        shrink[r] = power_of_two((largest[h][r] - top) * scale);
        largest[h][r] = top;
        float total = 0.0f, below = top * scale;
#pragma unroll
        for (int n = 0; n < TILE / 8; ++n) {
#pragma unroll
          for (int e = 0; e < 2; ++e) {
            float& x = score[h][n][2 * r + e];
            x = power_of_two(fmaf(x, scale, -below));
            total += x;
          }
        }
        sum[h][r] = fmaf(sum[h][r], shrink[r], total);
      }
      // After a few tiles maxima seldom grow.
      if (__any_sync(0xffffffffu, shrink[0] != 1.0f || shrink[1] != 1.0f)) {
#pragma unroll
        for (int n = 0; n < WIDTH / 8; ++n) {
#pragma unroll
          for (int e = 0; e < 4; ++e) result[h][n][e] *= shrink[e / 2];
        }
      }
    }
  }

  __device__ __forceinline__ void add_values(const float (&share)[HIGH][TILE / 8][4], u32 values) {
    u32 lane = threadIdx.x % 32;
#pragma unroll
    for (int k = 0; k < TILE / 16; ++k) {
      u32 a[HIGH][4];
#pragma unroll
      for (int h = 0; h < HIGH; ++h) {
#pragma unroll
        for (int r = 0; r < 4; ++r) {
          const float* from = share[h][2 * k + r / 2] + r % 2 * 2;
          a[h][r] = pair_of(from[0], from[1]);
        }
      }
#pragma unroll
      for (int n = 0; n < WIDTH / 16; ++n) {
        u32 b[4];
        load_transposed(values + chunk<WIDTH>(16 * k + lane % 16, 2 * n + lane / 16), b);
#pragma unroll
        for (int h = 0; h < HIGH; ++h) {
          multiply_add(result[h][2 * n], a[h], b[0], b[1]);
          multiply_add(result[h][2 * n + 1], a[h], b[2], b[3]);
        }
      }
    }
  }

  __device__ __forceinline__ void run(const u16* query, const u16* key, const u16* value, u16* out, u32 first,
                                      u32 tokens, bool causal, float scale) {
    u32 queries = shared_address(dynamic_shared), tiles = queries + 2 * ROWS * WIDTH;
    u32 own = first + threadIdx.x / 32 * 16 * HIGH;
#pragma unroll
    for (int h = 0; h < HIGH; ++h) {
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        largest[h][r] = LOWEST;
        sum[h][r] = 0.0f;
      }
#pragma unroll
      for (int n = 0; n < WIDTH / 8; ++n) {
#pragma unroll
        for (int e = 0; e < 4; ++e) result[h][n][e] = 0.0f;
      }
    }
    u32 stop = causal ? min(tokens, first + ROWS) : tokens;
    copy_rows<ROWS, WIDTH>(query, first, tokens, queries);
    copy_tile(key, value, 0, tokens, tiles);
    end_of_copies();
    u32 turn = 0;
    for (u32 at = 0; at < stop; at += TILE) {
      wait_for_copies<0>();
      // Everybody's copies are there, and everybody has done with the stage that is filled next.
      __syncthreads();
      u32 stage = tiles + turn * STAGE;
      turn = 1 - turn;
      if (at + TILE < stop) copy_tile(key, value, at + TILE, tokens, tiles + turn * STAGE);
      end_of_copies();
      if (KEPT && at == 0) {
#pragma unroll
        for (int h = 0; h < HIGH; ++h) {
#pragma unroll
          for (int step = 0; step < (KEPT ? WIDTH / 16 : 1); ++step) load_query(queries, h, step, kept[h][step]);
        }
      }
      // No query of this warp sees the tile.
      if (causal && at >= own + 16 * HIGH) continue;
      float score[HIGH][TILE / 8][4] = {};
      add_scores(queries, stage, score);
      bool whole = at + TILE <= tokens && (!causal || at + TILE <= own + 1);
      share(score, own, at, tokens, causal, scale, whole);
      add_values(score, stage + KEYS);
    }
    u32 lane = threadIdx.x % 32;
#pragma unroll
    for (int h = 0; h < HIGH; ++h) {
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        float total = sum[h][r];
        total += __shfl_xor_sync(0xffffffffu, total, 1);
        total += __shfl_xor_sync(0xffffffffu, total, 2);
        float inverse = 1.0f / total;
        u32 token = own + 16 * h + 8 * r + lane / 4;
        if (token >= tokens) continue;
#pragma unroll
        for (int n = 0; n < WIDTH / 8; ++n) {
          *(u32*)(out + (u64)token * WIDTH + 8 * n + lane % 4 * 2) =
              pair_of(result[h][n][2 * r] * inverse, result[h][n][2 * r + 1] * inverse);
        }
      }
    }
  }
};

template <class Of>
__device__ __forceinline__ void attend(const u16* query, u64 query_length, const u16* key, u64 key_length,
                                       const u16* value, u64 value_length, u16* out, u64 out_length, u32 tokens,
                                       u32 causal, float scale) {
  u32 shared_bytes;
  asm("mov.u32 %0, %%dynamic_smem_size;" : "=r"(shared_bytes));
  if (blockDim.x != THREADS || tokens == 0 || shared_bytes < Of::SHARED) return;
  u64 head = (u64)blockIdx.y * tokens * Of::WIDTH, end = head + (u64)tokens * Of::WIDTH;
  if (end > query_length || end > key_length || end > value_length || end > out_length) return;
  // With a mask the last queries take longest: they begin first.
  u64 first = (u64)(causal ? gridDim.x - 1 - blockIdx.x : blockIdx.x) * Of::ROWS;
  if (first >= tokens) return;
  Of of;
  // Powers of two are what the hardware knows: log2(e) goes into the scale.
  of.run(query + head, key + head, value + head, out + head, (u32)first, tokens, causal != 0,
         scale * 1.44269504088896f);
}

// out = softmax(query . key * scale) . value for every head, all [head, token, width]; causal not 0 hides
// later keys from a query. Blocks: 128 queries in x, a head in y.
#define ENTRY(name, blocks, ...)                                                                          \
  extern "C" __global__ void __launch_bounds__(THREADS, blocks)                                           \
  name(const u16* query, u64 query_length, const u16* key, u64 key_length, const u16* value,              \
       u64 value_length, u16* out, u64 out_length, u32 tokens, u32 width, u32 causal, float scale) {      \
    if (width != Attention<__VA_ARGS__>::WIDTH) return;                                                   \
    attend<Attention<__VA_ARGS__>>(query, query_length, key, key_length, value, value_length, out,        \
                                   out_length, tokens, causal, scale);                                    \
  }

ENTRY(attention_64, 2, 64, 64)
ENTRY(attention_128, 2, 128, 64)
