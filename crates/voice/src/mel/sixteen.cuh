// Transforms of the sixteen complex points of a lane, in registers, for several frames at a time. A
// butterfly with a factor is six products and sums; results are left in the order of their bits reversed.

#pragma once

__device__ __forceinline__ float2 add(float2 a, float2 b) { return make_float2(a.x + b.x, a.y + b.y); }
__device__ __forceinline__ float2 sub(float2 a, float2 b) { return make_float2(a.x - b.x, a.y - b.y); }

// a and b become a + w b and a - w b.
__device__ __forceinline__ void cross(float2& a, float2& b, float2 w) {
  float2 sum = make_float2(fmaf(-b.y, w.y, fmaf(b.x, w.x, a.x)), fmaf(b.y, w.x, fmaf(b.x, w.y, a.y)));
  b = make_float2(fmaf(2.0f, a.x, -sum.x), fmaf(2.0f, a.y, -sum.y));
  a = sum;
}
__device__ __forceinline__ void cross(float2& a, float2& b) {
  float2 sum = add(a, b);
  b = sub(a, b);
  a = sum;
}
// The same with -i w and with -i.
__device__ __forceinline__ void cross_i(float2& a, float2& b, float2 w) {
  cross(a, b, make_float2(w.y, -w.x));
}
__device__ __forceinline__ void cross_i(float2& a, float2& b) {
  b = make_float2(b.y, -b.x);
  cross(a, b);
}

// Where result k is left.
#define AT(k) ((k) % 2 * 8 + (k) / 2 % 2 * 4 + (k) / 4 % 2 * 2 + (k) / 8)

// What is left of a transform after its first stage.
__device__ __forceinline__ void sixteen(float2* z) {
  const float2 w1 = make_float2(0.92387953f, -0.38268343f);
  const float2 w2 = make_float2(0.70710678f, -0.70710678f);
  const float2 w3 = make_float2(0.38268343f, -0.92387953f);
#pragma unroll
  for (int j = 0; j < 4; ++j) {
    cross(z[j], z[j + 4]);
    cross_i(z[j + 8], z[j + 12]);
  }
#pragma unroll
  for (int j = 0; j < 2; ++j) {
    cross(z[j], z[j + 2]);
    cross_i(z[j + 4], z[j + 6]);
    cross(z[j + 8], z[j + 10], w2);
    cross_i(z[j + 12], z[j + 14], w2);
  }
  cross(z[0], z[1]);
  cross_i(z[2], z[3]);
  cross(z[4], z[5], w2);
  cross_i(z[6], z[7], w2);
  cross(z[8], z[9], w1);
  cross_i(z[10], z[11], w1);
  cross(z[12], z[13], w3);
  cross_i(z[14], z[15], w3);
}

// The transform of z[j] v^j needs no products before it: every stage turns by a power of v as well. Its
// eight factors are v to these powers, turned by these parts of a whole.
#define TURNED_FACTORS 8
__constant__ const u32 TURNED_POWERS[TURNED_FACTORS] = {8, 4, 2, 2, 1, 1, 1, 1};
__constant__ const u32 TURNED_SIXTEENTHS[TURNED_FACTORS] = {0, 0, 0, 2, 0, 2, 1, 3};

// Stage by stage, frame by frame; LOAD(w, i) makes w factor i of the lane.
#define TURNED_SIXTEEN(z, FRAMES, LOAD)                                            \
  {                                                                                \
    float2 w, x;                                                                   \
    LOAD(w, 0);                                                                    \
    _Pragma("unroll") for (int n = 0; n < 8 * FRAMES; ++n)                         \
      cross(z[n / 8][n % 8], z[n / 8][n % 8 + 8], w);                              \
    LOAD(w, 1);                                                                    \
    _Pragma("unroll") for (int n = 0; n < 4 * FRAMES; ++n) {                       \
      float2* y = z[n / 4] + n % 4;                                                \
      cross(y[0], y[4], w);                                                        \
      cross_i(y[8], y[12], w);                                                     \
    }                                                                              \
    LOAD(w, 2);                                                                    \
    LOAD(x, 3);                                                                    \
    _Pragma("unroll") for (int n = 0; n < 2 * FRAMES; ++n) {                       \
      float2* y = z[n / 2] + n % 2;                                                \
      cross(y[0], y[2], w);                                                        \
      cross_i(y[4], y[6], w);                                                      \
      cross(y[8], y[10], x);                                                       \
      cross_i(y[12], y[14], x);                                                    \
    }                                                                              \
    LOAD(w, 4);                                                                    \
    LOAD(x, 5);                                                                    \
    _Pragma("unroll") for (int n = 0; n < FRAMES; ++n) {                           \
      cross(z[n][0], z[n][1], w);                                                  \
      cross_i(z[n][2], z[n][3], w);                                                \
      cross(z[n][4], z[n][5], x);                                                  \
      cross_i(z[n][6], z[n][7], x);                                                \
    }                                                                              \
    LOAD(w, 6);                                                                    \
    LOAD(x, 7);                                                                    \
    _Pragma("unroll") for (int n = 0; n < FRAMES; ++n) {                           \
      cross(z[n][8], z[n][9], w);                                                  \
      cross_i(z[n][10], z[n][11], w);                                              \
      cross(z[n][12], z[n][13], x);                                                \
      cross_i(z[n][14], z[n][15], x);                                              \
    }                                                                              \
  }
