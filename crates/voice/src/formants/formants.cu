// Formants, a warp to two frames: linear prediction by Burg's method with all lanes to a frame, then the
// roots of both polynomials side by side, half a warp to each, a lane to a root.
//
// All in double precision, as on the CPU: nearly silent frames have poles so near the unit circle that
// single precision would move their width by more than it is.

#include "ragged.cuh"

#define WARPS 4
// Samples of a frame that a lane holds, one after the other.
#define OWN 20
// Roots of a polynomial at most: the lanes of half a warp.
#define ROOTS 16
#define ALL 0xffffffffu

struct Complex {
  double re, im;
};
__device__ __forceinline__ Complex times(Complex a, Complex b) {
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}
__device__ __forceinline__ Complex over(Complex a, Complex b) {
  double scale = 1.0 / (b.re * b.re + b.im * b.im);
  return {(a.re * b.re + a.im * b.im) * scale, (a.im * b.re - a.re * b.im) * scale};
}

__device__ __forceinline__ double sum_of_lanes(double x) {
#pragma unroll
  for (int reach = 16; reach > 0; reach /= 2) x += __shfl_xor_sync(ALL, x, reach);
  return x;
}

// Coefficient `lane + 1` of the prediction of `present` samples under the window; 0 in lanes beyond the
// order and throughout for silence. `follows` is whether there is a sample before the first.
__device__ double burg(const float* samples, bool follows, u32 present, const double* window,
                       double emphasis, u32 order, u32 lane) {
  double forward[OWN], backward[OWN];
  u32 first = OWN * lane;
#pragma unroll
  for (int i = 0; i < OWN; ++i) {
    double x = 0.0;
    if (first + i < present) {
      const float* here = samples + first + i;
      x = *here;
      // As the CPU rounds it.
      if (follows || first + i > 0) x = __dsub_rn(x, __dmul_rn(emphasis, (double)here[-1]));
      x *= window[first + i];
    }
    forward[i] = backward[i] = x;
  }
  double a = 0.0;
  for (u32 m = 0; m < order && m + 1 < present; ++m) {
    // Sample n forward goes with sample n - 1 backward, for m < n < present.
    double before = __shfl_up_sync(ALL, backward[OWN - 1], 1);
    double cross = 0.0, energy = 0.0;
#pragma unroll
    for (int i = 0; i < OWN; ++i) {
      double f = forward[i], b = i > 0 ? backward[i - 1] : before;
      if (first + i > m && first + i < present) {
        cross += f * b;
        energy += f * f + b * b;
      }
    }
    cross = sum_of_lanes(cross);
    energy = sum_of_lanes(energy);
    if (energy <= 2.2250738585072014e-308) break;
    double reflection = -2.0 * cross / energy;
    double mirrored = __shfl_sync(ALL, a, m > lane ? m - 1 - lane : lane);
    if (lane < m) a += reflection * mirrored;
    if (lane == m) a = reflection;
#pragma unroll
    for (int i = OWN - 1; i >= 0; --i) {
      double f = forward[i], b = i > 0 ? backward[i - 1] : before;
      forward[i] = f + reflection * b;
      backward[i] = b + reflection * f;
    }
  }
  return a;
}

// The root of this lane, of half a warp's polynomial whose coefficients its lanes hold, by the
// simultaneous iteration of Aberth and Ehrlich. Lanes from `order` on follow without having one.
__device__ Complex root(double a, u32 order, u32 lane) {
  u32 k = lane % ROOTS;
  double angle = 6.283185307179586 * (k + 0.25) / order + 0.1;
  Complex z = {0.9 * cos(angle), 0.9 * sin(angle)};
  for (int round = 0; round < 100; ++round) {
    Complex p = {1.0, 0.0}, slope = {0.0, 0.0}, others = {0.0, 0.0};
    for (u32 j = 0; j < order; ++j) {
      Complex rise = times(slope, z);
      slope = {rise.re + p.re, rise.im + p.im};
      p = times(p, z);
      p.re += __shfl_sync(ALL, a, j, ROOTS);
      Complex other = {__shfl_sync(ALL, z.re, j, ROOTS), __shfl_sync(ALL, z.im, j, ROOTS)};
      if (j != k) {
        Complex inverse = over({1.0, 0.0}, {z.re - other.re, z.im - other.im});
        others = {others.re + inverse.re, others.im + inverse.im};
      }
    }
    Complex newton = over(p, slope), product = times(newton, others);
    Complex step = over(newton, {1.0 - product.re, -product.im});
    double square = step.re * step.re + step.im * step.im;
    // On a root already, or where two meet, there is no step.
    bool moves = k < order && square <= 1.7976931348623157e308;
    if (moves) z = {z.re - step.re, z.im - step.im};
    // What is left after a step as short as this is below rounding.
    if (!__any_sync(ALL, moves && square >= 1e-20)) break;
  }
  return z;
}

// `count` pairs of frequency and width to a frame, lowest first, 0 where there are fewer. `frames` holds in
// threes: where a frame's file begins, where the frame begins and where it ends, in samples at `rate`. What
// is nearer than `edge` to 0 Hz or to half the rate is no formant.
extern "C" __global__ void __launch_bounds__(32 * WARPS)
formants(const float* samples, u64 samples_length, const u64* frames, u64 frames_length, const double* window,
         u64 window_length, float* out, u64 out_length, u32 count, double emphasis, double rate,
         double edge) {
  u32 order = 2 * count;
  u64 all = frames_length / 3;
  if (blockDim.x != 32 * WARPS || count < 1 || order > ROOTS) return;
  if (window_length > OWN * 32 || out_length / order < all) return;
  u32 lane = threadIdx.x % 32, half = lane / ROOTS, k = lane % ROOTS;
  u64 stride = 2 * (u64)gridDim.x * WARPS;
  for (u64 pair = 2 * ((u64)blockIdx.x * WARPS + threadIdx.x / 32); pair < all; pair += stride) {
    double a = 0.0;
    for (u32 which = 0; which < 2 && pair + which < all; ++which) {
      const u64* frame = frames + 3 * (pair + which);
      u64 file = frame[0], start = frame[1], end = frame[2];
      if (file > start || start > end || end > samples_length || end - start > window_length) continue;
      double found = burg(samples + start, start > file, (u32)(end - start), window, emphasis, order, lane);
      double moved = __shfl_sync(ALL, found, k);
      if (half == which) a = moved;
    }
    bool sounds = __ballot_sync(ALL, a != 0.0) >> (ROOTS * half) & 0xffffu;
    Complex z = root(a, order, lane);
    // A pole outside the circle sounds as the one that it mirrors.
    double radius = hypot(z.re, z.im);
    radius = fmin(radius, 1.0 / radius);
    float frequency = (float)(atan2(z.im, z.re) * rate / 6.283185307179586);
    float width = (float)(-log(radius) * rate / 3.141592653589793);
    bool kept = sounds && k < order && z.im > 0.0 && frequency >= edge && frequency <= rate / 2.0 - edge;
    u32 rank = 0, formants = 0;
    for (u32 j = 0; j < order; ++j) {
      float other = __shfl_sync(ALL, frequency, j, ROOTS);
      bool counts = __shfl_sync(ALL, (int)kept, j, ROOTS);
      formants += counts;
      rank += counts && (other < frequency || (other == frequency && j < k));
    }
    if (pair + half >= all) continue;
    float2* to = (float2*)out + (pair + half) * count;
    if (kept && rank < count) to[rank] = make_float2(frequency, width);
    if (k < count && k >= formants) to[k] = make_float2(0.0f, 0.0f);
  }
}
