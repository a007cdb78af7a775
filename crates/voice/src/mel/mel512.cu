// Log-mel features of 512-point frames, half a warp to two frames.
//
// A real frame is 256 complex points, 16 to a lane. Two 16-point transforms in registers with one
// exchange between them make the transform (256 = 16 x 16): lane l of a half holds the points l + 16 j
// before and the bins l + 16 j after. The bins k and 256 - k, which the split of a packed real transform
// needs together, are then in the lanes l and 16 - l. Powers go through shared memory once to the
// lanes that sum them, two frames side by side: between two neighbouring filter centres lies a segment of
// bins, whose rising weights belong to the filter above and whose falling ones to the filter below.
//
// What limits this is the path to shared memory. Two frames share each load of window, factors, weights
// and powers, window and factors are part of the butterflies, and the halves of a warp are its even and its
// odd lanes: neighbours that read the same place are one access.

#include "ragged.cuh"
#include "sixteen.cuh"

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
// A bank of 80 filters, a segment to a lane, has no more pairs than these in any of its groups, whose loops
// are then written out.
#define USUAL_FILTERS 80
#define USUAL_PAIRS(group) ((group) == 0 ? 2 : (group) < 3 ? 4 : (group) == 3 ? 6 : 10)
#define USUAL_LAST 16

// Loads that stay where they are written: the compiler would hoist them out of the loop over frames
// and run out of registers. Each offset is a constant in the instruction.
#define LOAD_PAIR(to, base, pairs)                                   \
  asm volatile("ld.shared.v2.f32 {%0, %1}, [%2 + (" #pairs ") * 8];" \
               : "=f"(to.x), "=f"(to.y)                              \
               : "r"(base))
#define EIGHT_TIMES(F) F(0) F(1) F(2) F(3) F(4) F(5) F(6) F(7)

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
  // Window, factors of the second transform, twiddles of the split.
  float2 tables[256 + 16 * TURNED_FACTORS + 128];
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
    // By way of shared memory, which can be indexed in a loop.
    Place inside = place;
    if (!active) inside.length = 0;
#pragma unroll 4
    for (u32 n = l; n < POINTS; n += 16) {
      u64 at = place.start + 2 * n, end = inside.length;
      room[n].x = at < end ? place.samples[at] : 0.0f;
      room[n].y = at + 1 < end ? place.samples[at + 1] : 0.0f;
    }
    if (reflect) {
#pragma unroll 1
      for (u32 n = 2 * l; n < 2 * POINTS; n += n % 2 == 0 ? 1 : 31) {
        long long at = place.start + n;
        if ((u64)at >= (u64)inside.length) ((float*)room)[n] = sample_at(inside, at, reflect);
      }
    }
#pragma unroll
    for (int j = 0; j < 16; ++j) z[j] = room[l + 16 * j];
  }
}

// Copies a group's pairs to shared memory, two of a lane side by side: one load for two bins. Lanes whose
// `room` pairs would reach past the last bin, and the zero behind it, begin earlier.
__device__ __forceinline__ void copy_group(const u32* firsts, const float2* slopes, u32 count, u32 room,
                                           u32* to_firsts, float4* to_slopes) {
  for (u32 n = threadIdx.x; n < 8 * room; n += THREADS) {
    u32 l = n % 16, first = min(firsts[l], POINTS) & ~1u, end = first + room;
    u32 lead = end > POINTS + 2 ? end - POINTS - 2 : 0;
    float2 pair[2];
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      u32 from = n / 16 * 2 + i - lead;
      pair[i] = from < count ? slopes[16 * from + l] : make_float2(0.0f, 0.0f);
    }
    to_slopes[n] = make_float4(pair[0].x, pair[0].y, pair[1].x, pair[1].y);
    if (n < 16) to_firsts[l] = first - lead;
  }
}

// log2 of what is no smaller than the smallest normal number.
__device__ __forceinline__ float log2_of_normal(float x) {
  float y;
  asm("lg2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

template <bool USUAL>
__device__ __forceinline__ void mel_frames(const float* samples, u64 samples_length,
                                           const u64* file_samples, u64 file_samples_length,
                                           const u64* file_frames, u64 file_frames_length,
                                           const float2* window, const float2* root,
                                           const Filters& bank, Shared& shared, float* out,
                                           u32 frames_per_block, u32 hop, u32 left, u32 reflect,
                                           float log2_factor, float floor_power) {
  constexpr int GROUPS = USUAL ? 5 : 8;
  u32 filters = USUAL ? USUAL_FILTERS : bank.filters, groups = (filters + 15) / 16;
  const float2* slopes = (const float2*)bank.slopes;
  u32 rooms[GROUPS], pairs = 0;
#pragma unroll
  for (int g = 0; g < GROUPS; ++g) {
    u32 count = g < groups ? bank.counts[g] : 0;
    rooms[g] = USUAL ? USUAL_PAIRS(g) : count;
    u32 before = 0;
#pragma unroll
    for (int i = 0; i < g; ++i) before += rooms[i];
    copy_group(bank.firsts + 16 * g, slopes + 16 * pairs, count, rooms[g], shared.firsts + 16 * g,
               shared.slopes + 8 * before);
    pairs += count;
  }
  u32 last_first = bank.firsts[16 * groups], last_count = bank.counts[groups];
  const float2* last_slopes = slopes + 16 * pairs;
  float2* tables = shared.tables;
  for (u32 n = threadIdx.x; n < 256; n += THREADS) {
    // The split of a real transform halves; doing it here is free.
    float2 w = window[n];
    tables[n] = make_float2(0.5f * w.x, 0.5f * w.y);
    if (n < 16 * TURNED_FACTORS) {
      tables[256 + n] = root[2 * TURNED_POWERS[n / 16] * (n % 16) + 32 * TURNED_SIXTEENTHS[n / 16]];
    }
    if (n < 128) tables[384 + n] = root[n];
  }
  __syncthreads();

  u32 half = threadIdx.x / 32 * 2 + threadIdx.x % 2, l = threadIdx.x % 32 / 2;
  float2* room = shared.rooms + half * ROOM;
  u32 own_tables = (u32)__cvta_generic_to_shared(tables + l);
  u32 partner = (16 - l) % 16;
  float last_slope = l < last_count ? last_slopes[l].y : 0.0f;

  u64 frames = file_frames[file_frames_length - 1];
  u64 base = (u64)blockIdx.x * frames_per_block;
  if (base >= frames) return;
  u32 todo = (u32)(frames - base < frames_per_block ? frames - base : frames_per_block);
  u64 frame = base + half;
  float* to = out + frame * filters + l;
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
    float2 w, x;
    // The window with the first stage.
#define WEIGH(j)                                                               \
  LOAD_PAIR(w, own_tables, 16 * j);                                            \
  LOAD_PAIR(x, own_tables, 16 * j + 128);                                      \
  EACH_FRAME {                                                                 \
    float2 a = make_float2(z[f][j].x * w.x, z[f][j].y * w.y), b = z[f][j + 8]; \
    z[f][j] = make_float2(fmaf(b.x, x.x, a.x), fmaf(b.y, x.y, a.y));           \
    z[f][j + 8] = make_float2(fmaf(-b.x, x.x, a.x), fmaf(-b.y, x.y, a.y));     \
  }
    EIGHT_TIMES(WEIGH)
    EACH_FRAME {
      sixteen(z[f]);
#pragma unroll
      for (int k = 0; k < 16; ++k) room[f * NEXT_ROOM + k * PITCH + l] = z[f][AT(k)];
    }
    __syncwarp();
    // Result k of lane l went to row k, column l; lane k takes row k.
    EACH_FRAME {
#pragma unroll
      for (int j = 0; j < 16; ++j) z[f][j] = room[f * NEXT_ROOM + l * PITCH + j];
    }
#define LOAD_FACTOR(to, i) LOAD_PAIR(to, own_tables, 256 + 16 * i)
    TURNED_SIXTEEN(z, TOGETHER, LOAD_FACTOR)
    __syncwarp();
    // Bin k = l + 16 j and its partner 256 - k; lane 0 has its partners itself.
#define SPLIT(j)                                                                         \
  {                                                                                      \
    float lows[TOGETHER], highs[TOGETHER];                                               \
    LOAD_PAIR(w, own_tables, 384 + 16 * j);                                              \
    EACH_FRAME {                                                                         \
      float2 a = z[f][AT(j)], own = z[f][AT((16 - j) % 16)], b;                          \
      b.x = FROM_LANE(z[f][AT(15 - j)].x, partner);                                      \
      b.y = FROM_LANE(z[f][AT(15 - j)].y, partner);                                      \
      if (l == 0) b = own;                                                               \
      float2 even = make_float2(a.x + b.x, a.y - b.y);                                   \
      float2 odd = make_float2(a.y + b.y, b.x - a.x);                                    \
      float2 low = make_float2(fmaf(odd.x, w.x, fmaf(-odd.y, w.y, even.x)),              \
                               fmaf(odd.y, w.x, fmaf(odd.x, w.y, even.y)));              \
      float2 high = make_float2(fmaf(2.0f, even.x, -low.x), fmaf(2.0f, even.y, -low.y)); \
      lows[f] = fmaf(low.y, low.y, low.x * low.x);                                       \
      highs[f] = fmaf(high.y, high.y, high.x * high.x);                                  \
    }                                                                                    \
    room[16 * j + l] = make_float2(lows[0], lows[1]);                                    \
    room[POINTS - 16 * j - l] = make_float2(highs[0], highs[1]);                         \
  }
    EIGHT_TIMES(SPLIT)
    if (l == 0) {
      float2 a = z[0][AT(8)], b = z[1][AT(8)];
      room[POINTS / 2] = make_float2(4.0f * fmaf(a.y, a.y, a.x * a.x), 4.0f * fmaf(b.y, b.y, b.x * b.x));
      room[POINTS + 1] = make_float2(0.0f, 0.0f);
    }
    __syncwarp();

    float rising[TOGETHER][GROUPS], falling[TOGETHER][GROUPS];
    const float4* slope = shared.slopes + l;
#pragma unroll
    for (int g = 0; g < GROUPS; ++g) {
      EACH_FRAME { rising[f][g] = 0.0f; falling[f][g] = 0.0f; }
      // Two bins of two frames are one load.
      const float4* bins = (const float4*)(room + shared.firsts[16 * g + l]);
      auto add_two = [&](u32 i) {
        float4 p = bins[i / 2], v = *slope;
        slope += 16;
        rising[0][g] = fmaf(p.z, v.z, fmaf(p.x, v.x, rising[0][g]));
        falling[0][g] = fmaf(p.z, v.w, fmaf(p.x, v.y, falling[0][g]));
        rising[1][g] = fmaf(p.w, v.z, fmaf(p.y, v.x, rising[1][g]));
        falling[1][g] = fmaf(p.w, v.w, fmaf(p.y, v.y, falling[1][g]));
      };
      if (USUAL) {
#pragma unroll
        for (int i = 0; i < USUAL_PAIRS(g); i += 2) add_two(i);
      } else {
#pragma unroll 1
        for (u32 i = 0; i < rooms[g]; i += 2) add_two(i);
      }
    }
    // The last segment's falling side, by all lanes.
    float2 p = room[min(last_first + l, (u32)POINTS)];
    float last[TOGETHER] = {p.x * last_slope, p.y * last_slope};
    if (!USUAL) {
#pragma unroll 1
      for (u32 i = 16 + l; i < last_count; i += 16) {
        float s = __ldg(&last_slopes[i].y);
        p = room[last_first + i];
        last[0] = fmaf(p.x, s, last[0]);
        last[1] = fmaf(p.y, s, last[1]);
      }
    }
    EACH_FRAME {
#pragma unroll
      for (int reach = 8; reach > 0; reach /= 2) last[f] += __shfl_xor_sync(0xffffffffu, last[f], 2 * reach);
#pragma unroll
      for (int g = 0; g < GROUPS; ++g) {
        // The falling side of filter m is in segment m + 1: the next lane, or lane 0 of the next group.
        float next = g + 1 < GROUPS ? falling[f][g + 1] : last[f];
        next = FROM_LANE(l == 0 ? next : falling[f][g], (l + 1) % 16);
        if (!USUAL && 16 * g + l + 1 == filters) next = last[f];
        float sum = rising[f][g] + next;
        // `sum - sum` carries a NaN past the maximum, as on the CPU.
        if (log2_factor != 0.0f) {
          sum = fmaf(log2_of_normal(fmaxf(sum, floor_power)), log2_factor, sum - sum);
        }
        if (active[f] && 16 * g + l < filters) to[f * HALVES * filters + 16 * g] = sum;
      }
    }
    __syncwarp();
    frame += FRAMES;
    to += (u64)FRAMES * filters;
  }
}

// Mel powers or their logarithms, [frame, filter], of `frames_per_block` frames a block. Segments
// are taken in groups of 16: `firsts` holds the first bin of each, an even one, `counts` the even number of
// weight pairs of each group, `slopes` these pairs (rising, falling), pair i of lane l of a group at
// 16 i + l. The segment after the last filter's centre comes after the groups in all three tables
// and has its true number of pairs, 16 to a step. `roots` holds exp(-2 pi i k / 512) as pairs,
// k < 512. log2_factor 0 leaves powers as they are; otherwise the floor is a normal number.
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
  bool usual = filters == USUAL_FILTERS;
  for (u32 g = 0; g < groups; ++g) {
    if (counts[g] > MOST_PAIRS || counts[g] % 2 != 0) return;
    pairs += counts[g];
    usual = usual && counts[g] <= USUAL_PAIRS(g);
  }
  u32 last_first = firsts[16 * groups], last_count = counts[groups];
  if (pairs > MOST_PAIRS || last_first > POINTS || last_count > POINTS + 1 - last_first) return;
  if (slopes_length < 2 * (u64)(16 * pairs + last_count)) return;
  usual = usual && last_count <= USUAL_LAST;
  Filters bank = {firsts, counts, slopes, filters};
  const float2* pairs_of_window = (const float2*)window;
  const float2* root = (const float2*)roots;
  if (usual) {
    mel_frames<true>(samples, samples_length, file_samples, file_samples_length, file_frames,
                     file_frames_length, pairs_of_window, root, bank, shared, out, frames_per_block, hop,
                     left, reflect, log2_factor, floor_power);
  } else {
    mel_frames<false>(samples, samples_length, file_samples, file_samples_length, file_frames,
                      file_frames_length, pairs_of_window, root, bank, shared, out, frames_per_block,
                      hop, left, reflect, log2_factor, floor_power);
  }
}
