extern "C" __global__ void row_mean_of_softsign_hard_swish_softplus(const float* __restrict__ x, const float* __restrict__ weight, float* __restrict__ out, int rows, int cols) {
    int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    int lane = threadIdx.x % 32;
    if (row >= rows) return;
    float total = 0.0f;
    for (int col = lane; col < cols; col += 32) {
        float v = x[(size_t)row * cols + col] * weight[col];
        v = v / (1.0f + fabsf(v));
        v = v * fminf(fmaxf(v + 3.0f, 0.0f), 6.0f) / 6.0f;
        total = total + v;
    }
    for (int offset = 16; offset > 0; offset /= 2) {
        float other = __shfl_xor_sync(0xffffffffu, total, offset);
        total = total + other;
    }
    total = total / (float)cols;
    total = fmaxf(total, 0.0f) + logf(1.0f + expf(-fabsf(total)));
    if (lane == 0) out[row] = total;
}
