// The network of Silero VAD 6: what a chunk alone decides, which is all but the walk of its LSTM.
//
// A block takes some chunks through spectra, four convolutions and their share of the LSTM's gates. Values lie in
// shared memory as [channel, chunk, position], and a layer's results take the place of what it was given; weights
// come from the cache, each to one warp of a block.

#include "ragged.cuh"

// Of a block.
#define WARPS 8
#define CHUNKS 32
#define CHUNK 512
#define CONTEXT 64
#define BINS 129
#define UNITS 128
#define GATES 512
// Complex points of a spectrum's transform, and spectra of a chunk.
#define POINTS 128
#define SPECTRA 4

extern __shared__ float4 dynamic_shared[];

// Layers' weights lie one after the other, [channel, tap, output], and behind them all their biases.
#define WEIGHTS_0 0
#define WEIGHTS_1 (WEIGHTS_0 + BINS * 3 * 128)
#define WEIGHTS_2 (WEIGHTS_1 + 128 * 3 * 64)
#define WEIGHTS_3 (WEIGHTS_2 + 64 * 2 * 64)
#define WEIGHTS_4 (WEIGHTS_3 + 64 * UNITS)
#define BIASES (WEIGHTS_4 + UNITS * GATES)
#define ALL_WEIGHTS (BIASES + 128 + 64 + 64 + UNITS + GATES)

// A convolution of TAPS taps over PLACES positions with PAD zeros before them, for OUTS results STRIDE apart. A warp
// has LANE_ROWS * QUADS * 4 channels of the result, a lane QUADS quads of them for some chunks. Weights are fetched
// AHEAD channels at a time, enough sums before they are needed.
template <int PLACES, int OUTS, int STRIDE, int TAPS, int PAD, int LANE_ROWS, int QUADS, int AHEAD>
struct Layer {
  static constexpr int LANE_COLUMNS = 32 / LANE_ROWS;
  static constexpr int OWN = CHUNKS / LANE_COLUMNS;
  static constexpr int ROWS = 4 * QUADS;
  static constexpr int OUTPUTS = WARPS * LANE_ROWS * ROWS;
  // Loads of a channel, four floats each, and chunks in one.
  static constexpr int LOADS = OWN * PLACES / 4;
  static constexpr int LOAD_CHUNKS = 4 / PLACES;
  // Rows of shared memory begin in other banks.
  static constexpr int PITCH_IN = CHUNKS * PLACES + 4;
  static constexpr int PITCH_OUT = CHUNKS * OUTS + 4;

  float sum[ROWS][OWN * OUTS];

  static __device__ __forceinline__ u32 row(int r) {
    u32 warp = threadIdx.x / 32, lane_row = threadIdx.x % 32 / LANE_COLUMNS;
    return ((warp * QUADS + r / 4) * LANE_ROWS + lane_row) * 4 + r % 4;
  }

  static __device__ __forceinline__ u32 chunk(int own) {
    u32 column = threadIdx.x % LANE_COLUMNS;
    return (column + own / LOAD_CHUNKS * LANE_COLUMNS) * LOAD_CHUNKS + own % LOAD_CHUNKS;
  }

  __device__ __forceinline__ void add(const float* weights, const float* x, u32 channels) {
    // The compiler would write every channel out.
    asm volatile("" : "+r"(channels));
    float4 next[AHEAD * TAPS * QUADS];
    fetch(weights, next);
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
#pragma unroll
      for (int c = 0; c < OWN * OUTS; ++c) sum[r][c] = 0.0f;
    }
#pragma unroll 2
    for (u32 channel = 0; channel < channels; channel += AHEAD) {
      float4 now[AHEAD * TAPS * QUADS];
#pragma unroll
      for (int n = 0; n < AHEAD * TAPS * QUADS; ++n) now[n] = next[n];
      if (channel + AHEAD < channels) fetch(weights + (channel + AHEAD) * TAPS * OUTPUTS, next);
#pragma unroll
      for (int n = 0; n < AHEAD; ++n) add_one(now + n * TAPS * QUADS, x + (channel + n) * PITCH_IN);
    }
  }

  // One channel.
  __device__ __forceinline__ void add_one(const float4* weights, const float* x) {
    float4 in[LOADS];
#pragma unroll
    for (int n = 0; n < LOADS; ++n) in[n] = ((const float4*)x)[threadIdx.x % LANE_COLUMNS + n * LANE_COLUMNS];
#pragma unroll
    for (int tap = 0; tap < TAPS; ++tap) {
#pragma unroll
      for (int own = 0; own < OWN; ++own) {
#pragma unroll
        for (int out = 0; out < OUTS; ++out) {
          const int place = out * STRIDE + tap - PAD;
          if (place < 0 || place >= PLACES) continue;
          float value = ((const float*)in)[own * PLACES + place];
#pragma unroll
          for (int r = 0; r < ROWS; ++r) {
            float weight = ((const float*)&weights[tap * QUADS + r / 4])[r % 4];
            sum[r][own * OUTS + out] = fmaf(weight, value, sum[r][own * OUTS + out]);
          }
        }
      }
    }
  }

  static __device__ __forceinline__ void fetch(const float* weights, float4* to) {
#pragma unroll
    for (int tap = 0; tap < AHEAD * TAPS; ++tap) {
#pragma unroll
      for (int quad = 0; quad < QUADS; ++quad) {
        to[tap * QUADS + quad] = __ldg((const float4*)(weights + tap * OUTPUTS + row(4 * quad)));
      }
    }
  }

  // Puts what is positive of the results where the inputs were.
  static __device__ __forceinline__ void apply(const float* weights, const float* biases, float* x, u32 channels) {
    Layer layer;
    layer.add(weights, x, channels);
    __syncthreads();
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
      u32 output = row(r);
      float bias = __ldg(biases + output);
#pragma unroll
      for (int c = 0; c < OWN * OUTS; ++c) {
        x[output * PITCH_OUT + chunk(c / OUTS) * OUTS + c % OUTS] = fmaxf(layer.sum[r][c] + bias, 0.0f);
      }
    }
    __syncthreads();
  }
};

__device__ __forceinline__ float2 turned(float2 value, float2 w) {
  return make_float2(fmaf(-value.y, w.y, value.x * w.x), fmaf(value.y, w.x, value.x * w.y));
}
__device__ __forceinline__ float2 plus(float2 a, float2 b) { return make_float2(a.x + b.x, a.y + b.y); }
__device__ __forceinline__ float2 minus(float2 a, float2 b) { return make_float2(a.x - b.x, a.y - b.y); }

// Transforms a warp's 128 numbers, of which a lane has those at lane + 32 n; `root` holds exp(-2 pi i k / 256). Returns
// the half of the room that holds the result.
__device__ __forceinline__ float2* transform(float2 value[4], float2* room, u32 lane, const float2* root) {
  float2* to = room;
  float2 a = value[0], b = value[1], c = value[2], d = value[3];
#pragma unroll
  for (u32 span = 1; span < POINTS / 2; span *= 4) {
    u32 k = lane & (span - 1), step = 2 * POINTS / (span * 4);
    if (span > 1) {
      const float2* from = to == room ? room + POINTS : room;
      a = from[lane];
      b = turned(from[lane + 32], __ldg(root + k * step));
      c = turned(from[lane + 64], __ldg(root + 2 * k * step));
      d = turned(from[lane + 96], __ldg(root + 3 * k * step));
    }
    float2 ac = plus(a, c), a_c = minus(a, c), bd = plus(b, d), b_d = minus(b, d);
    float2* out = to + (lane - k) * 4 + k;
    out[0] = plus(ac, bd);
    out[span] = make_float2(a_c.x + b_d.y, a_c.y - b_d.x);
    out[2 * span] = minus(ac, bd);
    out[3 * span] = make_float2(a_c.x - b_d.y, a_c.y + b_d.x);
    __syncwarp();
    to = to == room ? room + POINTS : room;
  }
  const float2* from = to == room ? room + POINTS : room;
#pragma unroll
  for (u32 half = 0; half < 2; ++half) {
    u32 j = lane + 32 * half;
    a = from[j];
    b = turned(from[j + 64], __ldg(root + 2 * j));
    to[j] = plus(a, b);
    to[j + 64] = minus(a, b);
  }
  __syncwarp();
  return to;
}

__device__ __forceinline__ float magnitude(float2 value) {
  float root;
  asm("sqrt.approx.f32 %0, %1;" : "=f"(root) : "f"(fmaf(value.y, value.y, value.x * value.x)));
  return root;
}

// The magnitudes of bin k of a real frame and of bin POINTS - k, of whose samples two to a number `bins` is the transform.
__device__ __forceinline__ float2 magnitudes(const float2* bins, u32 k, const float2* root) {
  float2 a = bins[k], b = bins[(POINTS - k) % POINTS];
  float2 even = make_float2(0.5f * (a.x + b.x), 0.5f * (a.y - b.y));
  float2 odd = turned(make_float2(0.5f * (a.y + b.y), 0.5f * (b.x - a.x)), __ldg(root + k));
  float2 low = plus(even, odd), high = minus(even, odd);
  return make_float2(magnitude(low), magnitude(high));
}

// The spectra of a chunk, by a warp: `to` is [bin, position].
__device__ __forceinline__ void hear(const Place& place, const float* window, const float2* root, float2* room,
                                     float* to, u32 pitch) {
  u32 lane = threadIdx.x % 32;
  // Two samples to a number, of which a spectrum has 128 from 64 after those of the one before on.
  float2 heard[2 * SPECTRA + 2], weight[4];
#pragma unroll
  for (int n = 0; n < 2 * SPECTRA + 2; ++n) {
    int at = 2 * (lane + 32 * n), then = at + 1;
    // What follows the chunk mirrors its end.
    if (at >= CONTEXT + CHUNK) {
      at = 2 * (CONTEXT + CHUNK - 1) - at;
      then = at - 1;
    }
    heard[n] = make_float2(sample_at(place, place.start + at, 0), sample_at(place, place.start + then, 0));
  }
#pragma unroll
  for (int n = 0; n < 4; ++n) weight[n] = __ldg((const float2*)window + lane + 32 * n);
#pragma unroll
  for (int spectrum = 0; spectrum < SPECTRA; ++spectrum) {
    float2 value[4];
#pragma unroll
    for (int n = 0; n < 4; ++n) {
      float2 pair = heard[n + 2 * spectrum];
      value[n] = make_float2(pair.x * weight[n].x, pair.y * weight[n].y);
    }
    float2* bins = transform(value, room, lane, root);
#pragma unroll
    for (int n = 0; n < 3; ++n) {
      u32 k = lane + 32 * n;
      if (k > POINTS / 2) break;
      float2 both = magnitudes(bins, k, root);
      to[k * pitch + spectrum] = both.x;
      to[(POINTS - k) * pitch + spectrum] = both.y;
    }
    __syncwarp();
  }
}

// The gates' shares of all chunks, [chunk, gate].
extern "C" __global__ void __launch_bounds__(32 * WARPS, 2)
silero_gates(const float* samples, u64 samples_length, const u64* file_samples, u64 file_samples_length,
             const u64* file_chunks, u64 file_chunks_length, const float* window, u64 window_length, const float* roots,
             u64 roots_length, const float* weights, u64 weights_length, float* gates, u64 gates_length) {
  typedef Layer<4, 4, 1, 3, 1, 4, 1, 1> First;
  typedef Layer<4, 2, 2, 3, 1, 2, 1, 2> Second;
  typedef Layer<2, 1, 1, 2, 0, 2, 1, 4> Third;
  typedef Layer<1, 1, 1, 1, 0, 4, 1, 8> Fourth;
  typedef Layer<1, 1, 1, 1, 0, 8, 2, 2> Fifth;
  if (blockDim.x != 32 * WARPS || window_length < 2 * POINTS || roots_length < 4 * POINTS) return;
  if (weights_length < ALL_WEIGHTS) return;
  u32 warp = threadIdx.x / 32;
  float* x = (float*)dynamic_shared;
  float2* room = (float2*)(x + BINS * First::PITCH_IN) + warp * 2 * POINTS;
  u64 first = (u64)blockIdx.x * CHUNKS;
#pragma unroll 1
  for (u32 own = warp; own < CHUNKS; own += WARPS) {
    Place place;
    // A chunk after the last is silent.
    bool is = find_frame(first + own, samples, samples_length, file_samples, file_samples_length, file_chunks,
                         file_chunks_length, CHUNK, CONTEXT, &place);
    if (!is) place.length = place.start = 0;
    hear(place, window, (const float2*)roots, room, x + own * SPECTRA, First::PITCH_IN);
  }
  __syncthreads();
  const float* biases = weights + BIASES;
  First::apply(weights + WEIGHTS_0, biases, x, BINS);
  Second::apply(weights + WEIGHTS_1, biases + 128, x, 128);
  Third::apply(weights + WEIGHTS_2, biases + 192, x, 64);
  Fourth::apply(weights + WEIGHTS_3, biases + 256, x, 64);
  Fifth layer;
  layer.add(weights + WEIGHTS_4, x, UNITS);
#pragma unroll
  for (int r = 0; r < Fifth::ROWS; r += 4) {
    u32 row = layer.row(r);
    float4 bias = __ldg((const float4*)(biases + 384 + row));
#pragma unroll
    for (int c = 0; c < Fifth::OWN; ++c) {
      u64 at = (first + layer.chunk(c)) * GATES + row;
      if (at + 4 > gates_length) continue;
      *(float4*)(gates + at) = make_float4(layer.sum[r][c] + bias.x, layer.sum[r + 1][c] + bias.y,
                                           layer.sum[r + 2][c] + bias.z, layer.sum[r + 3][c] + bias.w);
    }
  }
}
