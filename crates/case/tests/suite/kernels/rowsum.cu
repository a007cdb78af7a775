__global__ void rowsum(const float* x, float* sums, int rows, int cols) {
    __shared__ float part[256];
    int row = blockIdx.x;
    float sum = 0.0f;
    for (int c = threadIdx.x; c < cols; c += blockDim.x) sum += x[(size_t)row * cols + c];
    part[threadIdx.x] = sum;
    __syncthreads();
    for (int half = blockDim.x / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) sums[row] = part[0];
}
