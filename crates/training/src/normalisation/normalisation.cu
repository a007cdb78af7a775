// Layer norm, layer norm with GELU, softmax: each row is read once and written once.
//
// Rows of a multiple of four numbers up to 8192 stay in registers; others are read again for every
// reduction, by a block.

#include "row.cuh"

struct Gain {
  const float* scale;
  const float* shift;
  float epsilon;
  bool gelu;
  __device__ __forceinline__ float finish(float x, float scale, float shift) const {
    float y = fmaf(x, scale, shift);
    return gelu ? gelu_exact(y) : y;
  }
};

template <int THREADS>
__device__ __forceinline__ void layer_norm_rows(const float* x, float* out, u64 rows, u32 width,
                                                const Gain& gain) {
  u32 t = threadIdx.x % THREADS, quads = width / 4;
  for (u64 row = (u64)blockIdx.x * (BLOCK / THREADS) + threadIdx.x / THREADS; row < rows;
       row += (u64)gridDim.x * (BLOCK / THREADS)) {
    const float4* from = (const float4*)(x + row * width);
    float4 held[ITEMS];
    float sum = 0.0f;
#pragma unroll
    for (int i = 0; i < ITEMS; ++i) {
      u32 at = t + i * THREADS;
      held[i] = at < quads ? from[at] : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
      sum += (held[i].x + held[i].y) + (held[i].z + held[i].w);
    }
    float mean = reduce<THREADS, Sum>(sum) / (float)width;
    // The squares of distances, not the mean of squares: nothing cancels.
    float squares = 0.0f;
#pragma unroll
    for (int i = 0; i < ITEMS; ++i) {
      if (t + i * THREADS < quads) {
        held[i].x -= mean; held[i].y -= mean; held[i].z -= mean; held[i].w -= mean;
        squares = fmaf(held[i].x, held[i].x, squares);
        squares = fmaf(held[i].y, held[i].y, squares);
        squares = fmaf(held[i].z, held[i].z, squares);
        squares = fmaf(held[i].w, held[i].w, squares);
      }
    }
    float variance = reduce<THREADS, Sum>(squares) / (float)width;
    float inverse = rsqrtf(variance + gain.epsilon);
    float4* to = (float4*)(out + row * width);
#pragma unroll
    for (int i = 0; i < ITEMS; ++i) {
      u32 at = t + i * THREADS;
      if (at < quads) {
        float4 s = __ldg((const float4*)gain.scale + at), b = __ldg((const float4*)gain.shift + at);
        to[at] = make_float4(gain.finish(held[i].x * inverse, s.x, b.x),
                             gain.finish(held[i].y * inverse, s.y, b.y),
                             gain.finish(held[i].z * inverse, s.z, b.z),
                             gain.finish(held[i].w * inverse, s.w, b.w));
      }
    }
  }
}

// out = (x - mean) / sqrt(variance + epsilon) * scale + shift over rows of `width`; gelu not 0
// applies the exact GELU to it.
extern "C" __global__ void __launch_bounds__(BLOCK)
layer_norm(const float* x, u64 x_length, const float* scale, u64 scale_length, const float* shift,
           u64 shift_length, float* out, u64 out_length, u32 width, float epsilon, u32 gelu) {
  if (blockDim.x != BLOCK || width == 0 || scale_length < width || shift_length < width) return;
  u64 rows = (x_length < out_length ? x_length : out_length) / width;
  Gain gain = {scale, shift, epsilon, gelu != 0};
  if (width % 4 == 0 && width <= 4 * ITEMS * 32) {
    layer_norm_rows<32>(x, out, rows, width, gain);
    return;
  }
  if (width % 4 == 0 && width <= 4 * ITEMS * BLOCK) {
    layer_norm_rows<BLOCK>(x, out, rows, width, gain);
    return;
  }
  for (u64 row = blockIdx.x; row < rows; row += gridDim.x) {
    const float* from = x + row * width;
    float sum = 0.0f, squares = 0.0f;
    for (u32 n = threadIdx.x; n < width; n += BLOCK) sum += from[n];
    float mean = reduce<BLOCK, Sum>(sum) / (float)width;
    for (u32 n = threadIdx.x; n < width; n += BLOCK) {
      squares = fmaf(from[n] - mean, from[n] - mean, squares);
    }
    float inverse = rsqrtf(reduce<BLOCK, Sum>(squares) / (float)width + epsilon);
    for (u32 n = threadIdx.x; n < width; n += BLOCK) {
      out[row * width + n] = gain.finish((from[n] - mean) * inverse, scale[n], shift[n]);
    }
  }
}

template <int THREADS>
__device__ __forceinline__ void softmax_rows(const float* x, float* out, u64 rows, u32 width) {
  u32 t = threadIdx.x % THREADS, quads = width / 4;
  const float none = -3.402823466e38f;
  for (u64 row = (u64)blockIdx.x * (BLOCK / THREADS) + threadIdx.x / THREADS; row < rows;
       row += (u64)gridDim.x * (BLOCK / THREADS)) {
    const float4* from = (const float4*)(x + row * width);
    float4 held[ITEMS];
    float largest = none;
#pragma unroll
    for (int i = 0; i < ITEMS; ++i) {
      u32 at = t + i * THREADS;
      held[i] = at < quads ? from[at] : make_float4(none, none, none, none);
      largest = fmaxf(largest, fmaxf(fmaxf(held[i].x, held[i].y), fmaxf(held[i].z, held[i].w)));
    }
    largest = reduce<THREADS, Largest>(largest);
    float sum = 0.0f;
#pragma unroll
    for (int i = 0; i < ITEMS; ++i) {
      if (t + i * THREADS < quads) {
        held[i] = make_float4(__expf(held[i].x - largest), __expf(held[i].y - largest),
                              __expf(held[i].z - largest), __expf(held[i].w - largest));
        sum += (held[i].x + held[i].y) + (held[i].z + held[i].w);
      }
    }
    float share = 1.0f / reduce<THREADS, Sum>(sum);
    float4* to = (float4*)(out + row * width);
#pragma unroll
    for (int i = 0; i < ITEMS; ++i) {
      u32 at = t + i * THREADS;
      if (at < quads) {
        to[at] = make_float4(held[i].x * share, held[i].y * share, held[i].z * share,
                             held[i].w * share);
      }
    }
  }
}

// out = exp(x - largest) / sum over rows of `width`.
extern "C" __global__ void __launch_bounds__(BLOCK)
softmax(const float* x, u64 x_length, float* out, u64 out_length, u32 width) {
  if (blockDim.x != BLOCK || width == 0) return;
  u64 rows = (x_length < out_length ? x_length : out_length) / width;
  if (width % 4 == 0 && width <= 4 * ITEMS * 32) {
    softmax_rows<32>(x, out, rows, width);
    return;
  }
  if (width % 4 == 0 && width <= 4 * ITEMS * BLOCK) {
    softmax_rows<BLOCK>(x, out, rows, width);
    return;
  }
  for (u64 row = blockIdx.x; row < rows; row += gridDim.x) {
    const float* from = x + row * width;
    float largest = -3.402823466e38f, sum = 0.0f;
    for (u32 n = threadIdx.x; n < width; n += BLOCK) largest = fmaxf(largest, from[n]);
    largest = reduce<BLOCK, Largest>(largest);
    for (u32 n = threadIdx.x; n < width; n += BLOCK) sum += __expf(from[n] - largest);
    float share = 1.0f / reduce<BLOCK, Sum>(sum);
    for (u32 n = threadIdx.x; n < width; n += BLOCK) {
      out[row * width + n] = __expf(from[n] - largest) * share;
    }
  }
}
