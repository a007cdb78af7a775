// The walk of Silero's LSTM from chunk to chunk, a block to one file or two.
//
// What a unit remembers of the past decays over minutes, so a file cannot be cut into pieces. All recurrent weights
// stay in a multiprocessor: most in registers, the rest in shared memory. Four threads have two units, each a quarter
// of the columns of their eight gates; then each has a unit's four gates for one of two files, or two of them for one.

typedef unsigned long long u64;
typedef unsigned int u32;

#define UNITS 128
#define GATES 512
#define THREADS 256
// Quads of columns of a thread, and gates that it sums them up for.
#define QUADS 8
#define SUMS 8
#define ALL 0xffffffffu

extern __shared__ float4 dynamic_shared[];

// 1 / (1 + exp(x)) to the last bit: units that remember long multiply by such a number thousands of times.
__device__ __forceinline__ float share_of_one(float x) {
  float power, share;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(x * 1.44269504f));
  // What is beyond these powers cannot be told from 0.
  float below = 1.0f + fminf(power, 1e30f);
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(share) : "f"(below));
  return fmaf(share, fmaf(-below, share, 1.0f), share);
}

__device__ __forceinline__ float sigmoid(float x) { return share_of_one(-x); }

__device__ __forceinline__ float hyperbolic_tangent(float x) {
  return fmaf(-2.0f, share_of_one(2.0f * x), 1.0f);
}

// A unit's new output from its four gates and its cell.
__device__ __forceinline__ float remembered(const float (&gate)[4], u32, float* cell) {
  *cell = fmaf(sigmoid(gate[1]), *cell, sigmoid(gate[0]) * hyperbolic_tangent(gate[2]));
  return sigmoid(gate[3]) * hyperbolic_tangent(*cell);
}

// The same by two threads: the first has the gates of what comes in and of what stays, the `later` one those of the new
// and of what goes out.
__device__ __forceinline__ float remembered(const float (&gate)[2], u32 later, float* cell) {
  // tanh(x) = 2 sigmoid(2 x) - 1.
  float scale = later ? 2.0f : 1.0f;
  float first = fmaf(scale, sigmoid(scale * gate[0]), 1.0f - scale), second = sigmoid(gate[1]);
  float other = __shfl_xor_sync(ALL, second, 1);
  float stays = later ? other : second, goes_out = later ? second : other;
  *cell = fmaf(stays, *cell, first * __shfl_xor_sync(ALL, first, 1));
  return goes_out * hyperbolic_tangent(*cell);
}

// A number of this thread and of the one `distance` away, added up: the first of both for one of them, the second for
// the `later` one.
__device__ __forceinline__ float exchanged(float first, float second, u32 later, u32 distance) {
  float other = __shfl_xor_sync(ALL, later ? first : second, distance);
  return (later ? second : first) + other;
}

__device__ __forceinline__ float dot(float4 a, float4 b, float sum) {
  return fmaf(a.w, b.w, fmaf(a.z, b.z, fmaf(a.y, b.y, fmaf(a.x, b.x, sum))));
}

// FILES files to a block. `files` holds the first chunk of each and the one after its last, in pairs; `recurrent` is
// [column, gate], `hidden` [chunk, unit]. Of a thread's eight gates the weights of the first KEPT are in registers, so
// that loads of the others come between sums.
template <int FILES, int KEPT>
__device__ __forceinline__ void walk(const float* gates, u64 gates_length, const u64* files, u64 files_length,
                                     const float* recurrent, u64 recurrent_length, float* hidden, u64 hidden_length) {
  // Gates that a thread remembers with: two of the one file's, or all of one of two.
  constexpr int OWN_GATES = FILES == 1 ? 2 : 4;
  if (blockDim.x != THREADS || recurrent_length < UNITS * GATES) return;
  u32 quarter = threadIdx.x % 4, half = threadIdx.x % 2, later = quarter / 2;
  u32 unit = threadIdx.x / 4 * 2 + later, first_gate = FILES == 1 ? 2 * half : 0;
  float4* rest = dynamic_shared;
  float4* state = dynamic_shared + QUADS * (SUMS - KEPT) * THREADS;
  float4 kept[QUADS][KEPT];
#pragma unroll
  for (int quad = 0; quad < QUADS; ++quad) {
#pragma unroll
    for (int n = 0; n < SUMS; ++n) {
      u32 row = n % 4 * UNITS + threadIdx.x / 4 * 2 + n / 4;
      const float* from = recurrent + (4 * quad + quarter) * 4 * GATES + row;
      float4 weights = make_float4(__ldg(from), __ldg(from + GATES), __ldg(from + 2 * GATES), __ldg(from + 3 * GATES));
      if (n < KEPT) kept[quad][n < KEPT ? n : 0] = weights;
      else rest[(quad * (SUMS - KEPT) + n - KEPT) * THREADS + threadIdx.x] = weights;
    }
  }
  u32 begin = 0, count = 0, most = 0;
#pragma unroll
  for (int file = 0; file < FILES; ++file) {
    u64 at = ((u64)blockIdx.x * FILES + file) * 2, first = 0, end = 0;
    if (at + 2 <= files_length) {
      first = files[at];
      end = files[at + 1];
      if (first > end || end > ALL || end * GATES > gates_length || end * UNITS > hidden_length) first = end = 0;
    }
    most = max(most, (u32)(end - first));
    if (FILES == 1 || file == half) {
      begin = (u32)first;
      count = (u32)(end - first);
    }
  }
  float cell = 0.0f, share[OWN_GATES];
#pragma unroll
  for (int n = 0; n < OWN_GATES; ++n) {
    u64 at = (u64)begin * GATES + (first_gate + n) * UNITS + unit;
    share[n] = count > 0 ? __ldg(gates + at) : 0.0f;
  }
  for (u32 n = threadIdx.x; n < FILES * UNITS; n += THREADS) ((float*)state)[n] = 0.0f;
  __syncthreads();
  for (u32 step = 0; step < most; ++step) {
    const float4* past = state + (step % 2) * FILES * UNITS / 4;
    float* next = (float*)(state + (step + 1) % 2 * FILES * UNITS / 4);
    float sum[FILES][SUMS];
#pragma unroll
    for (int file = 0; file < FILES; ++file) {
#pragma unroll
      for (int n = 0; n < SUMS; ++n) sum[file][n] = 0.0f;
    }
#pragma unroll
    for (int quad = 0; quad < QUADS; ++quad) {
      float4 x[FILES];
#pragma unroll
      for (int file = 0; file < FILES; ++file) x[file] = past[file * UNITS / 4 + 4 * quad + quarter];
#pragma unroll
      for (int n = 0; n < SUMS; ++n) {
        float4 weights = n < KEPT ? kept[quad][n < KEPT ? n : 0]
                                  : rest[(quad * (SUMS - KEPT) + n - KEPT) * THREADS + threadIdx.x];
#pragma unroll
        for (int file = 0; file < FILES; ++file) sum[file][n] = dot(weights, x[file], sum[file][n]);
      }
    }
    // The sums of a thread's own unit, over half of the columns.
#pragma unroll
    for (int file = 0; file < FILES; ++file) {
#pragma unroll
      for (int n = 0; n < 4; ++n) sum[file][n] = exchanged(sum[file][n], sum[file][n + 4], later, 2);
    }
    float gate[OWN_GATES];
#pragma unroll
    for (int n = 0; n < OWN_GATES; ++n) {
      float other = FILES == 1 ? sum[0][n + 2] : sum[FILES - 1][n];
      gate[n] = exchanged(sum[0][n], other, half, 1) + share[n];
    }
    u64 now = (u64)begin + step;
    if (step + 1 < count) {
#pragma unroll
      for (int n = 0; n < OWN_GATES; ++n) share[n] = __ldg(gates + (now + 1) * GATES + (first_gate + n) * UNITS + unit);
    }
    float out = remembered(gate, half, &cell);
    if (FILES > 1 || half == 0) {
      next[(FILES == 1 ? 0 : half) * UNITS + unit] = out;
      if (step < count) hidden[now * UNITS + unit] = out;
    }
    __syncthreads();
  }
}

#define WALK(name, FILES, KEPT)                                                                                         \
  extern "C" __global__ void __launch_bounds__(THREADS, 1) name(                                                        \
      const float* gates, u64 gates_length, const u64* files, u64 files_length, const float* recurrent,                 \
      u64 recurrent_length, float* hidden, u64 hidden_length) {                                                         \
    walk<FILES, KEPT>(gates, gates_length, files, files_length, recurrent, recurrent_length, hidden, hidden_length);    \
  }

WALK(silero_walk, 1, 6)
WALK(silero_walk_two, 2, 5)

// The probability of speech in each chunk from what the units say, a warp to a chunk; the head's bias is the last of
// its weights.
extern "C" __global__ void __launch_bounds__(256)
silero_head(const float* hidden, u64 hidden_length, const float* head, u64 head_length, float* out, u64 out_length) {
  u64 chunk = ((u64)blockIdx.x * blockDim.x + threadIdx.x) / 32;
  u32 lane = threadIdx.x % 32;
  if (chunk >= out_length || (chunk + 1) * UNITS > hidden_length || head_length < UNITS + 1) return;
  float4 units = ((const float4*)(hidden + chunk * UNITS))[lane];
  float4 weights = ((const float4*)head)[lane];
  float4 positive = make_float4(fmaxf(units.x, 0.0f), fmaxf(units.y, 0.0f), fmaxf(units.z, 0.0f), fmaxf(units.w, 0.0f));
  float sum = dot(positive, weights, 0.0f);
#pragma unroll
  for (u32 distance = 16; distance > 0; distance /= 2) sum += __shfl_xor_sync(ALL, sum, distance);
  if (lane == 0) out[chunk] = sigmoid(sum + head[UNITS]);
}
