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
