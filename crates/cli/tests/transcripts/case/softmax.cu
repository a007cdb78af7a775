#include <cuda_runtime.h>
#include <stdio.h>
// one block per row
__global__ void softmax_forward(float* out, const float* inp, int N, int C) {
    extern __shared__ float shared[];
    int row = blockIdx.x;
    const float* x = inp + row * C;
    float* y = out + row * C;
    float m = -INFINITY;
    for (int i = threadIdx.x; i < C; i += blockDim.x) m = fmaxf(m, x[i]);
    shared[threadIdx.x] = m;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s /= 2) {
        if (threadIdx.x < s) shared[threadIdx.x] = fmaxf(shared[threadIdx.x], shared[threadIdx.x + s]);
        __syncthreads();
    }
    m = shared[0];
    __syncthreads();
    float sum = 0.0f;
    for (int i = threadIdx.x; i < C; i += blockDim.x) { float e = expf(x[i] - m); y[i] = e; sum += e; }
    shared[threadIdx.x] = sum;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s /= 2) {
        if (threadIdx.x < s) shared[threadIdx.x] += shared[threadIdx.x + s];
        __syncthreads();
    }
    sum = shared[0];
    for (int i = threadIdx.x; i < C; i += blockDim.x) y[i] /= sum;
}
int main() { return 0; }
