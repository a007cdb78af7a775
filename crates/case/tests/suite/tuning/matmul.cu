// c = a b, row major, n x n; BM x BN of c per block, TM x TN per thread, BK columns at a time.
extern "C" __global__ void __launch_bounds__((BM / TM) * (BN / TN))
matmul(const float* a, const float* b, float* c, int n) {
    __shared__ float left[BK][BM + 1];
    __shared__ float right[BK][BN];
    const int threads = (BM / TM) * (BN / TN);
    const int row0 = blockIdx.y * BM, col0 = blockIdx.x * BN;
    const int ty = threadIdx.x / (BN / TN), tx = threadIdx.x % (BN / TN);
    float sum[TM][TN] = {};
    for (int k0 = 0; k0 < n; k0 += BK) {
        for (int i = threadIdx.x; i < BM * BK; i += threads) {
            int r = i / BK, k = i % BK;
            left[k][r] = row0 + r < n && k0 + k < n ? a[(size_t)(row0 + r) * n + k0 + k] : 0.0f;
        }
        for (int i = threadIdx.x; i < BK * BN; i += threads) {
            int k = i / BN, col = i % BN;
            right[k][col] = k0 + k < n && col0 + col < n ? b[(size_t)(k0 + k) * n + col0 + col] : 0.0f;
        }
        __syncthreads();
#pragma unroll
        for (int k = 0; k < BK; k++) {
            float x[TM], y[TN];
#pragma unroll
            for (int i = 0; i < TM; i++) x[i] = left[k][ty + i * (BM / TM)];
#pragma unroll
            for (int j = 0; j < TN; j++) y[j] = right[k][tx + j * (BN / TN)];
#pragma unroll
            for (int i = 0; i < TM; i++)
#pragma unroll
                for (int j = 0; j < TN; j++) sum[i][j] += x[i] * y[j];
        }
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < TM; i++)
#pragma unroll
        for (int j = 0; j < TN; j++) {
            int r = row0 + ty + i * (BM / TM), col = col0 + tx + j * (BN / TN);
            if (r < n && col < n) c[(size_t)r * n + col] = sum[i][j];
        }
}
