#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void scale(float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] *= 2.0f;
}

void scale_all(torch::Tensor input) {
    int n = input.numel();
    dim3 grid((n + 255) / 256), block(256);
    scale<<<grid, block, 0>>>(input.data_ptr<float>(), n);
    cudaMemset(nullptr, 0, 0);
}
