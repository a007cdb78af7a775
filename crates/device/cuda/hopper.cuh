// What Hopper adds: tiles copied by units of their own, barriers that count their bytes, blocks in clusters,
// and products of matrices in shared memory by the four warps of a warpgroup.

typedef unsigned long long u64;
typedef unsigned int u32;

// What both matrices of a product hold.
#ifndef NUMBERS
#define NUMBERS "bf16.bf16"
#endif

// Columns of a right side that lie together: 128 bytes, the width of the pattern that keeps banks apart.
#define STRIP 64

// What the driver writes down about a matrix.
struct __align__(64) TensorMap {
  u64 words[16];
};

__device__ __forceinline__ u32 block_of_cluster() {
  u32 rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}

__device__ __forceinline__ void meet_cluster() {
  asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
}

// Barriers, by their addresses in shared memory.
__device__ __forceinline__ void make_barrier(u32 barrier, u32 arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}

__device__ __forceinline__ void expect_bytes(u32 barrier, u32 bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}

__device__ __forceinline__ void arrive(u32 barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}

// At the same barrier of another block of the cluster.
__device__ __forceinline__ void arrive(u32 barrier, u32 block) {
  asm volatile(
      "{\n.reg .b32 there;\nmapa.shared::cluster.u32 there, %0, %1;\n"
      "mbarrier.arrive.shared::cluster.b64 _, [there];\n}" ::"r"(barrier),
      "r"(block)
      : "memory");
}

__device__ __forceinline__ void wait(u32 barrier, u32 parity) {
  asm volatile(
      "{\n.reg .pred done;\nagain:\n"
      "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
      "@!done bra again;\n}" ::"r"(barrier),
      "r"(parity)
      : "memory");
}

// Fetches what is written down about a matrix before its first copy asks for it.
__device__ __forceinline__ void prefetch_map(const TensorMap& map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(&map) : "memory");
}

// Orders the copy of the box at (column, row); `barrier` gets its bytes.
__device__ __forceinline__ void copy_box(u32 to, const TensorMap& map, u32 column, u32 row, u32 barrier) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], "
      "[%4];" ::"r"(to),
      "l"(&map), "r"(column), "r"(row), "r"(barrier)
      : "memory");
}

// The same for the blocks of the cluster whose bits are set.
__device__ __forceinline__ void copy_box_to(u32 blocks, u32 to, const TensorMap& map, u32 column, u32 row,
                                            u32 barrier) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], "
      "[%1, {%2, %3}], [%4], %5;" ::"r"(to),
      "l"(&map), "r"(column), "r"(row), "r"(barrier), "h"((unsigned short)blocks)
      : "memory");
}

// A matrix in shared memory in the pattern of 128 bytes: `leading` bytes from strip to strip, 1024 bytes from
// eight rows to the next eight.
__device__ __forceinline__ u64 matrix(u32 address, u32 leading) {
  return (u64)(address >> 4 & 0x3fff) | (u64)(leading >> 4) << 16 | (u64)(1024 >> 4) << 32 | 1ull << 62;
}

template <int AHEAD>
__device__ __forceinline__ void wait_for_products() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(AHEAD) : "memory");
}

__device__ __forceinline__ void fence_products() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }

__device__ __forceinline__ void end_of_products() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

// A place in a ring of stages.
template <int STAGES>
struct Turn {
  u32 stage = 0, parity = 0;
  __device__ __forceinline__ void next() {
    if (++stage == STAGES) {
      stage = 0;
      parity ^= 1;
    }
  }
};

// Writes the sum of 64 rows that a warpgroup has, as far as it lies inside the matrix.
template <int COLUMNS>
__device__ __forceinline__ void write_sum(const float (&sum)[COLUMNS / 2], float* out, u32 first_row,
                                          u32 first_column, u32 rows, u32 columns) {
  u32 thread = threadIdx.x % 128, lane = thread % 32;
#pragma unroll
  for (u32 half = 0; half < 2; ++half) {
    u32 row = first_row + thread / 32 * 16 + lane / 4 + 8 * half;
    if (row >= rows) continue;
    float* line = out + (u64)row * columns;
#pragma unroll
    for (u32 j = 0; j < COLUMNS / 8; ++j) {
      u32 column = first_column + lane % 4 * 2 + 8 * j;
      float x = sum[4 * j + 2 * half], y = sum[4 * j + 2 * half + 1];
      if (columns % 2 == 0) {
        if (column < columns) *(float2*)(line + column) = make_float2(x, y);
      } else {
        if (column < columns) line[column] = x;
        if (column + 1 < columns) line[column + 1] = y;
      }
    }
  }
}

// sum[64, N] += a[64, 16] b[16, N] by a warpgroup, or = without ADD; N is 128, 192 or 256. A's rows lie along
// the depth, b's along the columns.
__device__ __forceinline__ void multiply_add(float (&sum)[64], u64 a, u64 b, u32 add) {
  asm volatile(
      "{\n.reg .pred p;\nsetp.ne.b32 p, %66, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n128k16.f32." NUMBERS " {"
      "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
      "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
      "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
      "}, %64, %65, p, 1, 1, 0, 1;\n}"
      : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3]), "+f"(sum[4]), "+f"(sum[5]), "+f"(sum[6]), "+f"(sum[7]),
        "+f"(sum[8]), "+f"(sum[9]), "+f"(sum[10]), "+f"(sum[11]), "+f"(sum[12]), "+f"(sum[13]), "+f"(sum[14]), "+f"(sum[15]),
        "+f"(sum[16]), "+f"(sum[17]), "+f"(sum[18]), "+f"(sum[19]), "+f"(sum[20]), "+f"(sum[21]), "+f"(sum[22]), "+f"(sum[23]),
        "+f"(sum[24]), "+f"(sum[25]), "+f"(sum[26]), "+f"(sum[27]), "+f"(sum[28]), "+f"(sum[29]), "+f"(sum[30]), "+f"(sum[31]),
        "+f"(sum[32]), "+f"(sum[33]), "+f"(sum[34]), "+f"(sum[35]), "+f"(sum[36]), "+f"(sum[37]), "+f"(sum[38]), "+f"(sum[39]),
        "+f"(sum[40]), "+f"(sum[41]), "+f"(sum[42]), "+f"(sum[43]), "+f"(sum[44]), "+f"(sum[45]), "+f"(sum[46]), "+f"(sum[47]),
        "+f"(sum[48]), "+f"(sum[49]), "+f"(sum[50]), "+f"(sum[51]), "+f"(sum[52]), "+f"(sum[53]), "+f"(sum[54]), "+f"(sum[55]),
        "+f"(sum[56]), "+f"(sum[57]), "+f"(sum[58]), "+f"(sum[59]), "+f"(sum[60]), "+f"(sum[61]), "+f"(sum[62]), "+f"(sum[63])
      : "l"(a), "l"(b), "r"(add));
}

__device__ __forceinline__ void multiply_add(float (&sum)[96], u64 a, u64 b, u32 add) {
  asm volatile(
      "{\n.reg .pred p;\nsetp.ne.b32 p, %98, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n192k16.f32." NUMBERS " {"
      "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
      "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
      "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, "
      "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, "
      "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95"
      "}, %96, %97, p, 1, 1, 0, 1;\n}"
      : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3]), "+f"(sum[4]), "+f"(sum[5]), "+f"(sum[6]), "+f"(sum[7]),
        "+f"(sum[8]), "+f"(sum[9]), "+f"(sum[10]), "+f"(sum[11]), "+f"(sum[12]), "+f"(sum[13]), "+f"(sum[14]), "+f"(sum[15]),
        "+f"(sum[16]), "+f"(sum[17]), "+f"(sum[18]), "+f"(sum[19]), "+f"(sum[20]), "+f"(sum[21]), "+f"(sum[22]), "+f"(sum[23]),
        "+f"(sum[24]), "+f"(sum[25]), "+f"(sum[26]), "+f"(sum[27]), "+f"(sum[28]), "+f"(sum[29]), "+f"(sum[30]), "+f"(sum[31]),
        "+f"(sum[32]), "+f"(sum[33]), "+f"(sum[34]), "+f"(sum[35]), "+f"(sum[36]), "+f"(sum[37]), "+f"(sum[38]), "+f"(sum[39]),
        "+f"(sum[40]), "+f"(sum[41]), "+f"(sum[42]), "+f"(sum[43]), "+f"(sum[44]), "+f"(sum[45]), "+f"(sum[46]), "+f"(sum[47]),
        "+f"(sum[48]), "+f"(sum[49]), "+f"(sum[50]), "+f"(sum[51]), "+f"(sum[52]), "+f"(sum[53]), "+f"(sum[54]), "+f"(sum[55]),
        "+f"(sum[56]), "+f"(sum[57]), "+f"(sum[58]), "+f"(sum[59]), "+f"(sum[60]), "+f"(sum[61]), "+f"(sum[62]), "+f"(sum[63]),
        "+f"(sum[64]), "+f"(sum[65]), "+f"(sum[66]), "+f"(sum[67]), "+f"(sum[68]), "+f"(sum[69]), "+f"(sum[70]), "+f"(sum[71]),
        "+f"(sum[72]), "+f"(sum[73]), "+f"(sum[74]), "+f"(sum[75]), "+f"(sum[76]), "+f"(sum[77]), "+f"(sum[78]), "+f"(sum[79]),
        "+f"(sum[80]), "+f"(sum[81]), "+f"(sum[82]), "+f"(sum[83]), "+f"(sum[84]), "+f"(sum[85]), "+f"(sum[86]), "+f"(sum[87]),
        "+f"(sum[88]), "+f"(sum[89]), "+f"(sum[90]), "+f"(sum[91]), "+f"(sum[92]), "+f"(sum[93]), "+f"(sum[94]), "+f"(sum[95])
      : "l"(a), "l"(b), "r"(add));
}

__device__ __forceinline__ void multiply_add(float (&sum)[128], u64 a, u64 b, u32 add) {
  asm volatile(
      "{\n.reg .pred p;\nsetp.ne.b32 p, %130, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n256k16.f32." NUMBERS " {"
      "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
      "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
      "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, "
      "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, "
      "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, "
      "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, "
      "%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127"
      "}, %128, %129, p, 1, 1, 0, 1;\n}"
      : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3]), "+f"(sum[4]), "+f"(sum[5]), "+f"(sum[6]), "+f"(sum[7]),
        "+f"(sum[8]), "+f"(sum[9]), "+f"(sum[10]), "+f"(sum[11]), "+f"(sum[12]), "+f"(sum[13]), "+f"(sum[14]), "+f"(sum[15]),
        "+f"(sum[16]), "+f"(sum[17]), "+f"(sum[18]), "+f"(sum[19]), "+f"(sum[20]), "+f"(sum[21]), "+f"(sum[22]), "+f"(sum[23]),
        "+f"(sum[24]), "+f"(sum[25]), "+f"(sum[26]), "+f"(sum[27]), "+f"(sum[28]), "+f"(sum[29]), "+f"(sum[30]), "+f"(sum[31]),
        "+f"(sum[32]), "+f"(sum[33]), "+f"(sum[34]), "+f"(sum[35]), "+f"(sum[36]), "+f"(sum[37]), "+f"(sum[38]), "+f"(sum[39]),
        "+f"(sum[40]), "+f"(sum[41]), "+f"(sum[42]), "+f"(sum[43]), "+f"(sum[44]), "+f"(sum[45]), "+f"(sum[46]), "+f"(sum[47]),
        "+f"(sum[48]), "+f"(sum[49]), "+f"(sum[50]), "+f"(sum[51]), "+f"(sum[52]), "+f"(sum[53]), "+f"(sum[54]), "+f"(sum[55]),
        "+f"(sum[56]), "+f"(sum[57]), "+f"(sum[58]), "+f"(sum[59]), "+f"(sum[60]), "+f"(sum[61]), "+f"(sum[62]), "+f"(sum[63]),
        "+f"(sum[64]), "+f"(sum[65]), "+f"(sum[66]), "+f"(sum[67]), "+f"(sum[68]), "+f"(sum[69]), "+f"(sum[70]), "+f"(sum[71]),
        "+f"(sum[72]), "+f"(sum[73]), "+f"(sum[74]), "+f"(sum[75]), "+f"(sum[76]), "+f"(sum[77]), "+f"(sum[78]), "+f"(sum[79]),
        "+f"(sum[80]), "+f"(sum[81]), "+f"(sum[82]), "+f"(sum[83]), "+f"(sum[84]), "+f"(sum[85]), "+f"(sum[86]), "+f"(sum[87]),
        "+f"(sum[88]), "+f"(sum[89]), "+f"(sum[90]), "+f"(sum[91]), "+f"(sum[92]), "+f"(sum[93]), "+f"(sum[94]), "+f"(sum[95]),
        "+f"(sum[96]), "+f"(sum[97]), "+f"(sum[98]), "+f"(sum[99]), "+f"(sum[100]), "+f"(sum[101]), "+f"(sum[102]), "+f"(sum[103]),
        "+f"(sum[104]), "+f"(sum[105]), "+f"(sum[106]), "+f"(sum[107]), "+f"(sum[108]), "+f"(sum[109]), "+f"(sum[110]), "+f"(sum[111]),
        "+f"(sum[112]), "+f"(sum[113]), "+f"(sum[114]), "+f"(sum[115]), "+f"(sum[116]), "+f"(sum[117]), "+f"(sum[118]), "+f"(sum[119]),
        "+f"(sum[120]), "+f"(sum[121]), "+f"(sum[122]), "+f"(sum[123]), "+f"(sum[124]), "+f"(sum[125]), "+f"(sum[126]), "+f"(sum[127])
      : "l"(a), "l"(b), "r"(add));
}
