__global__ void softmax(const float* x, float* out, int rows, int cols) {
    __shared__ float part[128];
    const float* in = x + (size_t)blockIdx.x * cols;
    float most = -3.402823466e+38f;
    for (int c = threadIdx.x; c < cols; c += 128) most = fmaxf(most, in[c]);
    part[threadIdx.x] = most;
    __syncthreads();
    for (int half = 64; half > 0; half /= 2) {
        if (threadIdx.x < half) part[threadIdx.x] = fmaxf(part[threadIdx.x], part[threadIdx.x + half]);
        __syncthreads();
    }
    most = part[0];
    __syncthreads();
    float sum = 0.0f;
    for (int c = threadIdx.x; c < cols; c += 128) sum += expf(in[c] - most);
    part[threadIdx.x] = sum;
    __syncthreads();
    for (int half = 64; half > 0; half /= 2) {
        if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
        __syncthreads();
    }
    sum = part[0];
    for (int c = threadIdx.x; c < cols; c += 128) out[(size_t)blockIdx.x * cols + c] = expf(in[c] - most) / sum;
}
