__global__ void layernorm(const float* x, const float* weight, float* out, int rows, int cols) {
    __shared__ float part[8];
    const float* in = x + (size_t)blockIdx.x * cols;
    float sum = 0.0f;
    for (int c = threadIdx.x; c < cols; c += 256) sum += in[c];
    for (int lane = 16; lane > 0; lane /= 2) sum += __shfl_down_sync(0xffffffffu, sum, lane);
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = sum;
    __syncthreads();
    float mean = 0.0f;
    for (int w = 0; w < 8; w++) mean += part[w];
    mean /= cols;
    __syncthreads();
    float squares = 0.0f;
    for (int c = threadIdx.x; c < cols; c += 256) squares += (in[c] - mean) * (in[c] - mean);
    for (int lane = 16; lane > 0; lane /= 2) squares += __shfl_down_sync(0xffffffffu, squares, lane);
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = squares;
    __syncthreads();
    float variance = 0.0f;
    for (int w = 0; w < 8; w++) variance += part[w];
    float scale = rsqrtf(variance / cols + 1e-5f);
    for (int c = threadIdx.x; c < cols; c += 256) out[(size_t)blockIdx.x * cols + c] = (in[c] - mean) * scale * weight[c];
}
