#define T 16
__global__ void matmul(const float* a, const float* b, float* c, int m, int n, int k) {
    __shared__ float left[T][T], right[T][T];
    int row = blockIdx.y * T + threadIdx.y, col = blockIdx.x * T + threadIdx.x;
    float sum = 0.0f;
    for (int start = 0; start < k; start += T) {
        left[threadIdx.y][threadIdx.x] = row < m && start + threadIdx.x < k ? a[(size_t)row * k + start + threadIdx.x] : 0.0f;
        right[threadIdx.y][threadIdx.x] = col < n && start + threadIdx.y < k ? b[(size_t)(start + threadIdx.y) * n + col] : 0.0f;
        __syncthreads();
        for (int i = 0; i < T; i++) sum += left[threadIdx.y][i] * right[i][threadIdx.x];
        __syncthreads();
    }
    if (row < m && col < n) c[(size_t)row * n + col] = sum;
}
