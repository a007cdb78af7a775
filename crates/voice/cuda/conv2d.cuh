// Two-dimensional convolution over channels, as a product of the weights with the pictures' shifted copies,
// which are never stored: each number is read from its picture where the product needs it. What kernels for
// all GPUs share: how they count positions and where they find numbers.
//
// The columns of the product are the positions of all pictures together, its depth is channels and taps.
// Where a step of the depth lies in a picture is the same for all positions: a block works it out 256 steps
// at a time and keeps it in shared memory.

typedef unsigned long long u64;
typedef unsigned int u32;

#define STEPS 256
// More than any row or column, and so is twice as much.
#define NOWHERE (1u << 30)

// A pair of numbers as the host sends it: along rows, along columns.
struct Pair {
  u32 y, x;
  Pair() = default;
  __device__ __forceinline__ explicit Pair(u32 both) : y(both & 0xffff), x(both >> 16) {}
};

struct Shape {
  u32 height, width;
  Pair taps, stride, padding, dilation;
  // Products of an element of the result; numbers of a picture.
  u32 depth;
  u64 picture;

  static __device__ __forceinline__ u32 positions(u32 size, u32 taps, u32 stride, u32 padding, u32 dilation) {
    u64 reach = (u64)dilation * (taps - 1) + 1, padded = (u64)size + 2 * padding;
    return padded < reach ? 0 : (u32)((padded - reach) / stride + 1);
  }

  __device__ __forceinline__ u32 out_height() const {
    return positions(height, taps.y, stride.y, padding.y, dilation.y);
  }

  __device__ __forceinline__ u32 out_width() const {
    return positions(width, taps.x, stride.x, padding.x, dilation.x);
  }

  // No step is 0, and the places of a picture and of what surrounds it are numbers of 31 bits.
  __device__ __forceinline__ bool makes_sense(u32 channels) const {
    return taps.y && taps.x && stride.y && stride.x && dilation.y && dilation.x && height < NOWHERE / 2 &&
           width < NOWHERE / 2 &&
           ((u64)channels * height + 2 * padding.y) * width + 2 * padding.x < 2 * (u64)NOWHERE;
  }
};

// Where a step of the depth lies, from a position's first tap.
struct __align__(16) Place {
  u32 y, x;
  int offset;
};

// The result: a group's channels of every picture.
struct Result {
  float* out;
  const float* bias;
  // Of the group, of all groups.
  u32 channels, all_channels;
  // Of a picture, of all pictures.
  u32 area, positions;
};

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
