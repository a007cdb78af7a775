// Scaled dot-product attention in single precision, without the matrix of scores in memory; tokens and results are
// f32 or bf16.
//
// A block of 128 threads takes 64 queries of a head and walks over its keys, 64 at a time, with the
// running maximum and sum of the softmax. Threads form 8 rows of 16: a thread has 8 queries and 4
// keys of the scores, and the same 8 queries and width/16 columns of the result, so that one
// vector load feeds at least eight products.

typedef unsigned long long u64;
typedef unsigned int u32;
typedef unsigned short u16;

#define THREADS 128
#define TILE 64
// Rows are padded by one vector: columns then fall into different banks.
#define PITCH (TILE + 4)

extern __shared__ float4 dynamic_shared[];

__device__ __forceinline__ float4 quad(const float* from) { return *(const float4*)from; }

__device__ __forceinline__ float4 quad(const u16* from) {
  uint2 pairs = *(const uint2*)from;
  return make_float4(__uint_as_float(pairs.x << 16), __uint_as_float(pairs.x & 0xffff0000),
                     __uint_as_float(pairs.y << 16), __uint_as_float(pairs.y & 0xffff0000));
}

__device__ __forceinline__ void store(float* to, float4 numbers) { *(float4*)to = numbers; }

// The nearest, the even one of two; a NaN stays one.
__device__ __forceinline__ u32 rounded(float number) {
  u32 bits = __float_as_uint(number);
  return number != number ? bits >> 16 | 0x40 : (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}

__device__ __forceinline__ void store(u16* to, float4 numbers) {
  *(uint2*)to = make_uint2(rounded(numbers.x) | rounded(numbers.y) << 16,
                           rounded(numbers.z) | rounded(numbers.w) << 16);
}

// A 64-row tile of [token, WIDTH] into columns: to[c * PITCH + r]; rows past the end are zeros.
template <int WIDTH, class T>
__device__ __forceinline__ void load_columns(const T* from, u32 first, u32 tokens, float* to) {
  for (u32 i = threadIdx.x; i < TILE * WIDTH / 4; i += THREADS) {
    // Neighbouring threads take neighbouring rows, so that their stores lie side by side.
    u32 r = i % TILE, c = i / TILE * 4;
    float4 v = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    if (first + r < tokens) v = quad(from + (u64)(first + r) * WIDTH + c);
    to[c * PITCH + r] = v.x;
    to[(c + 1) * PITCH + r] = v.y;
    to[(c + 2) * PITCH + r] = v.z;
    to[(c + 3) * PITCH + r] = v.w;
  }
}

template <int WIDTH, class T>
__device__ __forceinline__ void attend(const T* query, const T* key, const T* value, T* out, u32 tokens,
                                       u32 causal, float scale) {
  constexpr int COLUMNS = WIDTH / 16;
  float* queries = (float*)dynamic_shared;
  float* keys = queries + WIDTH * PITCH;
  float* values = keys + WIDTH * PITCH;
  // The keys have done their part when the shares are known: one memory, and another block fits.
  float* shares = keys;
  u32 row = threadIdx.x / 16, column = threadIdx.x % 16;
  u32 first = blockIdx.x * TILE;
  load_columns<WIDTH>(query, first, tokens, queries);
  float result[8][COLUMNS], largest[8], sum[8];
#pragma unroll
  for (int r = 0; r < 8; ++r) {
    largest[r] = -3.402823466e38f;
    sum[r] = 0.0f;
#pragma unroll
    for (int c = 0; c < COLUMNS; ++c) result[r][c] = 0.0f;
  }
  u32 stop = causal ? min(tokens, first + TILE) : tokens;
  for (u32 at = 0; at < stop; at += TILE) {
    __syncthreads();
    load_columns<WIDTH>(key, at, tokens, keys);
    for (u32 i = threadIdx.x; i < TILE * WIDTH / 4; i += THREADS) {
      u32 r = i / (WIDTH / 4), c = i % (WIDTH / 4) * 4;
      float4 v = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
      if (at + r < tokens) v = quad(value + (u64)(at + r) * WIDTH + c);
      *(float4*)(values + r * WIDTH + c) = v;
    }
    __syncthreads();
    float score[8][4] = {};
#pragma unroll 8
    for (int k = 0; k < WIDTH; ++k) {
      float4 a = quad(queries + k * PITCH + 8 * row), b = quad(queries + k * PITCH + 8 * row + 4);
      float4 c = quad(keys + k * PITCH + 4 * column);
      float q[8] = {a.x, a.y, a.z, a.w, b.x, b.y, b.z, b.w}, e[4] = {c.x, c.y, c.z, c.w};
#pragma unroll
      for (int r = 0; r < 8; ++r) {
#pragma unroll
        for (int n = 0; n < 4; ++n) score[r][n] = fmaf(q[r], e[n], score[r][n]);
      }
    }
    __syncthreads();
    bool whole = at + TILE <= tokens && (!causal || at + TILE <= first + 1);
#pragma unroll
    for (int r = 0; r < 8; ++r) {
      float top = largest[r];
#pragma unroll
      for (int n = 0; n < 4; ++n) {
        u32 k = at + 4 * column + n;
        score[r][n] *= scale;
        if (!whole && (k >= tokens || (causal && k > first + 8 * row + r))) {
          score[r][n] = -3.402823466e38f;
        }
        top = fmaxf(top, score[r][n]);
      }
#pragma unroll
      for (int reach = 8; reach > 0; reach /= 2) {
        top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, reach, 16));
      }
      float shrink = __expf(largest[r] - top);
      largest[r] = top;
      float total = 0.0f;
#pragma unroll
      for (int n = 0; n < 4; ++n) {
        // A tile that a query may not see at all has no largest score, and no share.
        float share = !(score[r][n] <= -3.0e38f) ? __expf(score[r][n] - top) : 0.0f;
        total += share;
        shares[(4 * column + n) * PITCH + 8 * row + r] = share;
      }
      sum[r] = fmaf(sum[r], shrink, total);
#pragma unroll
      for (int c = 0; c < COLUMNS; ++c) result[r][c] *= shrink;
    }
    __syncthreads();
#pragma unroll 4
    for (int k = 0; k < TILE; ++k) {
      float4 a = quad(shares + k * PITCH + 8 * row), b = quad(shares + k * PITCH + 8 * row + 4);
      float p[8] = {a.x, a.y, a.z, a.w, b.x, b.y, b.z, b.w};
#pragma unroll
      for (int g = 0; g < COLUMNS / 4; ++g) {
        float4 c = quad(values + k * WIDTH + 64 * g + 4 * column);
        float v[4] = {c.x, c.y, c.z, c.w};
#pragma unroll
        for (int r = 0; r < 8; ++r) {
#pragma unroll
          for (int n = 0; n < 4; ++n) result[r][4 * g + n] = fmaf(p[r], v[n], result[r][4 * g + n]);
        }
      }
    }
  }
#pragma unroll
  for (int r = 0; r < 8; ++r) {
    float total = sum[r];
#pragma unroll
    for (int reach = 8; reach > 0; reach /= 2) {
      total += __shfl_xor_sync(0xffffffffu, total, reach, 16);
    }
    float share = 1.0f / total;
    u32 token = first + 8 * row + r;
    if (token >= tokens) continue;
#pragma unroll
    for (int g = 0; g < COLUMNS / 4; ++g) {
      store(out + (u64)token * WIDTH + 64 * g + 4 * column,
            make_float4(result[r][4 * g] * share, result[r][4 * g + 1] * share,
                        result[r][4 * g + 2] * share, result[r][4 * g + 3] * share));
    }
  }
}

// A head of the block, if all of it lies inside the buffers.
template <class T>
__device__ __forceinline__ void attend_to_head(const T* query, u64 query_length, const T* key, u64 key_length,
                                               const T* value, u64 value_length, T* out, u64 out_length,
                                               u32 tokens, u32 width, u32 causal, float scale) {
  u32 shared_bytes;
  asm("mov.u32 %0, %%dynamic_smem_size;" : "=r"(shared_bytes));
  if (blockDim.x != THREADS || tokens == 0 || (width != 64 && width != 128)) return;
  if (shared_bytes < 4 * (2 * width * PITCH + TILE * width)) return;
  u64 head = (u64)blockIdx.y * tokens * width, end = head + (u64)tokens * width;
  if (end > query_length || end > key_length || end > value_length || end > out_length) return;
  if ((u64)blockIdx.x * TILE >= tokens) return;
  if (width == 64) {
    attend<64>(query + head, key + head, value + head, out + head, tokens, causal, scale);
  } else {
    attend<128>(query + head, key + head, value + head, out + head, tokens, causal, scale);
  }
}

// out = softmax(query . key * scale) . value for every head, all [head, token, width], with width
// 64 or 128; causal not 0 hides later keys from a query. Blocks: 64 queries in x, a head in y.
extern "C" __global__ void __launch_bounds__(THREADS)
attention(const float* query, u64 query_length, const float* key, u64 key_length,
          const float* value, u64 value_length, float* out, u64 out_length, u32 tokens, u32 width,
          u32 causal, float scale) {
  attend_to_head(query, query_length, key, key_length, value, value_length, out, out_length, tokens, width,
                 causal, scale);
}

// The same over bf16.
extern "C" __global__ void __launch_bounds__(THREADS)
attention_bf16(const u16* query, u64 query_length, const u16* key, u64 key_length, const u16* value,
               u64 value_length, u16* out, u64 out_length, u32 tokens, u32 width, u32 causal, float scale) {
  attend_to_head(query, query_length, key, key_length, value, value_length, out, out_length, tokens, width,
                 causal, scale);
}
