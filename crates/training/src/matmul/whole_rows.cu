// Matrices of bf16 whose rows are no whole chunks of 16 bytes, copied with rows that are: what is read by
// tiles must be so. A block copies a row, of the left matrix or of the right.

typedef unsigned long long u64;
typedef unsigned int u32;
typedef unsigned short u16;

__device__ __forceinline__ u32 whole(u32 width) { return (width + 7) / 8 * 8; }

__device__ __forceinline__ void copy_row(const u16* from, u16* to, u32 width) {
  for (u32 chunk = threadIdx.x; chunk < whole(width) / 8; chunk += blockDim.x) {
    u32 words[4];
#pragma unroll
    for (u32 i = 0; i < 4; ++i) {
      u32 x = 8 * chunk + 2 * i;
      u32 low = x < width ? from[x] : 0, high = x + 1 < width ? from[x + 1] : 0;
      words[i] = low | high << 16;
    }
    ((uint4*)to)[chunk] = make_uint4(words[0], words[1], words[2], words[3]);
  }
}

// left[rows, whole depth] = a[rows, depth], right[depth, whole columns] = b[depth, columns]; zeros beyond. A
// block to each row of both.
extern "C" __global__ void __launch_bounds__(128)
whole_rows(const u16* a, u64 a_length, const u16* b, u64 b_length, u16* left, u64 left_length, u16* right,
           u64 right_length, u32 rows, u32 columns, u32 depth) {
  if ((u64)rows * depth > a_length || (u64)depth * columns > b_length ||
      (u64)rows * whole(depth) > left_length || (u64)depth * whole(columns) > right_length) {
    return;
  }
  u64 row = blockIdx.x;
  if (row < rows) {
    copy_row(a + row * depth, left + row * whole(depth), depth);
  } else if (row - rows < depth) {
    row -= rows;
    copy_row(b + row * columns, right + row * whole(columns), columns);
  }
}
