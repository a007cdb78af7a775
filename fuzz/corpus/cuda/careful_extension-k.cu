#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAGuard.h>
#include <THC/THCAtomics.cuh>
#include <torch/extension.h>
#define PEEK() cudaPeekAtLastError()
#define OK_OR_DIE(x) do { if ((x) != 0) abort(); } while (0)
#if defined(USE_ROCM)
__device__ float sum(float v) { return __shfl_down(v, 16); }
#else
__device__ float sum(float v) { return __shfl_down_sync(0xffffffff, v, 16); }
#endif
__global__ void k(float* x) {
    cudaGridDependencySynchronize();
    x[threadIdx.x] = sum(x[threadIdx.x]);
}
static void launch(float* x, cudaStream_t s) {
    k<<<1, 32, 0, s>>>(x);
}
void run(at::Tensor x) {
    TORCH_CHECK(x.is_contiguous());
    const at::cuda::OptionalCUDAGuard guard(at::device_of(x));
    launch(x.data_ptr<float>(), at::cuda::getCurrentCUDAStream());
    OK_OR_DIE(PEEK());
    (void)cudaGetLastError();
}
