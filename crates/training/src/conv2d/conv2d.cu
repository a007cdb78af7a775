// Two-dimensional convolution in single precision, for all GPUs.

#include "register_tile.cuh"
#include "conv2d.cuh"

// Shifted copies, for the right side.
template <class Tile>
struct Shifted {
  static constexpr int COUNT = Tile::COLUMNS * Tile::DEPTH / Tile::THREADS;
  const Shape& shape;
  Place* places;
  // The first tap of this thread's position; a row or column before the first is a very late one.
  const float* from;
  u32 y, x;
  float value[COUNT];

  __device__ __forceinline__ Shifted(const float* pictures, const Shape& shape, const Result& result,
                                     u32 first_position, Place* places)
      : shape(shape), places(places) {
    u32 position = first_position + threadIdx.x % Tile::COLUMNS;
    u32 picture = position / result.area, within = position % result.area;
    u32 row = within / shape.out_width(), column = within % shape.out_width();
    long long top = (long long)row * shape.stride.y - shape.padding.y;
    long long left = (long long)column * shape.stride.x - shape.padding.x;
    from = pictures + ((long long)(picture * shape.picture) + top * shape.width + left);
    y = position < result.positions ? (u32)top : NOWHERE;
    x = (u32)left;
  }

  __device__ __forceinline__ void find_places(u32 first) {
    __syncthreads();
    for (u32 i = threadIdx.x; i < STEPS; i += Tile::THREADS) {
      u32 k = first + i, area = shape.taps.y * shape.taps.x;
      u32 channel = k / area, tap = k % area;
      u32 y = tap / shape.taps.x * shape.dilation.y, x = tap % shape.taps.x * shape.dilation.x;
      int offset = (int)((channel * shape.height + y) * shape.width + x);
      places[i] = {k < shape.depth ? y : NOWHERE, x, offset};
    }
    __syncthreads();
  }

  __device__ __forceinline__ void load(u32 step) {
    if (step % (STEPS / Tile::DEPTH) == 0) find_places(step * Tile::DEPTH);
#pragma unroll
    for (u32 i = 0; i < COUNT; ++i) {
      u32 k = threadIdx.x / Tile::COLUMNS + i * (Tile::THREADS / Tile::COLUMNS);
      Place place = places[step * Tile::DEPTH % STEPS + k];
      bool inside = y + place.y < shape.height && x + place.x < shape.width;
      value[i] = inside ? __ldg(from + place.offset) : 0.0f;
    }
  }

  __device__ __forceinline__ void store(float* to) const {
#pragma unroll
    for (u32 i = 0; i < COUNT; ++i) to[threadIdx.x + i * Tile::THREADS] = value[i];
  }
};

// Writes runs of RUN positions, which are all in one picture.
template <int RUN, class Tile>
__device__ __forceinline__ void write(const Tile& tile, const Result& result, u32 first_channel,
                                      u32 first_position) {
#pragma unroll
  for (u32 c = 0; c < 4 * Tile::COLUMN_QUADS; c += RUN) {
    u32 position = first_position + Tile::column(c);
    if (position >= result.positions) continue;
    u64 picture = position / result.area;
    float* to = result.out + picture * result.all_channels * result.area + position % result.area;
#pragma unroll
    for (u32 r = 0; r < 4 * Tile::ROW_QUADS; ++r) {
      u32 channel = first_channel + Tile::row(r);
      if (channel >= result.channels) continue;
      float* at = to + (u64)channel * result.area;
      if (RUN == 4) {
        *(float4*)at = make_float4(tile.sum[r][c], tile.sum[r][c + 1], tile.sum[r][c + 2], tile.sum[r][c + 3]);
      } else {
        *at = tile.sum[r][c];
      }
    }
  }
}

// VECTORS: the depth is a multiple of 4.
template <class Tile, bool VECTORS>
__device__ __forceinline__ void convolve(const float* x, const float* weight, const Shape& shape,
                                         const Result& result, typename Tile::Shared& shared, Place* places) {
  u32 high = (result.channels + Tile::ROWS - 1) / Tile::ROWS;
  // Blocks with neighbouring numbers have the same positions, which then lie in a cache.
  u32 first_channel = blockIdx.x % high * Tile::ROWS;
  if ((u64)(blockIdx.x / high) * Tile::COLUMNS >= result.positions) return;
  u32 first_position = blockIdx.x / high * Tile::COLUMNS;
  Tile tile;
#pragma unroll
  for (u32 r = 0; r < 4 * Tile::ROW_QUADS; ++r) {
    u32 channel = first_channel + Tile::row(r);
    // The sum begins with the bias, as on the CPU.
    float bias = channel < result.channels ? __ldg(result.bias + channel) : 0.0f;
#pragma unroll
    for (u32 c = 0; c < 4 * Tile::COLUMN_QUADS; ++c) tile.sum[r][c] = bias;
  }
  LeftRows<Tile, float, VECTORS> left = {weight, first_channel, result.channels, shape.depth};
  Shifted<Tile> right(x, shape, result, first_position, places);
  tile.add(left, right, (shape.depth + Tile::DEPTH - 1) / Tile::DEPTH, shared);
  if (result.area % 4 == 0) {
    write<4>(tile, result, first_channel, first_position);
  } else {
    write<1>(tile, result, first_channel, first_position);
  }
}

// out[p, o, y, x] = bias[o] + sum over c, j, i of weight[o, c, j, i] x[p, c, y stride + j dilation - padding,
// x stride + i dilation - padding] with zeros beyond the edges. A group of channels in y; in x blocks of 256
// threads, each with 128 channels by 128 positions, or 64 by 256 where a group has no more than 64.
extern "C" __global__ void __launch_bounds__(256, 2)
conv2d(const float* x, u64 x_length, const float* weight, u64 weight_length, const float* bias,
       u64 bias_length, float* out, u64 out_length, u32 pictures, u32 in_channels, u32 out_channels,
       u32 height, u32 width, u32 taps, u32 stride, u32 padding, u32 dilation, u32 groups) {
  typedef RegisterTile<2, 2, 4, 2, 8> Square;
  typedef RegisterTile<2, 2, 2, 4, 8> Wide;
  __shared__ union {
    Square::Shared square;
    Wide::Shared wide;
  } shared;
  __shared__ Place places[STEPS];
  Shape shape = {height, width, Pair(taps), Pair(stride), Pair(padding), Pair(dilation)};
  if (blockDim.x != 256 || !shape.makes_sense(in_channels) || groups == 0 || blockIdx.y >= groups) return;
  u32 ins = in_channels / groups, outs = out_channels / groups;
  if (ins * groups != in_channels || outs * groups != out_channels) return;
  shape.depth = ins * shape.taps.y * shape.taps.x;
  shape.picture = (u64)in_channels * height * width;
  u64 area = (u64)shape.out_height() * shape.out_width(), positions = pictures * area;
  if (positions == 0 || positions >= NOWHERE || outs == 0) return;
  if (pictures * shape.picture > x_length || positions * out_channels > out_length) return;
  if ((u64)out_channels * shape.depth > weight_length || out_channels > bias_length) return;
  u32 first_in = blockIdx.y * ins, first_out = blockIdx.y * outs;
  Result result = {out + first_out * area, bias + first_out, outs, out_channels, (u32)area, (u32)positions};
  x += (u64)first_in * height * width;
  weight += (u64)first_out * shape.depth;
  bool vectors = shape.depth % 4 == 0;
  if (outs > 64 && vectors) {
    convolve<Square, true>(x, weight, shape, result, shared.square, places);
  } else if (outs > 64) {
    convolve<Square, false>(x, weight, shape, result, shared.square, places);
  } else {
    convolve<Wide, false>(x, weight, shape, result, shared.wide, places);
  }
}
