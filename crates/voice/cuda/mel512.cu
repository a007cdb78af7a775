// Log-mel features of 512-point frames, half a warp to two frames.
//
// A real frame is 256 complex points, 16 to a lane. Two 16-point transforms in registers with one
// exchange between them make the transform (256 = 16 x 16): lane l of a half holds the points l + 16 j
// before and the bins l + 16 j after. The bins k and 256 - k, which the split of a packed real transform
// needs together, are then in the lanes l and 16 - l. Powers go through shared memory once to the
// lanes that sum them: between two neighbouring filter centres lies a segment of bins, whose rising
// weights belong to the filter above and whose falling ones to the filter below.
//
// What limits this is the path to shared memory. Two frames share each load of window, roots and weights,
// and the halves of a warp are its even and its odd lanes: neighbours that read the same place are one
// access.

#include "ragged.cuh"

#define THREADS 128
#define HALVES (THREADS / 16)
// Frames of a half-warp at a time, and of a block.
#define TOGETHER 2
#define FRAMES (HALVES * TOGETHER)
#define POINTS 256
// Weight pairs of a lane that have room in shared memory, over all groups of a filter bank.
#define MOST_PAIRS 48
// Rows of 16 points, one more column than needed, so that rows and columns both avoid conflicts, and
// eight more points, so that the two halves of a warp keep to different banks.
#define PITCH 17
#define ROOM (16 * PITCH + 8)
// From a half-warp's room for one of its frames to that for the next.
#define NEXT_ROOM (HALVES * ROOM)
// Blocks that a multiprocessor shall hold, which bounds the registers of a thread.
#define RESIDENT 4

__device__ __forceinline__ float2 turn(float2 value, float2 w) {
  return make_float2(fmaf(-value.y, w.y, value.x * w.x), fmaf(value.y, w.x, value.x * w.y));
}
__device__ __forceinline__ float2 add(float2 a, float2 b) { return make_float2(a.x + b.x, a.y + b.y); }
__device__ __forceinline__ float2 sub(float2 a, float2 b) { return make_float2(a.x - b.x, a.y - b.y); }
// a - i b and a + i b.
__device__ __forceinline__ float2 sub_i(float2 a, float2 b) { return make_float2(a.x + b.y, a.y - b.x); }
__device__ __forceinline__ float2 add_i(float2 a, float2 b) { return make_float2(a.x - b.y, a.y + b.x); }
// By exp(-i pi / 4) and exp(-3 i pi / 4).
__device__ __forceinline__ float2 eighth(float2 a) {
  return make_float2(0.70710678f * (a.x + a.y), 0.70710678f * (a.y - a.x));
}
__device__ __forceinline__ float2 three_eighths(float2 a) {
  return make_float2(0.70710678f * (a.y - a.x), -0.70710678f * (a.x + a.y));
}

__device__ __forceinline__ void four(float2& a, float2& b, float2& c, float2& d) {
  float2 ac = add(a, c), a_c = sub(a, c), bd = add(b, d), b_d = sub(b, d);
  a = add(ac, bd);
  b = sub_i(a_c, b_d);
  c = sub(ac, bd);
  d = add_i(a_c, b_d);
}

// Where sixteen() leaves result k.
#define AT(k) (4 * ((k) % 4) + (k) / 4)

__device__ __forceinline__ void sixteen(float2* z) {
#pragma unroll
  for (int i = 0; i < 4; ++i) four(z[i], z[i + 4], z[i + 8], z[i + 12]);
  const float2 w1 = make_float2(0.92387953f, -0.38268343f);
  const float2 w3 = make_float2(0.38268343f, -0.92387953f);
  const float2 w9 = make_float2(-0.92387953f, 0.38268343f);
  z[5] = turn(z[5], w1);
  z[9] = eighth(z[9]);
  z[13] = turn(z[13], w3);
  z[6] = eighth(z[6]);
  z[10] = make_float2(z[10].y, -z[10].x);
  z[14] = three_eighths(z[14]);
  z[7] = turn(z[7], w3);
  z[11] = three_eighths(z[11]);
  z[15] = turn(z[15], w9);
#pragma unroll
  for (int k = 0; k < 4; ++k) four(z[4 * k], z[4 * k + 1], z[4 * k + 2], z[4 * k + 3]);
}

// Loads that stay where they are written: the compiler would hoist them out of the loop over frames
// and run out of registers. Each offset is a constant in the instruction.
#define LOAD_PAIR(to, base, pairs)                                   \
  asm volatile("ld.shared.v2.f32 {%0, %1}, [%2 + (" #pairs ") * 8];" \
               : "=f"(to.x), "=f"(to.y)                              \
               : "r"(base))
#define FIRST_HALF(F) F(0) F(1) F(2) F(3) F(4) F(5) F(6) F(7)
#define SECOND_HALF(F) F(8) F(9) F(10) F(11) F(12) F(13) F(14) F(15)

// From the lane `i` of the own half.
#define FROM_LANE(value, i) __shfl_sync(0xffffffffu, value, 2 * (i) + (threadIdx.x & 1), 32)
#define EACH_FRAME _Pragma("unroll") for (int f = 0; f < TOGETHER; ++f)

// What the filters' tables say.
struct Filters {
  const u32* firsts;
  const u32* counts;
  const float* slopes;
  u32 filters;
};

struct Shared {
  float2 rooms[FRAMES * ROOM];
  // Window, twiddles between the two transforms, twiddles of the split.
  float2 tables[256 + 256 + 128];
  float4 slopes[16 * MOST_PAIRS / 2];
  u32 firsts[16 * 8];
};

// A frame's points of a lane; a frame beyond a file's ends goes by way of `room`.
__device__ __forceinline__ void load_frame(const Place& place, bool active, float2* room, u32 l,
                                           u32 reflect, float2* z) {
  const float* from = place.samples + place.start;
  if (active && place.start >= 0 && place.start + 2 * POINTS <= place.length) {
    // Where the hop is odd, half of the frames start at an odd sample.
    if (((u64)from & 7) == 0) {
#pragma unroll
      for (int j = 0; j < 16; ++j) z[j] = __ldg((const float2*)from + l + 16 * j);
    } else {
#pragma unroll
      for (int j = 0; j < 16; ++j) {
        z[j].x = __ldg(from + 2 * l + 32 * j);
        z[j].y = __ldg(from + 2 * l + 32 * j + 1);
      }
    }
  } else {
    // A file's ends are rare, so in a loop, and by way of shared memory, which can be indexed in one.
#pragma unroll 1
    for (u32 n = l; n < POINTS; n += 16) {
      long long at = place.start + 2 * n;
      room[n] = active ? make_float2(sample_at(place, at, reflect), sample_at(place, at + 1, reflect))
                         : make_float2(0.0f, 0.0f);
    }
#pragma unroll
    for (int j = 0; j < 16; ++j) z[j] = room[l + 16 * j];
  }
}

template <int GROUPS>
__device__ __forceinline__ void mel_frames(const float* samples, u64 samples_length,
                                           const u64* file_samples, u64 file_samples_length,
                                           const u64* file_frames, u64 file_frames_length,
                                           const float2* window, const float2* root,
                                           const Filters& bank, Shared& shared, float* out,
                                           u32 frames_per_block,
                                           u32 hop, u32 left, u32 reflect, float log2_factor,
                                           float floor_power) {
  float2* tables = shared.tables;
  u32 pairs = 0;
  u32 count[GROUPS];
#pragma unroll
  for (int g = 0; g < GROUPS; ++g) {
    count[g] = 16 * g < bank.filters ? bank.counts[g] : 0;
    pairs += count[g];
  }
  u32 groups = (bank.filters + 15) / 16;
  u32 last_count = bank.counts[groups];
  const float2* last_slopes = (const float2*)bank.slopes + 16 * pairs;
  for (u32 n = threadIdx.x; n < 256; n += THREADS) {
    // The split of a real transform halves; doing it here is free.
    float2 w = window[n];
    tables[n] = make_float2(0.5f * w.x, 0.5f * w.y);
    tables[256 + n] = root[2 * (n % 16) * (n / 16)];
    if (n < 128) tables[512 + n] = root[n];
  }
  // Two pairs of a lane side by side: one load for two bins.
  for (u32 n = threadIdx.x; n < 8 * pairs; n += THREADS) {
    float2 a = ((const float2*)bank.slopes)[n / 16 * 32 + n % 16];
    float2 b = ((const float2*)bank.slopes)[n / 16 * 32 + 16 + n % 16];
    shared.slopes[n] = make_float4(a.x, a.y, b.x, b.y);
  }
  for (u32 n = threadIdx.x; n < 16 * 8; n += THREADS) {
    // Bins past the last are zeros of the table times whatever lies there.
    shared.firsts[n] = n < 16 * groups ? min(bank.firsts[n], 2u * POINTS - MOST_PAIRS) : 0;
  }
  __syncthreads();

  u32 half = threadIdx.x / 32 * 2 + threadIdx.x % 2, l = threadIdx.x % 32 / 2;
  float2* room = shared.rooms + half * ROOM;
  float* power = (float*)room;
  u32 own_tables = (u32)__cvta_generic_to_shared(tables + l);
  u32 partner = (16 - l) % 16;
  u32 last_first = bank.firsts[16 * groups];

  u64 frames = file_frames[file_frames_length - 1];
  u64 base = (u64)blockIdx.x * frames_per_block;
  if (base >= frames) return;
  u32 todo = (u32)(frames - base < frames_per_block ? frames - base : frames_per_block);
  u64 frame = base + half;
  float* to = out + frame * bank.filters + l;
  Place place[TOGETHER];
  EACH_FRAME place[f] = {samples, 0, 0, 0};
  for (u32 done = 0; done < todo; done += FRAMES) {
    bool active[TOGETHER];
    float2 z[TOGETHER][16];
    EACH_FRAME {
      active[f] = done + half + f * HALVES < todo;
      if (active[f]) {
        if (frame + f * HALVES >= place[f].frame_end) {
          active[f] = find_frame(frame + f * HALVES, samples, samples_length, file_samples,
                                 file_samples_length, file_frames, file_frames_length, hop, left,
                                 &place[f]);
          if (!active[f]) place[f].frame_end = 0;
        } else {
          // The next frames of a file need no search.
          place[f].start += hop * FRAMES;
        }
      }
      load_frame(place[f], active[f], room + f * NEXT_ROOM, l, reflect, z[f]);
    }
    __syncwarp();
    float2 w;
#define WEIGH(j)                                        \
  LOAD_PAIR(w, own_tables, 16 * j);                     \
  EACH_FRAME z[f][j] = make_float2(z[f][j].x * w.x, z[f][j].y * w.y);
    FIRST_HALF(WEIGH)
    SECOND_HALF(WEIGH)
    EACH_FRAME sixteen(z[f]);
#define TWIST(k)                         \
  LOAD_PAIR(w, own_tables, 256 + 16 * k); \
  EACH_FRAME room[f * NEXT_ROOM + k * PITCH + l] = turn(z[f][AT(k)], w);
    FIRST_HALF(TWIST)
    SECOND_HALF(TWIST)
    __syncwarp();
    // Result k of lane l went to row k, column l; lane k takes row k.
    EACH_FRAME {
#pragma unroll
      for (int j = 0; j < 16; ++j) z[f][j] = room[f * NEXT_ROOM + l * PITCH + j];
      sixteen(z[f]);
    }
    __syncwarp();
    // Bin k = l + 16 j and its partner 256 - k; lane 0 has its partners itself.
#define SPLIT(j)                                                                              \
  {                                                                                           \
    LOAD_PAIR(w, own_tables, 512 + 16 * j);                                                   \
    EACH_FRAME {                                                                              \
      float2 a = z[f][AT(j)], own = z[f][AT((16 - j) % 16)], b;                               \
      b.x = FROM_LANE(z[f][AT(15 - j)].x, partner);                                           \
      b.y = FROM_LANE(z[f][AT(15 - j)].y, partner);                                           \
      if (l == 0) b = own;                                                                    \
      float2 even = make_float2(a.x + b.x, a.y - b.y);                                        \
      float2 odd = make_float2(a.y + b.y, b.x - a.x);                                         \
      float2 low = make_float2(fmaf(odd.x, w.x, fmaf(-odd.y, w.y, even.x)),                   \
                               fmaf(odd.y, w.x, fmaf(odd.x, w.y, even.y)));                   \
      float2 high = make_float2(fmaf(2.0f, even.x, -low.x), fmaf(2.0f, even.y, -low.y));      \
      power[2 * f * NEXT_ROOM + l + 16 * j] = fmaf(low.y, low.y, low.x * low.x);              \
      power[2 * f * NEXT_ROOM + POINTS - 16 * j - l] = fmaf(high.y, high.y, high.x * high.x); \
    }                                                                                         \
  }
    FIRST_HALF(SPLIT)
    if (l == 0) {
      EACH_FRAME {
        float2 middle = z[f][AT(8)];
        power[2 * f * NEXT_ROOM + POINTS / 2] = 4.0f * fmaf(middle.y, middle.y, middle.x * middle.x);
      }
    }
    __syncwarp();

    float rising[TOGETHER][GROUPS], falling[TOGETHER][GROUPS + 1];
    const float4* slope = shared.slopes + l;
#pragma unroll
    for (int g = 0; g < GROUPS; ++g) {
      EACH_FRAME { rising[f][g] = 0.0f; falling[f][g] = 0.0f; }
      const float* bins = power + shared.firsts[16 * g + l];
#pragma unroll 1
      for (u32 i = 0; i < count[g]; i += 2) {
        float4 v = *slope;
        slope += 16;
        EACH_FRAME {
          float p = bins[2 * f * NEXT_ROOM + i], q = bins[2 * f * NEXT_ROOM + i + 1];
          rising[f][g] = fmaf(p, v.x, rising[f][g]);
          falling[f][g] = fmaf(p, v.y, falling[f][g]);
          rising[f][g] = fmaf(q, v.z, rising[f][g]);
          falling[f][g] = fmaf(q, v.w, falling[f][g]);
        }
      }
    }
    // The last segment's falling side, by all lanes.
    float last[TOGETHER];
    EACH_FRAME last[f] = 0.0f;
#pragma unroll 1
    for (u32 i = l; i < last_count; i += 16) {
      float s = __ldg(&last_slopes[i].y);
      EACH_FRAME last[f] = fmaf(power[2 * f * NEXT_ROOM + last_first + i], s, last[f]);
    }
    EACH_FRAME {
#pragma unroll
      for (int reach = 8; reach > 0; reach /= 2) last[f] += __shfl_xor_sync(0xffffffffu, last[f], 2 * reach);
#pragma unroll
      for (int g = 0; g < GROUPS; ++g) {
        // The falling side of filter m is in segment m + 1: the next lane, or lane 0 of the next group.
        float next = g + 1 < GROUPS ? falling[f][g + 1] : last[f];
        next = FROM_LANE(l == 0 ? next : falling[f][g], (l + 1) % 16);
        if (16 * g + l + 1 == bank.filters) next = last[f];
        float sum = rising[f][g] + next;
        // `sum - sum` carries a NaN past the maximum, as on the CPU.
        if (log2_factor != 0.0f) sum = fmaf(__log2f(fmaxf(sum, floor_power)), log2_factor, sum - sum);
        if (active[f] && 16 * g + l < bank.filters) to[f * HALVES * bank.filters + 16 * g] = sum;
      }
    }
    __syncwarp();
    frame += FRAMES;
    to += (u64)FRAMES * bank.filters;
  }
}

// Mel powers or their logarithms, [frame, filter], of `frames_per_block` frames a block. Segments
// are taken in groups of 16: `firsts` holds the first bin of each, `counts` the even number of
// weight pairs of each group, `slopes` these pairs (rising, falling), pair i of lane l of a group at
// 16 i + l. The segment after the last filter's centre comes after the groups in all three tables
// and has its true number of pairs, 16 to a step. `roots` holds exp(-2 pi i k / 512) as pairs,
// k < 512. log2_factor 0 leaves powers as they are.
extern "C" __global__ void __launch_bounds__(THREADS, RESIDENT)
mel512(const float* samples, u64 samples_length, const u64* file_samples, u64 file_samples_length,
       const u64* file_frames, u64 file_frames_length, const float* window, u64 window_length,
       const float* roots, u64 roots_length, const u32* firsts, u64 firsts_length,
       const u32* counts, u64 counts_length, const float* slopes, u64 slopes_length, float* out,
       u64 out_length, u32 filters, u32 frames_per_block, u32 hop, u32 left, u32 reflect,
       float log2_factor, float floor_power) {
  __shared__ Shared shared;
  u32 groups = (filters + 15) / 16;
  if (blockDim.x != THREADS || groups < 1 || groups > 8) return;
  if (window_length < 2 * POINTS || roots_length < 4 * POINTS || counts_length < groups + 1) return;
  if (firsts_length < 16 * groups + 1 || file_frames_length < 2) return;
  if (file_frames[file_frames_length - 1] > out_length / filters) return;
  u32 pairs = 0;
  for (u32 g = 0; g < groups; ++g) {
    if (counts[g] > MOST_PAIRS || counts[g] % 2 != 0) return;
    pairs += counts[g];
  }
  u32 last_count = counts[groups];
  if (pairs > MOST_PAIRS || last_count > POINTS) return;
  if (firsts[16 * groups] > POINTS || slopes_length < 2 * (u64)(16 * pairs + last_count)) return;
  Filters bank = {firsts, counts, slopes, filters};
  const float2* pairs_of_window = (const float2*)window;
  const float2* root = (const float2*)roots;
  if (groups <= 5) {
    mel_frames<5>(samples, samples_length, file_samples, file_samples_length, file_frames,
                  file_frames_length, pairs_of_window, root, bank, shared, out, frames_per_block, hop,
                  left, reflect, log2_factor, floor_power);
  } else {
    mel_frames<8>(samples, samples_length, file_samples, file_samples_length, file_frames,
                  file_frames_length, pairs_of_window, root, bank, shared, out, frames_per_block, hop,
                  left, reflect, log2_factor, floor_power);
  }
}
