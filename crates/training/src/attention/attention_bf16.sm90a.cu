// Scaled dot-product attention over bf16 by the warpgroups of Hopper: as `attention_bf16.sm80.cu`, with products of
// whole tiles in shared memory.
//
// Two warpgroups take 64 queries of a head each and walk over its keys, 64 at a time. A tile lies in strips of 64
// columns, rows of 128 bytes whose chunks change places in the pattern that the products read. Scores lie in
// registers as the next product wants its left side: no share changes threads.

#include "warp_product.cuh"

#define THREADS 256
#define TILE 64
#define ROWS 128
#define LOWEST -3.402823466e38f

extern __shared__ __align__(1024) uint4 dynamic_shared[];

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

// A matrix in shared memory in the pattern of 128 bytes: `leading` bytes from strip to strip, 1024 bytes from eight
// rows to the next eight.
__device__ __forceinline__ u64 matrix(u32 address, u32 leading) {
  return (u64)(address >> 4 & 0x3fff) | (u64)(leading >> 4) << 16 | (u64)(1024 >> 4) << 32 | 1ull << 62;
}

__device__ __forceinline__ void fence_products() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ __forceinline__ void end_of_products() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
__device__ __forceinline__ void wait_for_products() { asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory"); }
// What threads have written to shared memory is seen by products.
__device__ __forceinline__ void show_to_products() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

// sum[64, 64] = a[64, 16] b[16, 64], or += with ADD; the rows of both lie along the depth.
__device__ __forceinline__ void multiply_rows(float (&sum)[32], u64 a, u64 b, u32 add) {
  asm volatile(
      "{\n.reg .pred p;\nsetp.ne.b32 p, %34, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {"
      "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, "
      "%24, %25, %26, %27, %28, %29, %30, %31"
      "}, %32, %33, p, 1, 1, 0, 0;\n}"
      : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3]), "+f"(sum[4]), "+f"(sum[5]), "+f"(sum[6]),
        "+f"(sum[7]), "+f"(sum[8]), "+f"(sum[9]), "+f"(sum[10]), "+f"(sum[11]), "+f"(sum[12]),
        "+f"(sum[13]), "+f"(sum[14]), "+f"(sum[15]), "+f"(sum[16]), "+f"(sum[17]), "+f"(sum[18]),
        "+f"(sum[19]), "+f"(sum[20]), "+f"(sum[21]), "+f"(sum[22]), "+f"(sum[23]), "+f"(sum[24]),
        "+f"(sum[25]), "+f"(sum[26]), "+f"(sum[27]), "+f"(sum[28]), "+f"(sum[29]), "+f"(sum[30]),
        "+f"(sum[31])
      : "l"(a), "l"(b), "r"(add));
}

// sum[64, N] += a[64, 16] b[16, N] for N of 64 or 128; a lies in registers, b's rows along the columns.
__device__ __forceinline__ void multiply_columns(float (&sum)[32], const u32 (&a)[4], u64 b) {
  asm volatile(
      "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {"
      "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, "
      "%24, %25, %26, %27, %28, %29, %30, %31"
      "}, {%32, %33, %34, %35}, %36, 1, 1, 1, 1;"
      : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3]), "+f"(sum[4]), "+f"(sum[5]), "+f"(sum[6]),
        "+f"(sum[7]), "+f"(sum[8]), "+f"(sum[9]), "+f"(sum[10]), "+f"(sum[11]), "+f"(sum[12]),
        "+f"(sum[13]), "+f"(sum[14]), "+f"(sum[15]), "+f"(sum[16]), "+f"(sum[17]), "+f"(sum[18]),
        "+f"(sum[19]), "+f"(sum[20]), "+f"(sum[21]), "+f"(sum[22]), "+f"(sum[23]), "+f"(sum[24]),
        "+f"(sum[25]), "+f"(sum[26]), "+f"(sum[27]), "+f"(sum[28]), "+f"(sum[29]), "+f"(sum[30]),
        "+f"(sum[31])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
}

__device__ __forceinline__ void multiply_columns(float (&sum)[64], const u32 (&a)[4], u64 b) {
  asm volatile(
      "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {"
      "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, "
      "%24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, "
      "%46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
      "}, {%64, %65, %66, %67}, %68, 1, 1, 1, 1;"
      : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3]), "+f"(sum[4]), "+f"(sum[5]), "+f"(sum[6]),
        "+f"(sum[7]), "+f"(sum[8]), "+f"(sum[9]), "+f"(sum[10]), "+f"(sum[11]), "+f"(sum[12]),
        "+f"(sum[13]), "+f"(sum[14]), "+f"(sum[15]), "+f"(sum[16]), "+f"(sum[17]), "+f"(sum[18]),
        "+f"(sum[19]), "+f"(sum[20]), "+f"(sum[21]), "+f"(sum[22]), "+f"(sum[23]), "+f"(sum[24]),
        "+f"(sum[25]), "+f"(sum[26]), "+f"(sum[27]), "+f"(sum[28]), "+f"(sum[29]), "+f"(sum[30]),
        "+f"(sum[31]), "+f"(sum[32]), "+f"(sum[33]), "+f"(sum[34]), "+f"(sum[35]), "+f"(sum[36]),
        "+f"(sum[37]), "+f"(sum[38]), "+f"(sum[39]), "+f"(sum[40]), "+f"(sum[41]), "+f"(sum[42]),
        "+f"(sum[43]), "+f"(sum[44]), "+f"(sum[45]), "+f"(sum[46]), "+f"(sum[47]), "+f"(sum[48]),
        "+f"(sum[49]), "+f"(sum[50]), "+f"(sum[51]), "+f"(sum[52]), "+f"(sum[53]), "+f"(sum[54]),
        "+f"(sum[55]), "+f"(sum[56]), "+f"(sum[57]), "+f"(sum[58]), "+f"(sum[59]), "+f"(sum[60]),
        "+f"(sum[61]), "+f"(sum[62]), "+f"(sum[63])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
}

// COUNT rows of [token, WIDTH] from `first` on, in strips; rows past the end are zeros. Nobody waits.
template <int COUNT, int WIDTH>
__device__ __forceinline__ void copy_rows(const u16* from, u32 first, u32 tokens, u32 to) {
#pragma unroll
  for (u32 i = 0; i < COUNT * WIDTH / 8 / THREADS; ++i) {
    u32 slot = threadIdx.x + i * THREADS, r = slot / (WIDTH / 8), c = slot % (WIDTH / 8);
    bool there = first + r < tokens;
    copy_16(to + c / 8 * (COUNT * 128) + r * 128 + (c % 8 ^ r % 8) * 16,
            from + (there ? (u64)(first + r) * WIDTH + 8 * c : 0), there);
  }
}

template <int WIDTH>
struct Attention {
  static constexpr int QUERIES = 2 * ROWS * WIDTH, KEYS = 2 * TILE * WIDTH, STAGE = 2 * KEYS;
  static constexpr int SHARED = QUERIES + 2 * STAGE;

  float result[WIDTH / 2], score[32], largest[2], sum[2];

  static __device__ __forceinline__ void copy_tile(const u16* key, const u16* value, u32 at, u32 tokens, u32 stage) {
    copy_rows<TILE, WIDTH>(key, at, tokens, stage);
    copy_rows<TILE, WIDTH>(value, at, tokens, stage + KEYS);
  }

  // Scores become shares of the softmax so far; what was summed up before shrinks where the maximum grew. The
  // first tile has a key that every query sees, so that there is a maximum from then on.
  __device__ __forceinline__ void share(u32 own, u32 at, u32 tokens, bool causal, float scale, bool whole) {
    u32 lane = threadIdx.x % 32;
    float shrink[2];
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      float top = largest[r];
#pragma unroll
      for (int n = 0; n < 8; ++n) {
#pragma unroll
        for (int e = 0; e < 2; ++e) {
          float& x = score[4 * n + 2 * r + e];
          u32 k = at + 8 * n + lane % 4 * 2 + e;
          if (!whole && (k >= tokens || (causal && k > own + 8 * r + lane / 4))) x = LOWEST;
          top = fmaxf(top, x);
        }
      }
      top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, 1));
      top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, 2));
      shrink[r] = power_of_two((largest[r] - top) * scale);
      largest[r] = top;
      float total = 0.0f, below = top * scale;
#pragma unroll
      for (int n = 0; n < 8; ++n) {
#pragma unroll
        for (int e = 0; e < 2; ++e) {
          float& x = score[4 * n + 2 * r + e];
          x = power_of_two(fmaf(x, scale, -below));
          total += x;
        }
      }
      sum[r] = fmaf(sum[r], shrink[r], total);
    }
    // After a few tiles maxima seldom grow.
    if (__any_sync(0xffffffffu, shrink[0] != 1.0f || shrink[1] != 1.0f)) {
#pragma unroll
      for (int n = 0; n < WIDTH / 2; ++n) result[n] *= shrink[n / 2 % 2];
    }
  }

  __device__ __forceinline__ void run(const u16* query, const u16* key, const u16* value, u16* out, u32 first,
                                      u32 tokens, bool causal, float scale) {
    u32 queries = shared_address(dynamic_shared), tiles = queries + QUERIES;
    u32 group = threadIdx.x / 128, lane = threadIdx.x % 32;
    u32 own = first + threadIdx.x / 32 * 16;
    largest[0] = largest[1] = LOWEST;
    sum[0] = sum[1] = 0.0f;
#pragma unroll
    for (int n = 0; n < WIDTH / 2; ++n) result[n] = 0.0f;
    u32 stop = causal ? min(tokens, first + ROWS) : tokens;
    copy_rows<ROWS, WIDTH>(query, first, tokens, queries);
    copy_tile(key, value, 0, tokens, tiles);
    end_of_copies();
    u32 turn = 0;
    for (u32 at = 0; at < stop; at += TILE) {
      wait_for_copies<0>();
      show_to_products();
      // Everybody's copies are there, and everybody has done with the stage that is filled next.
      __syncthreads();
      u32 stage = tiles + turn * STAGE;
      turn = 1 - turn;
      if (at + TILE < stop) copy_tile(key, value, at + TILE, tokens, tiles + turn * STAGE);
      end_of_copies();
      // No query of this warpgroup sees the tile.
      if (causal && at >= first + 64 * group + 64) continue;
      fence_products();
#pragma unroll
      for (int step = 0; step < WIDTH / 16; ++step) {
        u32 along = step % 4 * 32;
        multiply_rows(score, matrix(queries + step / 4 * (ROWS * 128) + group * (64 * 128) + along, 0),
                      matrix(stage + step / 4 * (TILE * 128) + along, 0), step > 0);
      }
      end_of_products();
      wait_for_products();
      bool whole = at + TILE <= tokens && (!causal || at + TILE <= own + 1);
      share(own, at, tokens, causal, scale, whole);
      u32 shares[TILE / 16][4];
#pragma unroll
      for (int k = 0; k < TILE / 16; ++k) {
#pragma unroll
        for (int r = 0; r < 4; ++r) {
          const float* from = score + 8 * k + r / 2 * 4 + r % 2 * 2;
          shares[k][r] = pair_of(from[0], from[1]);
        }
      }
      fence_products();
#pragma unroll
      for (int k = 0; k < TILE / 16; ++k) {
        multiply_columns(result, shares[k], matrix(stage + KEYS + k * (16 * 128), TILE * 128));
      }
      end_of_products();
      wait_for_products();
    }
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      float total = sum[r];
      total += __shfl_xor_sync(0xffffffffu, total, 1);
      total += __shfl_xor_sync(0xffffffffu, total, 2);
      float inverse = 1.0f / total;
      u32 token = own + 8 * r + lane / 4;
      if (token >= tokens) continue;
#pragma unroll
      for (int n = 0; n < WIDTH / 8; ++n) {
        *(u32*)(out + (u64)token * WIDTH + 8 * n + lane % 4 * 2) =
            pair_of(result[4 * n + 2 * r] * inverse, result[4 * n + 2 * r + 1] * inverse);
      }
    }
  }
};

template <int WIDTH>
__device__ __forceinline__ void attend(const u16* query, u64 query_length, const u16* key, u64 key_length,
                                       const u16* value, u64 value_length, u16* out, u64 out_length, u32 tokens,
                                       u32 width, u32 causal, float scale) {
  u32 shared_bytes;
  asm("mov.u32 %0, %%dynamic_smem_size;" : "=r"(shared_bytes));
  if (blockDim.x != THREADS || tokens == 0 || width != WIDTH || shared_bytes < Attention<WIDTH>::SHARED) return;
  u64 head = (u64)blockIdx.y * tokens * WIDTH, end = head + (u64)tokens * WIDTH;
  if (end > query_length || end > key_length || end > value_length || end > out_length) return;
  // With a mask the last queries take longest: they begin first.
  u64 first = (u64)(causal ? gridDim.x - 1 - blockIdx.x : blockIdx.x) * ROWS;
  if (first >= tokens) return;
  Attention<WIDTH> of;
  // Powers of two are what the hardware knows: log2(e) goes into the scale.
  of.run(query + head, key + head, value + head, out + head, (u32)first, tokens, causal != 0,
         scale * 1.44269504088896f);
}

// out = softmax(query . key * scale) . value for every head, all [head, token, width]; causal not 0 hides
// later keys from a query. Blocks: 128 queries in x, a head in y.
#define ENTRY(name, blocks, width_)                                                                       \
  extern "C" __global__ void __launch_bounds__(THREADS, blocks)                                           \
  name(const u16* query, u64 query_length, const u16* key, u64 key_length, const u16* value,              \
       u64 value_length, u16* out, u64 out_length, u32 tokens, u32 width, u32 causal, float scale) {      \
    attend<width_>(query, query_length, key, key_length, value, value_length, out, out_length, tokens,    \
                   width, causal, scale);                                                                 \
  }

ENTRY(attention_64, 2, 64)
ENTRY(attention_128, 2, 128)
