__global__ void histogram(const int* values, int* counts, int n) {
    __shared__ int local[100];
    for (int b = threadIdx.x; b < 100; b += blockDim.x) local[b] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&local[values[i]], 1);
    __syncthreads();
    for (int b = threadIdx.x; b < 100; b += blockDim.x) atomicAdd(&counts[b], local[b]);
}
