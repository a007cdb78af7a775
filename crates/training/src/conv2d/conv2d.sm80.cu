// Two-dimensional convolution in single precision by tensor cores, for GPUs from Ampere on.

#include "tensor_tile.cuh"
#include "conv2d.cuh"

// The numbers of a picture that a position sees.
struct View {
  // The first tap; a row or column before the first is a very late one.
  const float* from;
  u32 y, x;

  __device__ __forceinline__ View(const float* pictures, const Shape& shape, const Result& result,
                                  u32 position) {
    u32 picture = position / result.area, within = position % result.area;
    u32 row = within / shape.out_width(), column = within % shape.out_width();
    long long top = (long long)row * shape.stride.y - shape.padding.y;
    long long left = (long long)column * shape.stride.x - shape.padding.x;
    from = pictures + ((long long)(picture * shape.picture) + top * shape.width + left);
    y = position < result.positions ? (u32)top : NOWHERE;
    x = (u32)left;
  }

  __device__ __forceinline__ bool has(const Place& place, const Shape& shape) const {
    return y + place.y < shape.height && x + place.x < shape.width;
  }
};

// Where step `k` lies.
__device__ __forceinline__ Place find_place(const Shape& shape, u32 k) {
  u32 area = shape.taps.y * shape.taps.x, channel = k / area, tap = k % area;
  u32 y = tap / shape.taps.x * shape.dilation.y, x = tap % shape.taps.x * shape.dilation.x;
  int offset = (int)((channel * shape.height + y) * shape.width + x);
  return {k < shape.depth ? y : NOWHERE, x, offset};
}

// Finds the places of STEPS steps from `first` on, when no thread needs those before any more.
template <int THREADS>
__device__ __forceinline__ void find_places(Place* places, const Shape& shape, u32 first) {
  __syncthreads();
  for (u32 i = threadIdx.x; i < STEPS; i += THREADS) places[i] = find_place(shape, first + i);
  __syncthreads();
}

// What a block works on: one group of channels.
struct Group {
  const float *x, *weight;
  Shape shape;
  Result result;

  // False if the sizes make no sense, something does not lie inside its buffer, or there is nothing to do.
  __device__ __forceinline__ bool begin(u32 group, const float* all_x, u64 x_length, const float* all_weight,
                                        u64 weight_length, const float* bias, u64 bias_length, float* out,
                                        u64 out_length, u32 pictures, u32 in_channels, u32 out_channels,
                                        u32 height, u32 width, u32 taps, u32 stride, u32 padding,
                                        u32 dilation, u32 groups) {
    shape = {height, width, Pair(taps), Pair(stride), Pair(padding), Pair(dilation)};
    if (!shape.makes_sense(in_channels) || groups == 0 || group >= groups) return false;
    u32 ins = in_channels / groups, outs = out_channels / groups;
    if (ins * groups != in_channels || outs * groups != out_channels) return false;
    shape.depth = ins * shape.taps.y * shape.taps.x;
    shape.picture = (u64)in_channels * height * width;
    u64 area = (u64)shape.out_height() * shape.out_width(), positions = pictures * area;
    if (positions == 0 || positions >= NOWHERE || outs == 0) return false;
    if (pictures * shape.picture > x_length || positions * out_channels > out_length) return false;
    if ((u64)out_channels * shape.depth > weight_length || out_channels > bias_length) return false;
    u32 first_in = group * ins, first_out = group * outs;
    result = {out + first_out * area, bias + first_out, outs, out_channels, (u32)area, (u32)positions};
    x = all_x + (u64)first_in * height * width;
    weight = all_weight + (u64)first_out * shape.depth;
    return true;
  }
};

// Begins the copy of a step's shifted numbers for the right side.
template <class Tile>
__device__ __forceinline__ void copy_shifted(u32 to, const View& view, const Place* places,
                                             const Shape& shape) {
  constexpr u32 DOWN = Tile::THREADS / Tile::COLUMNS;
  u32 r = threadIdx.x / Tile::COLUMNS, column = threadIdx.x % Tile::COLUMNS;
  // Numbers of the pictures wait for their places: eight together wait once.
#pragma unroll
  for (u32 i = 0; i < Tile::DEPTH; i += 8 * DOWN) {
    Place place[8];
#pragma unroll
    for (u32 j = 0; j < 8; ++j) place[j] = places[r + i + j * DOWN];
#pragma unroll
    for (u32 j = 0; j < 8; ++j) {
      copy_numbers<1>(to + Tile::right(r + i + j * DOWN, column), view.from + place[j].offset,
                      view.has(place[j], shape));
    }
  }
}

__device__ __forceinline__ float* place_of(const Result& result, u32 channel, u32 position) {
  u64 picture = position / result.area;
  return result.out + (picture * result.all_channels + channel) * result.area + position % result.area;
}

// Writes runs of RUN positions, which are all in one picture.
template <int RUN, class Tile>
__device__ __forceinline__ void write(const Tile& tile, const Result& result, u32 first_channel,
                                      u32 first_position) {
#pragma unroll
  for (u32 c = 0; c < 4 * Tile::BROAD; c += RUN) {
    u32 position = first_position + Tile::column(c / 4) + c % 4;
    if (position >= result.positions) continue;
    float* first = place_of(result, first_channel, position);
#pragma unroll
    for (u32 i = 0; i < Tile::TALL; ++i) {
      if (first_channel + Tile::row(i) >= result.channels) continue;
      float bias = __ldg(result.bias + first_channel + Tile::row(i));
      float* at = first + (u64)Tile::row(i) * result.area;
      if (RUN == 4) {
        float4 v = tile.four(i, c / 4);
        *(float4*)at = make_float4(v.x + bias, v.y + bias, v.z + bias, v.w + bias);
      } else {
        *at = tile.element(i, c / 4, c % 4) + bias;
      }
    }
  }
}

// N: 4 where the depth is a multiple of 4, else 1.
template <class Tile, int N>
__device__ __forceinline__ void convolve(const Group& group, Place* places) {
  const Shape& shape = group.shape;
  const Result& result = group.result;
  u32 high = (result.channels + Tile::ROWS - 1) / Tile::ROWS;
  // Blocks with neighbouring numbers have the same positions, which then lie in a cache.
  u32 first_channel = blockIdx.x % high * Tile::ROWS;
  if ((u64)(blockIdx.x / high) * Tile::COLUMNS >= result.positions) return;
  u32 first_position = blockIdx.x / high * Tile::COLUMNS;
  View view(group.x, shape, result, first_position + threadIdx.x % Tile::COLUMNS);
  // One addition to a number's address, where the compiler would count from the first picture.
  asm("" : "+l"(view.from));
  Tile tile = {};
  tile.add((shape.depth + Tile::DEPTH - 1) / Tile::DEPTH, [&](u32 step, u32 stage) {
    u32 k = step * Tile::DEPTH;
    if (k % STEPS == 0) find_places<Tile::THREADS>(places, shape, k);
    copy_part<Tile::ROWS, Tile::DEPTH, N, Tile::THREADS>(
        group.weight, first_channel, k, result.channels, shape.depth,
        [&](u32 r, u32 c) { return stage + Tile::left(r, c); });
    copy_shifted<Tile>(stage + Tile::LEFT, view, places + k % STEPS, shape);
  });
  if (result.area % 4 == 0) {
    write<4>(tile, result, first_channel, first_position);
  } else {
    write<1>(tile, result, first_channel, first_position);
  }
  if (tile.all_finite()) return;
  // As on the CPU, which begins with the bias.
  for (u32 slot = threadIdx.x; slot < Tile::ROWS * Tile::COLUMNS; slot += Tile::THREADS) {
    u32 channel = first_channel + slot / Tile::COLUMNS, position = first_position + slot % Tile::COLUMNS;
    if (channel >= result.channels || position >= result.positions) continue;
    float* to = place_of(result, channel, position);
    if (isfinite(*to)) continue;
    View view(group.x, shape, result, position);
    float sum = result.bias[channel];
    for (u32 k = 0; k < shape.depth; ++k) {
      Place place = find_place(shape, k);
      float number = view.has(place, shape) ? view.from[place.offset] : 0.0f;
      sum = fmaf(group.weight[(u64)channel * shape.depth + k], number, sum);
    }
    *to = sum;
  }
}

template <class Tile>
__device__ __forceinline__ void convolve_either(const Group& group) {
  __shared__ Place places[STEPS];
  if (group.shape.depth % 4 == 0) {
    convolve<Tile, 4>(group, places);
  } else {
    convolve<Tile, 1>(group, places);
  }
}

// out[p, o, y, x] = bias[o] + sum over c, j, i of weight[o, c, j, i] x[p, c, y stride + j dilation - padding,
// x stride + i dilation - padding] with zeros beyond the edges. A group of channels in y, in x blocks of 128
// threads to tiles of channels by positions.
#define CONVOLVE(NAME, ...)                                                                                  \
  extern "C" __global__ void __launch_bounds__(128, 2)                                                       \
  NAME(const float* x, u64 x_length, const float* weight, u64 weight_length, const float* bias,              \
       u64 bias_length, float* out, u64 out_length, u32 pictures, u32 in_channels, u32 out_channels,         \
       u32 height, u32 width, u32 taps, u32 stride, u32 padding, u32 dilation, u32 groups) {                 \
    typedef TensorTile<__VA_ARGS__> Tile;                                                                    \
    Group group;                                                                                             \
    if (Tile::has_room() &&                                                                                  \
        group.begin(blockIdx.y, x, x_length, weight, weight_length, bias, bias_length, out, out_length,      \
                    pictures, in_channels, out_channels, height, width, taps, stride, padding, dilation,     \
                    groups)) {                                                                               \
      convolve_either<Tile>(group);                                                                          \
    }                                                                                                        \
  }

// 128 channels by 64 positions.
CONVOLVE(conv2d_128, 4, 1, 2, 2, 2)
// 64 by 128.
CONVOLVE(conv2d_64, 2, 2, 2, 2, 3)
// 32 by 128.
CONVOLVE(conv2d_32, 2, 1, 1, 4, 3)
