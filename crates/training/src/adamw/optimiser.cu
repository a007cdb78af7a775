// What happens to gradients after they are known: their norm, clipping, and AdamW's step.

typedef unsigned long long u64;
typedef unsigned int u32;

#define BLOCK 256

// The sum of squares of what each block sees, in a fixed order: the same bits every time.
extern "C" __global__ void __launch_bounds__(BLOCK)
square_sums(const float* gradient, u64 gradient_length, double* sums, u64 sums_length) {
  __shared__ double partial[BLOCK / 32];
  if (blockDim.x != BLOCK) return;
  u64 threads = (u64)gridDim.x * BLOCK, first = (u64)blockIdx.x * BLOCK + threadIdx.x;
  u64 quads = gradient_length / 4;
  double total = 0.0;
  u64 i = first;
  // Sixteen squares are summed in single precision before they meet the large sum.
  for (; i + 3 * threads < quads; i += 4 * threads) {
    float4 v[4];
#pragma unroll
    for (int n = 0; n < 4; ++n) v[n] = ((const float4*)gradient)[i + n * threads];
    float sum = 0.0f;
#pragma unroll
    for (int n = 0; n < 4; ++n) {
      sum = fmaf(v[n].x, v[n].x, fmaf(v[n].y, v[n].y, fmaf(v[n].z, v[n].z, fmaf(v[n].w, v[n].w, sum))));
    }
    total += sum;
  }
  for (; i < quads; i += threads) {
    float4 v = ((const float4*)gradient)[i];
    total += fmaf(v.x, v.x, fmaf(v.y, v.y, fmaf(v.z, v.z, v.w * v.w)));
  }
  for (u64 n = 4 * quads + first; n < gradient_length; n += threads) {
    total += gradient[n] * gradient[n];
  }
#pragma unroll
  for (int reach = 16; reach > 0; reach /= 2) total += __shfl_xor_sync(0xffffffffu, total, reach);
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = total;
  __syncthreads();
  if (threadIdx.x == 0 && blockIdx.x < sums_length) {
    for (int warp = 1; warp < BLOCK / 32; ++warp) total += partial[warp];
    sums[blockIdx.x] = total;
  }
}

// out = gradient * min(1, largest_norm / norm), with the norm from all `sums`; norm[0] is it.
extern "C" __global__ void __launch_bounds__(BLOCK)
clip(const float* gradient, u64 gradient_length, const double* sums, u64 sums_length, float* out,
     u64 out_length, float* norm, u64 norm_length, float largest_norm) {
  __shared__ double partial[BLOCK / 32];
  if (blockDim.x != BLOCK) return;
  double total = 0.0;
  for (u64 i = threadIdx.x; i < sums_length; i += BLOCK) total += sums[i];
#pragma unroll
  for (int reach = 16; reach > 0; reach /= 2) total += __shfl_xor_sync(0xffffffffu, total, reach);
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = total;
  __syncthreads();
  total = 0.0;
  for (int warp = 0; warp < BLOCK / 32; ++warp) total += partial[warp];
  float found = (float)sqrt(total);
  float scale = found > largest_norm ? largest_norm / found : 1.0f;
  if (blockIdx.x == 0 && threadIdx.x == 0 && norm_length > 0) norm[0] = found;
  u64 length = gradient_length < out_length ? gradient_length : out_length;
  u64 threads = (u64)gridDim.x * BLOCK, first = (u64)blockIdx.x * BLOCK + threadIdx.x;
  for (u64 i = first; i < length / 4; i += threads) {
    float4 v = ((const float4*)gradient)[i];
    ((float4*)out)[i] = make_float4(v.x * scale, v.y * scale, v.z * scale, v.w * scale);
  }
  for (u64 i = length / 4 * 4 + first; i < length; i += threads) out[i] = gradient[i] * scale;
}

struct Step {
  float rate, keep_first, give_first, keep_second, give_second, epsilon, decay, correct_first,
      correct_second;
  // What is given is 1 minus what is kept, from the caller: here the difference would lose digits.
  // `decay` is rate times weight decay; the corrections are 1 / (1 - beta^t), the second's root.
  __device__ __forceinline__ void apply(float& weight, float gradient, float& first,
                                        float& second) const {
    first = fmaf(keep_first, first, give_first * gradient);
    second = fmaf(keep_second, second, give_second * (gradient * gradient));
    float scale = sqrtf(second) * correct_second + epsilon;
    weight = fmaf(-decay, weight, weight) - rate * (first * correct_first) / scale;
  }
};

// One AdamW step in place, with bias correction: moments first, then decayed weights.
extern "C" __global__ void __launch_bounds__(BLOCK)
adamw(float* weights, u64 weights_length, const float* gradient, u64 gradient_length, float* first,
      u64 first_length, float* second, u64 second_length, float rate, float keep_first,
      float give_first, float keep_second, float give_second, float epsilon, float decay,
      float correct_first, float correct_second) {
  u64 length = weights_length;
  if (gradient_length < length) length = gradient_length;
  if (first_length < length) length = first_length;
  if (second_length < length) length = second_length;
  Step step = {rate,    keep_first, give_first,    keep_second,   give_second,
               epsilon, decay,      correct_first, correct_second};
  u64 threads = (u64)gridDim.x * blockDim.x, begin = (u64)blockIdx.x * blockDim.x + threadIdx.x;
  for (u64 i = begin; i < length / 4; i += threads) {
    float4 w = ((float4*)weights)[i], g = ((const float4*)gradient)[i];
    float4 m = ((float4*)first)[i], v = ((float4*)second)[i];
    step.apply(w.x, g.x, m.x, v.x);
    step.apply(w.y, g.y, m.y, v.y);
    step.apply(w.z, g.z, m.z, v.z);
    step.apply(w.w, g.w, m.w, v.w);
    ((float4*)weights)[i] = w;
    ((float4*)first)[i] = m;
    ((float4*)second)[i] = v;
  }
  for (u64 i = length / 4 * 4 + begin; i < length; i += threads) {
    float w = weights[i], m = first[i], v = second[i];
    step.apply(w, gradient[i], m, v);
    weights[i] = w;
    first[i] = m;
    second[i] = v;
  }
}
