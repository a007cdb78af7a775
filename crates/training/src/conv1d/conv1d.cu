// One-dimensional convolution over channels, as a product of the weights with the signal's shifted
// rows, which are never stored: each is read from the signal where the product needs it.
//
// A block of 128 threads makes 128 output channels of 64 positions; a thread has 8 x 8 of them. It
// walks over the taps and, for each, over the input channels, 16 at a time: within a tap a thread's
// sources are one position of 8 channels, with nothing to divide. The next step's numbers are on
// their way while this step's are multiplied.

typedef unsigned long long u64;
typedef unsigned int u32;

#define THREADS 128
#define CHANNELS 128
#define POSITIONS 64
#define DEPTH 16
// Rows are padded by one vector against bank conflicts of the stores.
#define CHANNEL_PITCH (CHANNELS + 4)
#define POSITION_PITCH (POSITIONS + 4)

struct Shape {
  u32 in_channels, out_channels, length, taps;
};

// The numbers of one step, in registers.
struct Step {
  float weight[CHANNELS * DEPTH / THREADS];
  float source[POSITIONS * DEPTH / THREADS];

  __device__ __forceinline__ void load(const float* weights, const float* x, const Shape& shape,
                                       u32 first_out, u32 first_in, u32 tap, long long at,
                                       bool inside) {
    // A thread takes one input channel of 16 output channels.
    u32 c = first_in + threadIdx.x % DEPTH;
    const float* row = weights + (u64)c * shape.taps + tap;
#pragma unroll
    for (u32 i = 0; i < CHANNELS * DEPTH / THREADS; ++i) {
      u32 o = first_out + threadIdx.x / DEPTH + i * (THREADS / DEPTH);
      bool there = c < shape.in_channels && o < shape.out_channels;
      weight[i] = there ? __ldg(row + (u64)o * shape.in_channels * shape.taps) : 0.0f;
    }
#pragma unroll
    for (u32 i = 0; i < POSITIONS * DEPTH / THREADS; ++i) {
      u32 d = first_in + threadIdx.x / POSITIONS + i * (THREADS / POSITIONS);
      source[i] = inside && d < shape.in_channels ? __ldg(x + (u64)d * shape.length + at) : 0.0f;
    }
  }

  __device__ __forceinline__ void store(float* weights, float* sources) const {
#pragma unroll
    for (u32 i = 0; i < CHANNELS * DEPTH / THREADS; ++i) {
      u32 o = threadIdx.x / DEPTH + i * (THREADS / DEPTH);
      weights[threadIdx.x % DEPTH * CHANNEL_PITCH + o] = weight[i];
    }
#pragma unroll
    for (u32 i = 0; i < POSITIONS * DEPTH / THREADS; ++i) {
      u32 d = threadIdx.x / POSITIONS + i * (THREADS / POSITIONS);
      sources[d * POSITION_PITCH + threadIdx.x % POSITIONS] = source[i];
    }
  }
};

__device__ __forceinline__ void spread(const float* from, float* to) {
  float4 v = *(const float4*)from;
  to[0] = v.x; to[1] = v.y; to[2] = v.z; to[3] = v.w;
}

// out[b, o, t] = bias[o] + sum over c, k of weight[o, c, k] x[b, c, t stride + k dilation - padding]
// with zeros beyond the ends. Blocks: 64 positions in x, 128 output channels in y, a signal in z.
extern "C" __global__ void __launch_bounds__(THREADS, 3)
conv1d(const float* x, u64 x_length, const float* weight, u64 weight_length, const float* bias,
       u64 bias_length, float* out, u64 out_length, u32 in_channels, u32 out_channels, u32 length,
       u32 out_positions, u32 taps, u32 stride, u32 padding, u32 dilation) {
  __shared__ float4 shared[DEPTH * (CHANNEL_PITCH + POSITION_PITCH) / 4];
  float* weights = (float*)shared;
  float* sources = weights + DEPTH * CHANNEL_PITCH;
  if (blockDim.x != THREADS || taps == 0 || in_channels == 0) return;
  u64 signal = (u64)blockIdx.z * in_channels * length;
  u64 result = (u64)blockIdx.z * out_channels * out_positions;
  if (signal + (u64)in_channels * length > x_length) return;
  if (result + (u64)out_channels * out_positions > out_length) return;
  if ((u64)out_channels * in_channels * taps > weight_length || bias_length < out_channels) return;
  Shape shape = {in_channels, out_channels, length, taps};
  u32 first_out = blockIdx.y * CHANNELS, first_position = blockIdx.x * POSITIONS;
  u32 row = threadIdx.x / 8, column = threadIdx.x % 8;
  u32 position = first_position + threadIdx.x % POSITIONS;
  u32 tap = 0, first_in = 0;
  long long at = (long long)position * stride - padding;
  Step step;
  float sum[8][8] = {};
  step.load(weight, x + signal, shape, first_out, 0, 0, at,
            position < out_positions && at >= 0 && at < length);
  while (tap < taps) {
    __syncthreads();
    step.store(weights, sources);
    __syncthreads();
    first_in += DEPTH;
    if (first_in >= in_channels) {
      first_in = 0;
      ++tap;
      at += dilation;
    }
    if (tap < taps) {
      step.load(weight, x + signal, shape, first_out, first_in, tap, at,
                position < out_positions && at >= 0 && at < length);
    }
#pragma unroll
    for (u32 k = 0; k < DEPTH; ++k) {
      float w[8], s[8];
      spread(weights + k * CHANNEL_PITCH + 8 * row, w);
      spread(weights + k * CHANNEL_PITCH + 8 * row + 4, w + 4);
      // Two runs of four positions: neighbouring threads then read neighbouring vectors.
      spread(sources + k * POSITION_PITCH + 4 * column, s);
      spread(sources + k * POSITION_PITCH + 32 + 4 * column, s + 4);
#pragma unroll
      for (int r = 0; r < 8; ++r) {
#pragma unroll
        for (int n = 0; n < 8; ++n) sum[r][n] = fmaf(w[r], s[n], sum[r][n]);
      }
    }
  }
#pragma unroll
  for (u32 r = 0; r < 8; ++r) {
    u32 o = first_out + 8 * row + r;
    if (o >= out_channels) continue;
    float offset = __ldg(bias + o);
#pragma unroll
    for (u32 n = 0; n < 8; ++n) {
      u32 t = first_position + n / 4 * 32 + 4 * column + n % 4;
      if (t < out_positions) out[result + (u64)o * out_positions + t] = sum[r][n] + offset;
    }
  }
}
