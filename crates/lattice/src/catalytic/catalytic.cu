// The Feistel stencil of catalytic/stencil.rs: adds to (sign 0) or subtracts from (sign ~0) one
// array the sums of its cells' neighbours in the other, modulo 2^32. Obstacles are rows of bits; an
// empty buffer means that all cells are open.

typedef unsigned int u32;
typedef unsigned long long u64;

#define ARRAYS                                                                                   \
  const u32 *__restrict__ source, u64 source_length, u32 *__restrict__ target,                   \
      u64 target_length, const u32 *__restrict__ open, u64 open_length, u32 nx, u32 ny, u32 nz,    \
      u32 chunk, u32 sign, u32 backwards

__device__ __forceinline__ bool fits(u32 nx, u32 ny, u32 nz, u64 source, u64 target, u64 open) {
  u64 cells = (u64)nx * ny * nz, words = (u64)((nx + 31) / 32) * ny * nz;
  return cells <= source && cells <= target && (open == 0 || words <= open);
}

// A thread to a column of cells, marching along z.
extern "C" __global__ void feistel(ARRAYS) {
  if (!fits(nx, ny, nz, source_length, target_length, open_length)) return;
  u64 row = nx, plane = (u64)nx * ny;
  u32 words = (nx + 31) / 32;
  for (u64 column = (u64)blockIdx.x * blockDim.x + threadIdx.x; column < plane;
       column += (u64)gridDim.x * blockDim.x) {
    u32 x = column % nx, y = column / nx;
    for (u64 first = (u64)blockIdx.y * chunk; first < nz; first += (u64)gridDim.y * chunk) {
      u64 last = first + chunk < nz ? first + chunk : nz;
      u64 at = first * plane + column;
      for (u64 z = first; z < last; ++z, at += plane) {
        if (open_length && !(open[(z * ny + y) * words + x / 32] >> (x % 32) & 1)) continue;
        u32 sum = (x > 0 ? source[at - 1] : 0) + (x + 1 < nx ? source[at + 1] : 0) +
                  (y > 0 ? source[at - row] : 0) + (y + 1 < ny ? source[at + row] : 0) +
                  (z > 0 ? source[at - plane] : 0) + (z + 1 < nz ? source[at + plane] : 0);
        target[at] += (sum ^ sign) - sign;
      }
    }
  }
}

__device__ __forceinline__ uint4 operator+(uint4 a, uint4 b) {
  return make_uint4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w);
}

// Rows of a multiple of four cells: blocks of 32 by blockDim.y threads, four cells to a thread.
// `backwards` begins with the last planes, which the pass before has left in L2.
template <bool MASKED>
__device__ __forceinline__ void sweep4(const u32* __restrict__ source, u32* __restrict__ target,
                                       const u32* __restrict__ open, u32 nx, u32 ny, u32 nz,
                                       u32 chunk, u32 sign, u32 backwards) {
  u32 row = nx / 4, words = (nx + 31) / 32;
  u64 plane = (u64)row * ny;
  u32 x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  u32 first = (backwards ? gridDim.z - 1 - blockIdx.z : blockIdx.z) * chunk;
  if (y >= ny || first >= nz) return;
  bool inside = x < row;
  u32 last = min(first + chunk, nz);
  const uint4* from = (const uint4*)source;
  uint4* to = (uint4*)target;
  const uint4 zero = make_uint4(0, 0, 0, 0);
  u64 at = first * plane + (u64)y * row + x;
  uint4 below = inside && first > 0 ? from[at - plane] : zero;
  uint4 own = inside ? from[at] : zero;
#pragma unroll 2
  for (u32 z = first; z < last; ++z, at += plane) {
    uint4 above = inside && z + 1 < nz ? from[at + plane] : zero;
    uint4 value = inside ? to[at] : zero;
    uint4 y0 = inside && y > 0 ? from[at - row] : zero;
    uint4 y1 = inside && y + 1 < ny ? from[at + row] : zero;
    u32 left = __shfl_up_sync(0xffffffffu, own.w, 1);
    u32 right = __shfl_down_sync(0xffffffffu, own.x, 1);
    if (threadIdx.x == 0) left = x > 0 && inside ? source[4 * at - 1] : 0;
    if (threadIdx.x == 31) right = x + 1 < row ? source[4 * at + 4] : 0;
    uint4 sum = ((below + above) + (y0 + y1)) + make_uint4(left + own.y, own.x + own.z,
                                                          own.y + own.w, own.z + right);
    if (inside) {
      u32 bits = MASKED ? open[((u64)z * ny + y) * words + x / 8] >> (4 * (x % 8)) : 15;
      value.x += ((sum.x ^ sign) - sign) & (0 - (bits & 1));
      value.y += ((sum.y ^ sign) - sign) & (0 - (bits >> 1 & 1));
      value.z += ((sum.z ^ sign) - sign) & (0 - (bits >> 2 & 1));
      value.w += ((sum.w ^ sign) - sign) & (0 - (bits >> 3 & 1));
      to[at] = value;
    }
    below = own;
    own = above;
  }
}

#define SWEEPING(NAME, MASKED)                                                        \
  extern "C" __global__ void __launch_bounds__(256) NAME(ARRAYS) {                    \
    if (!fits(nx, ny, nz, source_length, target_length, open_length)) return;         \
    if (nx % 4 != 0 || blockDim.x != 32 || (MASKED) != (open_length != 0)) return;    \
    sweep4<MASKED>(source, target, open, nx, ny, nz, chunk, sign, backwards);         \
  }

SWEEPING(feistel4, false)
SWEEPING(feistel4_masked, true)

// Reads one word out, then adds `delta` to it.
extern "C" __global__ void feistel_word(u32* array, u64 array_length, u64 at, u32 delta, u32* out,
                                        u64 out_length, u64 slot) {
  if (blockIdx.x == 0 && threadIdx.x == 0 && at < array_length && slot < out_length) {
    out[slot] = array[at];
    array[at] += delta;
  }
}
