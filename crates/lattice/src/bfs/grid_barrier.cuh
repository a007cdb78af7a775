// A barrier over all blocks of a cooperative launch.
//
// `arrived` only grows: a barrier is passed when all blocks have arrived since the last one. The
// release of the arrival covers what the whole block wrote, because the block met before it; the
// acquire of the wait does the same on the other side.

typedef unsigned int u32;

__device__ __forceinline__ void grid_barrier(u32* arrived, u32& passed) {
  __syncthreads();
  if (threadIdx.x == 0 && threadIdx.y == 0) {
    passed += gridDim.x * gridDim.y * gridDim.z;
    u32 seen;
    asm volatile("red.release.gpu.global.add.u32 [%0], 1;" ::"l"(arrived) : "memory");
    do {
      asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(arrived) : "memory");
    } while ((int)(seen - passed) < 0);
  }
  __syncthreads();
}
