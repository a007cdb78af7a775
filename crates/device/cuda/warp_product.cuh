// The instructions of GPUs from Ampere on: copies into shared memory that nobody waits for, and products
// of small bf16 matrices by a warp.

typedef unsigned long long u64;
typedef unsigned int u32;
typedef unsigned short u16;

__device__ __forceinline__ u32 shared_address(const void* pointer) {
  return (u32)__cvta_generic_to_shared(pointer);
}

// Copies 16 bytes, or zeros where `there` is false; nothing is read then.
__device__ __forceinline__ void copy_16(u32 to, const void* from, bool there) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(there ? 16 : 0)
               : "memory");
}

__device__ __forceinline__ void end_of_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }

// Waits until all but the last AHEAD groups of copies are there.
template <int AHEAD>
__device__ __forceinline__ void wait_for_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(AHEAD) : "memory");
}

// Four matrices of 8 by 8; thread i has the address of row i % 8 of matrix i / 8. It gets two neighbours of
// row i / 4 of each.
__device__ __forceinline__ void load_matrices(u32 address, u32 (&matrix)[4]) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(matrix[0]), "=r"(matrix[1]), "=r"(matrix[2]), "=r"(matrix[3])
               : "r"(address)
               : "memory");
}

// The same, but of column i / 4.
__device__ __forceinline__ void load_transposed(u32 address, u32 (&matrix)[4]) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(matrix[0]), "=r"(matrix[1]), "=r"(matrix[2]), "=r"(matrix[3])
               : "r"(address)
               : "memory");
}

// sum[16, 8] += a[16, 16] b[16, 8].
__device__ __forceinline__ void multiply_add(float (&sum)[4], const u32 (&a)[4], u32 b0, u32 b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
