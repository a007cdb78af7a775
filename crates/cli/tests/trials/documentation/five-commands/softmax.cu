extern "C" __global__ void softmax(const float* x, float* y, int rows, int cols) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    const float* in = x + (size_t)row * cols;
    float* out = y + (size_t)row * cols;
    float most = in[0];
    for (int i = 1; i < cols; i++) most = fmaxf(most, in[i]);
    float sum = 0.0f;
    for (int i = 0; i < cols; i++) sum += expf(in[i] - most);
    for (int i = 0; i < cols; i++) out[i] = expf(in[i] - most) / sum;
}
