// Scaled dot-product attention in single precision by tensor cores, without the matrix of scores in memory,
// for GPUs from Ampere on.
//
// Four warps take 16 HIGH queries of a head each and walk over its keys, 64 at a time, with the running
// maximum and sum of the softmax. Tensor cores take factors of 11 bits: a number is the sum of two of them
// but for its last bit, and of their four products the smallest is left out. They also cut their sums off
// where f32 rounds, so the products of 64 keys have sums of their own, which are then added with rounding.
//
// A thread gets two neighbouring columns of scores and gives them as two columns of a factor that are four
// apart. That permutes the keys of a product, as it may, if the values follow: no score changes threads.
// Numbers of a query and a key are permuted in the same way, and are loaded in pairs.
//
// Infinite numbers have no lower part: they give NaN.

#include "warp_product.cuh"

#define THREADS 128
#define TILE 64

extern __shared__ __align__(128) float dynamic_shared[];

// With `high` rounded, `low` is of either sign, and what is lost of many products falls either way.
__device__ __forceinline__ void split(float number, u32& high, u32& low) {
  high = (__float_as_uint(number) + 0x1000) & 0xffffe000;
  low = __float_as_uint(number - __uint_as_float(high));
}

// sum[16, 8] += a[16, 8] b[8, 8].
__device__ __forceinline__ void multiply_add(float (&sum)[4], const u32 (&a)[4], const u32 (&b)[2]) {
  asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

// ROWS rows of [token, WIDTH] from `first` on; rows past the end are zeros. Nobody waits.
template <int ROWS, int WIDTH, int PITCH>
__device__ __forceinline__ void copy_rows(const float* from, u32 first, u32 tokens, float* to) {
  for (u32 i = threadIdx.x; i < ROWS * WIDTH / 4; i += THREADS) {
    u32 r = i / (WIDTH / 4), c = i % (WIDTH / 4) * 4;
    bool there = first + r < tokens;
    copy_16(shared_address(to + r * PITCH + c), from + (there ? (u64)(first + r) * WIDTH + c : 0), there);
  }
}

// Pitches keep the four rows of keys, and of values, that a half of a warp reads in different banks.
template <int WIDTH_, int HIGH_, int STAGES_>
struct Attention {
  static constexpr int WIDTH = WIDTH_, HIGH = HIGH_, STAGES = STAGES_;
  static constexpr int ROWS = 16 * HIGH * (THREADS / 32);
  static constexpr int KEY_PITCH = WIDTH + 8, VALUE_PITCH = WIDTH + 4;
  static constexpr int KEYS = TILE * KEY_PITCH, STAGE = KEYS + TILE * VALUE_PITCH;
  static constexpr int SHARED = 4 * (ROWS * KEY_PITCH + STAGES * STAGE);
  // Steps over the numbers of a query, and groups of four times eight columns of the result.
  static constexpr int STEPS = WIDTH / 8, GROUPS = WIDTH / 32;

  float result[HIGH][WIDTH / 8][4], largest[HIGH][2], sum[HIGH][2];

  static __device__ __forceinline__ void copy_tile(const float* key, const float* value, u32 at, u32 tokens,
                                                   float* stage) {
    copy_rows<TILE, WIDTH, KEY_PITCH>(key, at, tokens, stage);
    copy_rows<TILE, WIDTH, VALUE_PITCH>(value, at, tokens, stage + KEYS);
  }

  static __device__ __forceinline__ void add_scores(const float* queries, const float* keys,
                                                    float (&score)[HIGH][8][4]) {
    u32 lane = threadIdx.x % 32;
    const float* q = queries + (threadIdx.x / 32 * 16 * HIGH + lane / 4) * KEY_PITCH + lane % 4 * 2;
    const float* k = keys + lane / 4 * KEY_PITCH + lane % 4 * 2;
#pragma unroll 1
    for (int step = 0; step < STEPS; ++step) {
      u32 a_high[HIGH][4], a_low[HIGH][4];
#pragma unroll
      for (int h = 0; h < HIGH; ++h) {
#pragma unroll
        for (int r = 0; r < 2; ++r) {
          float2 pair = *(const float2*)(q + (16 * h + 8 * r) * KEY_PITCH + 8 * step);
          split(pair.x, a_high[h][r], a_low[h][r]);
          split(pair.y, a_high[h][r + 2], a_low[h][r + 2]);
        }
      }
#pragma unroll
      for (int n = 0; n < 8; ++n) {
        float2 pair = *(const float2*)(k + 8 * n * KEY_PITCH + 8 * step);
        u32 b_high[2], b_low[2];
        split(pair.x, b_high[0], b_low[0]);
        split(pair.y, b_high[1], b_low[1]);
#pragma unroll
        for (int h = 0; h < HIGH; ++h) {
          multiply_add(score[h][n], a_low[h], b_high);
          multiply_add(score[h][n], a_high[h], b_low);
          multiply_add(score[h][n], a_high[h], b_high);
        }
      }
    }
  }

  // Scores become shares of the softmax so far; what was summed up before shrinks where the maximum grew.
  __device__ __forceinline__ void share(float (&score)[HIGH][8][4], u32 first_query, u32 at, u32 tokens,
                                        bool causal, float scale, bool whole) {
    u32 lane = threadIdx.x % 32;
#pragma unroll
    for (int h = 0; h < HIGH; ++h) {
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        u32 query = first_query + 16 * h + 8 * r + lane / 4;
        float top = largest[h][r];
#pragma unroll
        for (int n = 0; n < 8; ++n) {
#pragma unroll
          for (int e = 0; e < 2; ++e) {
            float& x = score[h][n][2 * r + e];
            u32 k = at + 8 * n + lane % 4 * 2 + e;
            x *= scale;
            if (!whole && (k >= tokens || (causal && k > query))) x = -3.402823466e38f;
            top = fmaxf(top, x);
          }
        }
        top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, 1));
        top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, 2));
        float shrink = __expf(largest[h][r] - top), total = 0.0f;
        largest[h][r] = top;
#pragma unroll
        for (int n = 0; n < 8; ++n) {
#pragma unroll
          for (int e = 0; e < 2; ++e) {
            float& x = score[h][n][2 * r + e];
            // A tile that a query may not see at all has no largest score, and no share.
            x = !(x <= -3.0e38f) ? __expf(x - top) : 0.0f;
            total += x;
          }
        }
        sum[h][r] = fmaf(sum[h][r], shrink, total);
#pragma unroll
        for (int n = 0; n < WIDTH / 8; ++n) {
          result[h][n][2 * r] *= shrink;
          result[h][n][2 * r + 1] *= shrink;
        }
      }
    }
  }

  __device__ __forceinline__ void add_values(const float (&share)[HIGH][8][4], const float* values) {
    u32 lane = threadIdx.x % 32;
    const float* v = values + lane % 4 * 2 * VALUE_PITCH + lane / 4;
#pragma unroll
    for (int group = 0; group < GROUPS; ++group) {
      float part[HIGH][4][4] = {};
#pragma unroll
      for (int k = 0; k < 8; ++k) {
        u32 a_high[HIGH][4], a_low[HIGH][4];
#pragma unroll
        for (int h = 0; h < HIGH; ++h) {
          split(share[h][k][0], a_high[h][0], a_low[h][0]);
          split(share[h][k][2], a_high[h][1], a_low[h][1]);
          split(share[h][k][1], a_high[h][2], a_low[h][2]);
          split(share[h][k][3], a_high[h][3], a_low[h][3]);
        }
#pragma unroll
        for (int n = 0; n < 4; ++n) {
          const float* at = v + 8 * k * VALUE_PITCH + 32 * group + 8 * n;
          u32 b_high[2], b_low[2];
          split(at[0], b_high[0], b_low[0]);
          split(at[VALUE_PITCH], b_high[1], b_low[1]);
#pragma unroll
          for (int h = 0; h < HIGH; ++h) {
            multiply_add(part[h][n], a_low[h], b_high);
            multiply_add(part[h][n], a_high[h], b_low);
            multiply_add(part[h][n], a_high[h], b_high);
          }
        }
      }
#pragma unroll
      for (int h = 0; h < HIGH; ++h) {
#pragma unroll
        for (int n = 0; n < 4; ++n) {
#pragma unroll
          for (int e = 0; e < 4; ++e) result[h][4 * group + n][e] += part[h][n][e];
        }
      }
    }
  }

  __device__ __forceinline__ void run(const float* query, const float* key, const float* value, float* out,
                                      u32 first, u32 tokens, bool causal, float scale) {
    float* queries = dynamic_shared;
    float* tiles = queries + ROWS * KEY_PITCH;
    u32 own = first + threadIdx.x / 32 * 16 * HIGH;
#pragma unroll
    for (int h = 0; h < HIGH; ++h) {
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        largest[h][r] = -3.402823466e38f;
        sum[h][r] = 0.0f;
      }
#pragma unroll
      for (int n = 0; n < WIDTH / 8; ++n) {
#pragma unroll
        for (int e = 0; e < 4; ++e) result[h][n][e] = 0.0f;
      }
    }
    u32 stop = causal ? min(tokens, first + ROWS) : tokens;
    copy_rows<ROWS, WIDTH, KEY_PITCH>(query, first, tokens, queries);
    copy_tile(key, value, 0, tokens, tiles);
    end_of_copies();
    u32 turn = 0;
    for (u32 at = 0; at < stop; at += TILE) {
      wait_for_copies<0>();
      __syncthreads();
      const float* stage = tiles + (STAGES == 2 ? turn * STAGE : 0);
      if (STAGES == 2 && at + TILE < stop) {
        copy_tile(key, value, at + TILE, tokens, tiles + (1 - turn) * STAGE);
        end_of_copies();
      }
      float score[HIGH][8][4] = {};
      add_scores(queries, stage, score);
      bool whole = at + TILE <= tokens && (!causal || at + TILE <= own + 1);
      share(score, own, at, tokens, causal, scale, whole);
      add_values(score, stage + KEYS);
      if (STAGES == 1) {
        __syncthreads();
        if (at + TILE < stop) copy_tile(key, value, at + TILE, tokens, tiles);
        end_of_copies();
      }
      turn = 1 - turn;
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
          *(float2*)(out + (u64)token * WIDTH + 8 * n + lane % 4 * 2) =
              make_float2(result[h][n][2 * r] * inverse, result[h][n][2 * r + 1] * inverse);
        }
      }
    }
  }
};

template <class Of>
__device__ __forceinline__ void attend(const float* query, u64 query_length, const float* key, u64 key_length,
                                       const float* value, u64 value_length, float* out, u64 out_length,
                                       u32 tokens, u32 causal, float scale) {
  u32 shared_bytes;
  asm("mov.u32 %0, %%dynamic_smem_size;" : "=r"(shared_bytes));
  if (blockDim.x != THREADS || tokens == 0 || shared_bytes < Of::SHARED) return;
  u64 head = (u64)blockIdx.y * tokens * Of::WIDTH, end = head + (u64)tokens * Of::WIDTH;
  if (end > query_length || end > key_length || end > value_length || end > out_length) return;
  // With a mask the last queries take longest: they begin first.
  u64 first = (u64)(causal ? gridDim.x - 1 - blockIdx.x : blockIdx.x) * Of::ROWS;
  if (first >= tokens) return;
  Of of;
  of.run(query + head, key + head, value + head, out + head, (u32)first, tokens, causal != 0, scale);
}

// out = softmax(query . key * scale) . value for every head, all [head, token, width]; causal not 0 hides
// later keys from a query. Blocks: 128 queries in x, 64 where the width is 128, a head in y.
#define ENTRY(name, ...)                                                                                 \
  extern "C" __global__ void __launch_bounds__(THREADS, 2)                                               \
  name(const float* query, u64 query_length, const float* key, u64 key_length, const float* value,       \
       u64 value_length, float* out, u64 out_length, u32 tokens, u32 width, u32 causal, float scale) {   \
    if (width != Attention<__VA_ARGS__>::WIDTH) return;                                                  \
    attend<Attention<__VA_ARGS__>>(query, query_length, key, key_length, value, value_length, out,       \
                                   out_length, tokens, causal, scale);                                   \
  }

ENTRY(attention_64, 64, 2, 2)
ENTRY(attention_128, 128, 1, 1)
