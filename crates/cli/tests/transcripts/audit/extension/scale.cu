#include <torch/extension.h>

__global__ void scale(float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] *= 2.0f;
}

void scale_all(torch::Tensor x) {
    TORCH_CHECK(x.is_contiguous());
    scale<<<(x.numel() + 255) / 256, 256>>>(x.data_ptr<float>(), x.numel());
}
