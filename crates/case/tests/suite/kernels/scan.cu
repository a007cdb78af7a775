__global__ void scan(const float* x, float* out, int rows, int cols) {
    __shared__ float part[256];
    const float* in = x + (size_t)blockIdx.x * cols;
    float carry = 0.0f;
    for (int start = 0; start < cols; start += 256) {
        int c = start + threadIdx.x;
        part[threadIdx.x] = c < cols ? in[c] : 0.0f;
        __syncthreads();
        for (int step = 1; step < 256; step *= 2) {
            float other = threadIdx.x >= step ? part[threadIdx.x - step] : 0.0f;
            __syncthreads();
            part[threadIdx.x] += other;
            __syncthreads();
        }
        if (c < cols) out[(size_t)blockIdx.x * cols + c] = carry + part[threadIdx.x];
        carry += part[255];
        __syncthreads();
    }
}
