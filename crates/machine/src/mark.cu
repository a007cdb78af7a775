// A kernel that does next to nothing: what is left is the launch. One thread leaves a mark, so that
// a launch that did not happen shows.

typedef unsigned long long u64;

extern "C" __global__ void mark(u64* marks, u64 marks_length, u64 index, u64 value) {
  if (blockIdx.x == 0 && threadIdx.x == 0 && index < marks_length) {
    marks[index] = value;
  }
}
