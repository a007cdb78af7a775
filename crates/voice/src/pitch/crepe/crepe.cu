// What comes before and after the layers of CREPE: frames, and the path through the probabilities of pitches.

typedef unsigned long long u64;
typedef unsigned int u32;
typedef unsigned short u16;

#define FRAME 1024
#define PITCHES 360
// Frames whose samples deviate less than this are silent.
#define LEAST_DEVIATION 1e-10f

__device__ __forceinline__ u16 half(float x) {
  u16 half;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(half) : "f"(x));
  return half;
}

__device__ __forceinline__ float sum_of_warp(float x) {
  for (u32 distance = 16; distance > 0; distance /= 2) x += __shfl_xor_sync(~0u, x, distance);
  return x;
}

// Frames of samples from `starts` on, those from number `first` on, each with a mean of 0 and a deviation of 1, in
// half precision. A warp to a frame.
extern "C" __global__ void __launch_bounds__(256)
crepe_frames(const float* signal, u64 signal_length, const u64* starts, u64 starts_length, u16* out,
             u64 out_length, u64 first, u32 frames) {
  u32 frame = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32, lane = threadIdx.x % 32;
  if (frame >= frames || first + frame >= starts_length || (frame + 1ull) * FRAME > out_length) return;
  u64 start = starts[first + frame];
  if (start + FRAME > signal_length) return;
  float2 x[FRAME / 64];
  float mean = 0.0f, squares = 0.0f;
#pragma unroll
  for (u32 i = 0; i < FRAME / 64; ++i) {
    const float* pair = signal + start + 64 * i + 2 * lane;
    x[i] = make_float2(pair[0], pair[1]);
    mean += x[i].x + x[i].y;
  }
  mean = sum_of_warp(mean) / FRAME;
  // What rounding left of the mean goes, too.
  float rest = 0.0f;
#pragma unroll
  for (u32 i = 0; i < FRAME / 64; ++i) {
    x[i].x -= mean;
    x[i].y -= mean;
    rest += x[i].x + x[i].y;
  }
  rest = sum_of_warp(rest) / FRAME;
#pragma unroll
  for (u32 i = 0; i < FRAME / 64; ++i) {
    x[i].x -= rest;
    x[i].y -= rest;
    squares = fmaf(x[i].x, x[i].x, fmaf(x[i].y, x[i].y, squares));
  }
  float deviation = fmaxf(sqrtf(sum_of_warp(squares) / (FRAME - 1)), LEAST_DEVIATION);
#pragma unroll
  for (u32 i = 0; i < FRAME / 64; ++i) {
    u32 both = half(x[i].x / deviation) | (u32)half(x[i].y / deviation) << 16;
    ((u32*)out)[(u64)frame * (FRAME / 2) + 32 * i + lane] = both;
  }
}

// A step moves by fewer than REACH pitches from a frame to the next.
#define REACH 12
#define SIDES (REACH - 1)
// Less than any score.
#define NEVER -1e300
// Frames whose origins are walked back together.
#define WALK 64

// The most likely path through the probabilities of each file, `low` <= step < `high`: a block of 384 threads to a
// file. `costs` are what moves add to a score; `origins` keep where a step's best path comes from.
extern "C" __global__ void __launch_bounds__(384)
crepe_path(const float* rows, u64 rows_length, const u64* file_frames, u64 file_frames_length, const double* costs,
           u64 costs_length, unsigned char* origins, u64 origins_length, u32* steps, u64 steps_length, u32 low,
           u32 high) {
  __shared__ double scores[2][SIDES + PITCHES + SIDES];
  __shared__ u32 walked[WALK * PITCHES / 4], path[WALK], last;
  u32 step = threadIdx.x;
  if (blockIdx.x + 1ull >= file_frames_length || costs_length < REACH || high > PITCHES || low >= high) return;
  u64 first = file_frames[blockIdx.x], end = file_frames[blockIdx.x + 1];
  if (first >= end || end * PITCHES > rows_length || end * PITCHES > origins_length || end > steps_length) return;
  double cost[REACH];
#pragma unroll
  for (u32 i = 0; i < REACH; ++i) cost[i] = costs[i];
  for (u32 i = step; i < 2 * (SIDES + PITCHES + SIDES); i += blockDim.x) (&scores[0][0])[i] = NEVER;
  bool mine = step >= low && step < high;
  const float* row = rows + step;
  // What the next frames say is under way while a frame is judged.
  float ahead[4];
#pragma unroll
  for (u32 i = 0; i < 4; ++i) ahead[i] = mine && first + i < end ? row[(first + i) * PITCHES] : 0.0f;
  __syncthreads();
  for (u64 base = first; base < end; base += 4) {
#pragma unroll
    for (u32 i = 0; i < 4; ++i) {
      u64 frame = base + i;
      if (frame < end) {
        const double* from = scores[i % 2] + step;
        double best = 0.0;
        u32 origin = SIDES;
        if (mine) {
          if (frame > first) {
            best = NEVER;
#pragma unroll
            for (u32 j = 0; j < 2 * REACH - 1; ++j) {
              double score = from[j] + cost[j < SIDES ? SIDES - j : j - SIDES];
              if (score > best) {
                best = score;
                origin = j;
              }
            }
          }
          scores[(i + 1) % 2][SIDES + step] = best + (double)ahead[i];
          origins[frame * PITCHES + step] = (unsigned char)origin;
          ahead[i] = frame + 4 < end ? row[(frame + 4) * PITCHES] : 0.0f;
        }
        __syncthreads();
      }
    }
  }
  if (step == 0) {
    const double* ends = scores[(end - first) % 2] + SIDES;
    u32 best = low;
    for (u32 other = low; other < high; ++other) {
      if (ends[other] > ends[best]) best = other;
    }
    last = best;
  }
  for (u64 to = end; to > first;) {
    u64 from = to - first > WALK ? to - WALK : first;
    u32 count = (u32)(to - from);
    __syncthreads();
    for (u32 i = threadIdx.x; i < count * (PITCHES / 4); i += blockDim.x) {
      walked[i] = ((const u32*)origins)[from * (PITCHES / 4) + i];
    }
    __syncthreads();
    if (step == 0) {
      u32 at = last;
      for (u32 i = count; i-- > 0;) {
        path[i] = at;
        at = at + ((const unsigned char*)walked)[i * PITCHES + at] - SIDES;
      }
      last = at;
    }
    __syncthreads();
    if (threadIdx.x < count) steps[from + threadIdx.x] = path[threadIdx.x];
    to = from;
  }
}

// Pitches, each side, that the mean around the path takes in.
#define AROUND 4
// Cents above 10 Hz of the first pitch, and between pitches.
#define FIRST_CENTS 1997.379408437619
#define CENTS 20.0

// Hertz, the mean pitch around each frame's step, and the step's probability: out[frame, 2]. A thread to a frame.
extern "C" __global__ void __launch_bounds__(256)
crepe_hertz(const float* rows, u64 rows_length, const u32* steps, u64 steps_length, float* out, u64 out_length,
            u64 frames) {
  u64 frame = (u64)blockIdx.x * blockDim.x + threadIdx.x;
  if (frame >= frames || frame >= steps_length || (frame + 1) * PITCHES > rows_length || 2 * frame + 2 > out_length)
    return;
  const float* row = rows + frame * PITCHES;
  int step = min(steps[frame], PITCHES - 1);
  double sum = 0.0, weights = 0.0;
  for (int at = max(step - AROUND, 0); at <= min(step + AROUND, PITCHES - 1); ++at) {
    double weight = row[at];
    sum += weight * at;
    weights += weight;
  }
  double mean = weights > 0.0 ? sum / weights : step;
  out[2 * frame] = (float)(10.0 * exp2((FIRST_CENTS + CENTS * mean) / 1200.0));
  out[2 * frame + 1] = row[step];
}
