// y_i = x_i ^ key_(i mod K) in place. The pattern is the key repeated to a whole number of 16-byte
// groups; what is left over at the end of the data is done byte by byte.

typedef unsigned long long u64;
typedef unsigned int u32;

extern "C" __global__ void xor_keyed(unsigned char* data, u64 data_length,
                                     const unsigned char* pattern, u64 pattern_length) {
  u32 period = (u32)(pattern_length / 16);
  if (period == 0 || pattern_length % 16 != 0 || pattern_length >= 1ull << 32) return;
  u64 groups = data_length / 16;
  uint4* wide = (uint4*)data;
  const uint4* key = (const uint4*)pattern;
  u64 stride = (u64)gridDim.x * blockDim.x;
  u64 first = (u64)blockIdx.x * blockDim.x + threadIdx.x;
  u32 place = (u32)(first % period), advance = (u32)(stride % period);
  for (u64 group = first; group < groups; group += stride) {
    uint4 value = wide[group];
    uint4 mask = __ldg(key + place);
    value.x ^= mask.x;
    value.y ^= mask.y;
    value.z ^= mask.z;
    value.w ^= mask.w;
    wide[group] = value;
    place += advance;
    if (place >= period) place -= period;
  }
  for (u64 at = groups * 16 + first; at < data_length; at += stride)
    data[at] ^= pattern[at % pattern_length];
}
