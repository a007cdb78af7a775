// What follows a convolution of CREPE, and the shape of its product.
//
// A layer is a product of matrices: rows are frames, each with its positions one after another and the channels
// of a position together. A tile of 256 columns has some outputs at neighbouring positions; what they see of a
// frame is one run of numbers, so that the tile's left side is a window into the frames that slides by `step`
// from tile to tile, and the right side, the taps of each position moved to where its inputs are in the window,
// is the same for all of them. Columns are in such an order that a thread has both positions of a pair that is
// pooled, side by side, and eight neighbouring outputs of a frame.

#define DEPTH 64
// Columns of a tile, and outputs.
#define COLUMNS 256
#define PAIRS 128

// Where a tile's window begins in a frame, and the steps of DEPTH of which some numbers lie inside the frame.
struct Window {
  int column, first, last;

  // Of windows of `depth` numbers, `step` apart, the first `before` numbers in front of the frame of `width`.
  __device__ __forceinline__ Window(u32 number, u32 width, u32 depth, u32 step, u32 before)
      : column((int)(number * step) - (int)before),
        first(column < 0 ? -column / DEPTH : 0),
        last((min((int)depth, (int)width - column) + DEPTH - 1) / DEPTH) {}
};

// Bias, rectification, scale and shift, and the larger of two neighbours.
__device__ __forceinline__ float pooled(float a, float b, float bias, float scale, float shift) {
  a = fmaf(fmaxf(a + bias, 0.0f), scale, shift);
  b = fmaf(fmaxf(b + bias, 0.0f), scale, shift);
  return fmaxf(a, b);
}

__device__ __forceinline__ u32 two_halves(float low, float high) {
  u32 both;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
  return both;
}

// Eight outputs from eight pairs of sums, four numbers from pair to pair; `affine` has the biases, scales and
// shifts of `channels` channels one after another, and `channel` is a multiple of eight.
__device__ __forceinline__ uint4 eight_outputs(const float* sum, const float* affine, u32 channel, u32 channels) {
  u32 halves[4];
#pragma unroll
  for (u32 j = 0; j < 2; ++j, sum += 16) {
    const float* table = affine + channel + 4 * j;
    float4 bias = *(const float4*)table, scale = *(const float4*)(table + channels),
           shift = *(const float4*)(table + 2 * channels);
    halves[2 * j] = two_halves(pooled(sum[0], sum[1], bias.x, scale.x, shift.x),
                               pooled(sum[4], sum[5], bias.y, scale.y, shift.y));
    halves[2 * j + 1] = two_halves(pooled(sum[8], sum[9], bias.z, scale.z, shift.z),
                                   pooled(sum[12], sum[13], bias.w, scale.w, shift.w));
  }
  return make_uint4(halves[0], halves[1], halves[2], halves[3]);
}
