#define CUDA_OK(x) do { if ((x) != cudaSuccess) abort(); } while (0)
__device__ float sum(float v) { return v + __shfl_down(v, 16); }
void run(float* p) {
    CUDA_OK(cudaMalloc(&p, 4));
    CUDA_OK(cudaThreadSynchronize());
    cudaMemset(p, 0, 4);
    CUDA_OK(cudaSetDevice(0));
}
