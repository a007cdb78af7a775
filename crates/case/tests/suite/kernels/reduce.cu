__global__ void reduce(const float* x, float* total, int n) {
    float sum = 0.0f;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) sum += x[i];
    for (int lane = 16; lane > 0; lane /= 2) sum += __shfl_down_sync(0xffffffffu, sum, lane);
    if (threadIdx.x % 32 == 0) atomicAdd(total, sum);
}
