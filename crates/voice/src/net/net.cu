// Our own network for pitch, voicing and speech: what it sees of each frame, and its layers.
//
// Frames are numbered through all files of a ragged batch. The layers over pitches work on a stretch of frames,
// rows of a buffer from frame `first` on, so that an hour needs no more memory than a minute; before and behind a
// stretch lie as many rows as later layers look at. What a frame is as a whole is then kept for all frames.

#include "fourier.cuh"

#define HOP 160
#define WINDOW 1024
#define SHORT 512
#define PITCHES 100
#define HARMONICS 16
#define LAGS 3
#define CHANNELS 24
#define WIDTH 32
#define MELS 32
#define WHOLE (2 * WIDTH + MELS)
#define LISTENING 48
#define BINS 820
#define AROUND 26
#define ALL 0xffffffffu

// The numbers that the front end looks up, one list after the other: windows, one over how alike each is to
// itself, the parts of places, and weights of bands.
#define LONG_OWN (WINDOW + SHORT)
#define SHORT_OWN (LONG_OWN + 3 * WINDOW / 4 + 2)
#define PARTS (SHORT_OWN + 3 * SHORT / 4 + 2)
#define PLACES ((HARMONICS + 2 * LAGS) * PITCHES)
#define BAND_WEIGHTS (PARTS + PLACES)

__device__ __forceinline__ float between(float one, float two, float part) { return fmaf(two - one, part, one); }

__device__ __forceinline__ float sum_of_warp(float x) {
#pragma unroll
  for (int reach = 16; reach > 0; reach /= 2) x += __shfl_xor_sync(ALL, x, reach);
  return x;
}

// The same for all threads of a block; `room` has a float to a warp, and is free again after the next barrier.
__device__ __forceinline__ float sum_of_block(float x, float* room) {
  x = sum_of_warp(x);
  if (threadIdx.x % 32 == 0) room[threadIdx.x / 32] = x;
  __syncthreads();
  float sum = 0.0f;
#pragma unroll
  for (int warp = 0; warp < THREADS / 32; ++warp) sum += room[warp];
  return sum;
}

// What the network sees of frames: seen[row, channel, pitch] of a stretch; and of each frame its bands, behind what
// else it is as a whole, and whether it is silent. Blocks of 256 threads; `places` has where harmonics and periods
// lie, then the first bins of bands, then where their weights begin, with one entry more.
extern "C" __global__ void __launch_bounds__(THREADS, 4)
net_front(const float* samples, u64 samples_length, const u64* file_samples, u64 file_samples_length,
          const u64* file_frames, u64 file_frames_length, const float* numbers, u64 numbers_length,
          const u32* places, u64 places_length, const float* roots, u64 roots_length, float* seen, u64 seen_length,
          float* whole, u64 whole_length, float* silent, u64 silent_length, u64 first, u32 rows) {
  __shared__ float2 points[2 * POINTS];
  __shared__ float power[POINTS + 1], level[BINS], relief[BINS], room[2 * THREADS / 32];
  if (blockDim.x != THREADS || roots_length < 4 * POINTS || places_length < PLACES + 2 * MELS + 1) return;
  if (numbers_length < BAND_WEIGHTS || (u64)rows * CHANNELS * PITCHES > seen_length) return;
  const u32 *band_first = places + PLACES, *band_begin = band_first + MELS;
  if (numbers_length - BAND_WEIGHTS < band_begin[MELS]) return;
  const float2* root = (const float2*)roots;
  const float* parts = numbers + PARTS;
  u32 t = threadIdx.x, lane = t % 32, warp = t / 32;
  for (u64 row = blockIdx.x; row < rows; row += gridDim.x) {
    u64 frame = first + row;
    Place place;
    if (!find_frame(frame, samples, samples_length, file_samples, file_samples_length, file_frames,
                    file_frames_length, HOP, WINDOW / 2, &place) ||
        (frame + 1) * WHOLE > whole_length || frame >= silent_length) {
      return;
    }
    float* out = seen + row * (CHANNELS * PITCHES);
#pragma unroll 1
    for (u32 repetition = 0; repetition < 2; ++repetition) {
      u32 length = repetition == 0 ? WINDOW : SHORT;
      const float* window = numbers + (repetition == 0 ? 0 : WINDOW);
      long long begin = place.start + (WINDOW - length) / 2;
      // Everybody has done with what was there before.
      __syncthreads();
      float energy = 0.0f;
      for (u32 n = t; n < POINTS; n += THREADS) {
        float2 pair = make_float2(0.0f, 0.0f);
        if (2 * n < length) {
          float one = sample_at(place, begin + 2 * n, 0), two = sample_at(place, begin + 2 * n + 1, 0);
          energy = fmaf(one, one, fmaf(two, two, energy));
          pair = make_float2(one * window[2 * n], two * window[2 * n + 1]);
        }
        points[n] = pair;
      }
      if (repetition == 0) {
        energy = sum_of_block(energy, room);
        if (t == 0) silent[frame] = energy < 1e-10f * WINDOW ? 1.0f : 0.0f;
      } else {
        __syncthreads();
      }
      float2* bins = transform(points, points + POINTS, POINTS, t, root);
      powers(bins, POINTS, t, THREADS, root, power);
      __syncthreads();
      if (repetition == 0) {
        // The spectrum's own level around each bin is taken away: harmonics stay. Beyond the ends it goes on as it
        // is there.
        float middle = 0.0f;
        for (u32 k = t; k < BINS; k += THREADS) {
          level[k] = logf(power[k] + 1e-9f);
          if (k >= 8 && k < 520) middle += level[k];
        }
        middle = sum_of_block(middle, room + THREADS / 32) * (1.0f / 512.0f);
        for (u32 k = t; k < BINS; k += THREADS) {
          float sum = 0.0f;
          for (int n = -AROUND; n <= AROUND; ++n) sum += level[min(max((int)k + n, 0), BINS - 1)];
          relief[k] = fmaf(-sum, 1.0f / (2 * AROUND + 1), level[k]) * 0.5f;
        }
        __syncthreads();
        for (u32 i = t; i < HARMONICS * PITCHES; i += THREADS) {
          u32 below = min(places[i], BINS - 2);
          out[i] = between(relief[below], relief[below + 1], parts[i]);
        }
        // How loud the pitch and its octave are.
        for (u32 i = t; i < 2 * PITCHES; i += THREADS) {
          u32 at = (i < PITCHES ? 1 : 2) * PITCHES + i, below = min(places[at], BINS - 2);
          out[HARMONICS * PITCHES + i] = (between(level[below], level[below + 1], parts[at]) - middle) * 0.25f;
        }
        for (u32 band = warp; band < MELS; band += THREADS / 32) {
          u32 from = band_begin[band], count = band_begin[band + 1] - from;
          float sum = 0.0f;
          for (u32 n = lane; n < count; n += 32) {
            sum = fmaf(power[min(band_first[band] + n, POINTS)], numbers[BAND_WEIGHTS + from + n], sum);
          }
          sum = sum_of_warp(sum) + 1e-7f;
          if (lane == 0) whole[frame * WHOLE + 2 * WIDTH + band] = logf(sum) * 0.25f;
        }
      }
      // Power is even: its transform is the correlation, real numbers.
      for (u32 n = t; n < POINTS; n += THREADS) {
        u32 k = 2 * n;
        points[n] = make_float2(power[k <= POINTS ? k : 2 * POINTS - k], power[k < POINTS ? k + 1 : 2 * POINTS - k - 1]);
      }
      __syncthreads();
      bins = transform(points, points + POINTS, POINTS, t, root);
      for (u32 k = t; k <= POINTS / 2; k += THREADS) {
        if (k == 0) {
          power[0] = bins[0].x + bins[0].y;
          continue;
        }
        float2 low, high;
        split(bins, POINTS, k, root, &low, &high);
        power[POINTS - k] = high.x;
        power[k] = low.x;
      }
      __syncthreads();
      const float scale = 0.5f / POINTS, share = 2.0f * scale / fmaf(power[0], scale, 1e-7f);
      const float* own = numbers + (repetition == 0 ? LONG_OWN : SHORT_OWN);
      u32 last = 3 * length / 4;
      for (u32 i = t; i < LAGS * PITCHES; i += THREADS) {
        u32 at = (HARMONICS + repetition * LAGS) * PITCHES + i, below = min(places[at], last);
        float one = power[below] * share * own[below], two = power[below + 1] * share * own[below + 1];
        out[2 * PITCHES + at] = between(one, two, parts[at]);
      }
    }
  }
}

// Threads of a layer over pitches: 4 rows, 4 groups of 8 outputs, 25 quads of pitches.
#define LAYER_THREADS 400
#define LAYER_ROWS 4
#define QUADS (PITCHES / 4)

extern __shared__ float4 dynamic_shared[];

// out[row, output, pitch] = the positives of sums over neighbouring pitches of one row or of three rows `reach`
// apart; to those of three the middle row is added. Weights are [row, input, tap, output], then biases.
template <int INPUTS, int FRAMES, int TAPS>
__device__ __forceinline__ void layer(const float* x, u64 x_length, const u64* file_frames, u64 file_frames_length,
                                      const float* weights, u64 weights_length, float* out, u64 out_length, u64 first,
                                      u32 rows, u32 reach) {
  constexpr u32 COUNT = FRAMES * INPUTS * TAPS * WIDTH;
  u32 shared_bytes;
  asm("mov.u32 %0, %%dynamic_smem_size;" : "=r"(shared_bytes));
  if (blockDim.x != LAYER_THREADS || shared_bytes < 4 * COUNT || weights_length < COUNT + WIDTH) return;
  if (rows > 1 << 24 || reach > 1 << 24 || (u64)rows * INPUTS * PITCHES > x_length ||
      (u64)rows * WIDTH * PITCHES > out_length) return;
  if (file_frames_length < 2 || first + rows > file_frames[file_frames_length - 1]) return;
  for (u32 i = threadIdx.x; i < COUNT / 4; i += LAYER_THREADS) dynamic_shared[i] = ((const float4*)weights)[i];
  __syncthreads();
  u32 slot = threadIdx.x / (4 * QUADS), group = threadIdx.x / QUADS % 4, quad = threadIdx.x % QUADS;
  // A stretch has few rows: 32 bits number them.
  for (int row = blockIdx.x * LAYER_ROWS + slot; row < (int)rows; row += gridDim.x * LAYER_ROWS) {
    u64 file = file_of(first + row, file_frames, file_frames_length);
    int begin = (int)max((long long)(file_frames[file] - first), 0ll);
    int end = (int)min((long long)(file_frames[file + 1] - first), (long long)rows);
    float sum[8][4];
#pragma unroll
    for (int o = 0; o < 8; ++o) {
#pragma unroll
      for (int p = 0; p < 4; ++p) sum[o][p] = weights[COUNT + 8 * group + o];
    }
#pragma unroll 1
    for (int f = 0; f < FRAMES; ++f) {
      int from = row + (f - FRAMES / 2) * (int)reach;
      // Before the first frame and after the last there is silence.
      if (from < begin || from >= end) continue;
      const float* line = x + (u64)from * (INPUTS * PITCHES) + 4 * quad;
      const float4* w = dynamic_shared + f * (INPUTS * TAPS * WIDTH / 4) + 2 * group;
#pragma unroll 2
      for (int i = 0; i < INPUTS; ++i) {
        float v[TAPS + 3];
        float4 middle = *(const float4*)line;
        v[TAPS / 2] = middle.x;
        v[TAPS / 2 + 1] = middle.y;
        v[TAPS / 2 + 2] = middle.z;
        v[TAPS / 2 + 3] = middle.w;
#pragma unroll
        for (int n = 0; n < TAPS / 2; ++n) {
          v[n] = quad > 0 ? line[n - TAPS / 2] : 0.0f;
          v[TAPS / 2 + 4 + n] = quad + 1 < QUADS ? line[4 + n] : 0.0f;
        }
#pragma unroll
        for (int tap = 0; tap < TAPS; ++tap) {
          float4 a = w[tap * (WIDTH / 4)], b = w[tap * (WIDTH / 4) + 1];
          float eight[8] = {a.x, a.y, a.z, a.w, b.x, b.y, b.z, b.w};
#pragma unroll
          for (int o = 0; o < 8; ++o) {
#pragma unroll
            for (int p = 0; p < 4; ++p) sum[o][p] = fmaf(v[tap + p], eight[o], sum[o][p]);
          }
        }
        line += PITCHES;
        w += TAPS * WIDTH / 4;
      }
    }
#pragma unroll
    for (int o = 0; o < 8; ++o) {
      u64 at = ((u64)row * WIDTH + 8 * group + o) * PITCHES + 4 * quad;
      float4 before = FRAMES == 3 ? *(const float4*)(x + at) : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
      *(float4*)(out + at) = make_float4(before.x + fmaxf(sum[o][0], 0.0f), before.y + fmaxf(sum[o][1], 0.0f),
                                         before.z + fmaxf(sum[o][2], 0.0f), before.w + fmaxf(sum[o][3], 0.0f));
    }
  }
}

extern "C" __global__ void __launch_bounds__(LAYER_THREADS, 2)
net_enter(const float* seen, u64 seen_length, const u64* file_frames, u64 file_frames_length, const float* weights,
          u64 weights_length, float* out, u64 out_length, u64 first, u32 rows, u32 reach) {
  layer<CHANNELS, 1, 5>(seen, seen_length, file_frames, file_frames_length, weights, weights_length, out, out_length,
                        first, rows, reach);
}

extern "C" __global__ void __launch_bounds__(LAYER_THREADS, 2)
net_around(const float* x, u64 x_length, const u64* file_frames, u64 file_frames_length, const float* weights,
           u64 weights_length, float* out, u64 out_length, u64 first, u32 rows, u32 reach) {
  layer<WIDTH, 3, 3>(x, x_length, file_frames, file_frames_length, weights, weights_length, out, out_length, first,
                     rows, reach);
}

// Of rows `skipped` to `skipped + rows` of x, the first of which is frame `first`: logits of pitches, and of each
// channel mean and maximum. A block of 128 threads to a frame.
extern "C" __global__ void __launch_bounds__(128)
net_summary(const float* x, u64 x_length, const float* weights, u64 weights_length, float* logits, u64 logits_length,
            float* whole, u64 whole_length, u64 first, u32 skipped, u32 rows) {
  if (blockDim.x != 128 || weights_length < WIDTH + 1) return;
  if (((u64)skipped + rows) * WIDTH * PITCHES > x_length) return;
  if ((first + rows) * PITCHES > logits_length || (first + rows) * WHOLE > whole_length) return;
  u32 t = threadIdx.x, lane = t % 32;
  for (u64 row = blockIdx.x; row < rows; row += gridDim.x) {
    u64 frame = first + row;
    const float* own = x + (skipped + row) * (WIDTH * PITCHES);
    if (t < PITCHES) {
      float sum = weights[WIDTH];
#pragma unroll 8
      for (int channel = 0; channel < WIDTH; ++channel) {
        sum = fmaf(own[channel * PITCHES + t], weights[channel], sum);
      }
      logits[frame * PITCHES + t] = sum;
    }
    for (u32 channel = t / 32; channel < WIDTH; channel += 4) {
      float sum = 0.0f, most = -3.402823466e38f;
      for (u32 p = lane; p < PITCHES; p += 32) {
        float value = own[channel * PITCHES + p];
        sum += value;
        most = fmaxf(most, value);
      }
      sum = sum_of_warp(sum);
#pragma unroll
      for (int reach = 16; reach > 0; reach /= 2) most = fmaxf(most, __shfl_xor_sync(ALL, most, reach));
      if (lane == 0) {
        whole[frame * WHOLE + channel] = sum * (1.0f / PITCHES);
        whole[frame * WHOLE + WIDTH + channel] = most;
      }
    }
  }
}

// out[frame, output] = the positives of sums over the first `inputs` of `stride` numbers of one frame, or of three
// frames `reach` apart, the last of them `after` frames later; to those of three the frame itself is added. Weights
// are [frame, input, output], then biases. A thread to an output.
extern "C" __global__ void net_mix(const float* x, u64 x_length, const u64* file_frames, u64 file_frames_length,
                                   const float* weights, u64 weights_length, float* out, u64 out_length, u32 stride,
                                   u32 inputs, u32 outputs, u32 frames, u32 reach, u32 after) {
  u64 thread = (u64)blockIdx.x * blockDim.x + threadIdx.x;
  if (outputs == 0 || inputs > stride || (u64)frames * inputs * outputs + outputs > weights_length) return;
  u64 frame = thread / outputs, output = thread % outputs;
  if (file_frames_length < 2 || frame >= file_frames[file_frames_length - 1]) return;
  if (thread >= out_length) return;
  u64 file = file_of(frame, file_frames, file_frames_length);
  u64 begin = file_frames[file], end = file_frames[file + 1];
  if (end * stride > x_length) return;
  float sum = weights[(u64)frames * inputs * outputs + output];
  for (u32 f = 0; f < frames; ++f) {
    long long from = (long long)frame + after - (long long)(frames - 1 - f) * reach;
    if (from < (long long)begin || from >= (long long)end) continue;
    const float* line = x + from * stride;
    const float* w = weights + (u64)f * inputs * outputs + output;
    for (u32 i = 0; i < inputs; ++i) sum = fmaf(line[i], w[(u64)i * outputs], sum);
  }
  out[thread] = fmaxf(sum, 0.0f) + (frames > 1 ? x[frame * stride + output] : 0.0f);
}

// Hz, the probability that the frame is voiced, and that of speech, for each frame; a warp has one. Pitches `low` to
// `high` are looked at. Heads have weights and a bias: of voicing, then of speech.
extern "C" __global__ void __launch_bounds__(THREADS)
net_decide(const float* logits, u64 logits_length, const float* voicing, u64 voicing_length, const float* listening,
           u64 listening_length, const float* silent, u64 silent_length, const float* heads, u64 heads_length,
           float* out, u64 out_length, u32 low, u32 high) {
  u64 frame = ((u64)blockIdx.x * blockDim.x + threadIdx.x) / 32;
  u32 lane = threadIdx.x % 32;
  if ((frame + 1) * PITCHES > logits_length || (frame + 1) * WIDTH > voicing_length) return;
  if ((frame + 1) * LISTENING > listening_length || frame >= silent_length || 3 * (frame + 1) > out_length) return;
  if (heads_length < WIDTH + LISTENING + 2 || high >= PITCHES || low > high) return;
  const float* speech_head = heads + WIDTH + 1;
  float none = sum_of_warp(voicing[frame * WIDTH + lane] * heads[lane]) + heads[WIDTH];
  float speech = listening[frame * LISTENING + lane] * speech_head[lane];
  if (lane < LISTENING - 32) speech = fmaf(listening[frame * LISTENING + 32 + lane], speech_head[32 + lane], speech);
  speech = sum_of_warp(speech) + speech_head[LISTENING];
  // The network was never asked what silence is: surely no pitch, surely no speech.
  bool nothing = silent[frame] != 0.0f;
  float own[4], most = none;
#pragma unroll
  for (int n = 0; n < 4; ++n) {
    u32 p = lane + 32 * n;
    own[n] = p < PITCHES && !nothing ? logits[frame * PITCHES + p] : -3.402823466e38f;
    most = fmaxf(most, own[n]);
  }
#pragma unroll
  for (int reach = 16; reach > 0; reach /= 2) most = fmaxf(most, __shfl_xor_sync(ALL, most, reach));
  float sum = 0.0f, best = -1.0f;
  u32 best_at = low;
#pragma unroll
  for (int n = 0; n < 4; ++n) {
    u32 p = lane + 32 * n;
    own[n] = nothing ? 1.0f : expf(own[n] - most);
    if (p < PITCHES) sum += own[n];
    if (p >= low && p <= high && own[n] >= best) {
      best = own[n];
      best_at = p;
    }
  }
  sum = sum_of_warp(sum);
#pragma unroll
  for (int reach = 16; reach > 0; reach /= 2) {
    float other = __shfl_xor_sync(ALL, best, reach);
    u32 other_at = __shfl_xor_sync(ALL, best_at, reach);
    // The last of equals, as on the CPU.
    if (other > best || (other == best && other_at > best_at)) {
      best = other;
      best_at = other_at;
    }
  }
  double weight = 0.0, place = 0.0;
  for (int n = max((int)best_at - 2, 0); n <= min((int)best_at + 2, PITCHES - 1); ++n) {
    float chance = nothing ? 1.0f : expf(logits[frame * PITCHES + n] - most);
    weight += chance;
    place += (double)chance * n;
  }
  if (lane != 0) return;
  float quiet = expf(none - most);
  out[3 * frame] = (float)(55.0 * exp2(place / fmax(weight, 2.2250738585072014e-308) / 24.0));
  out[3 * frame + 1] = nothing ? 0.0f : 1.0f - quiet / (sum + quiet);
  out[3 * frame + 2] = nothing ? 0.0f : 1.0f / (1.0f + expf(-speech));
}
