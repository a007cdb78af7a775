
#include <cooperative_groups.h>
#define CHECK(x) do { x; } while (0) \
    /* __global__ void not_here(int n); */
typedef float floatX; // the type of weights
namespace cg = cooperative_groups;

__global__ void forward(floatX* out, const floatX* inp, int N, int C);

__global__ void forward(floatX* __restrict__ out, const floatX* __restrict__ inp, int N, int C) {
    extern __shared__ float shared[];
    int row = blockIdx.x;
    /* "__global__" in a text */ const char* s = "__global__ void fake(int a) {";
    out[row * C + threadIdx.x] = inp[row];
}

template <typename T, int TILE = 32>
__global__ void __launch_bounds__(TILE * 8, 2) transpose(T* odata, T const *idata, unsigned int width, size_t height) {
    int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
}

extern "C" __global__ __launch_bounds__(256) void reduce(const float4 *x, double out[], long long n, __half scale, unsigned) {
    for (long long i = blockIdx.x * blockDim.x + threadIdx.x; i < n; ) {}
}

__global__ void nothing(void) {}

int main() { forward<<<1, 2>>>(nullptr, nullptr, 3, 4); }
