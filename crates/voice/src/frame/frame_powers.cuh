// The powers of frames in shared memory, for kernels that make a few numbers of each and write no spectrum.
//
// A group of points/4 threads has a frame, and a block as many groups as fit.

#pragma once

#include "fourier.cuh"

#define ALL 0xffffffffu

// Where frames come from and what becomes of them.
struct Source {
  const float* samples;
  u64 samples_length;
  const u64* file_samples;
  u64 file_samples_length;
  const u64* file_frames;
  u64 file_frames_length;
  const float* window;
  u64 window_length;
  const float* roots;
  u64 roots_length;
  u32 transform_length, hop, left, reflect;
};

// What a thread does in its block.
struct Group {
  u32 points, threads, count, number, t;
};

__device__ __forceinline__ bool fits(const Source& source) {
  u32 points = source.transform_length / 2;
  return blockDim.x == THREADS && points >= 32 && points <= POINTS && (points & (points - 1)) == 0 &&
         source.window_length >= source.transform_length &&
         source.roots_length >= 2 * (u64)source.transform_length;
}

__device__ __forceinline__ Group group_of(const Source& source) {
  Group group;
  group.points = source.transform_length / 2;
  group.threads = group.points / 4;
  group.count = THREADS / group.threads;
  group.number = threadIdx.x / group.threads;
  group.t = threadIdx.x % group.threads;
  return group;
}

__device__ __forceinline__ u64 frames_of(const Source& source) {
  return source.file_frames_length > 0 ? source.file_frames[source.file_frames_length - 1] : 0;
}

// Powers of all groups' frames, a group's 2 points floats after those of the group before, and as much room
// again that is free.
struct Powers {
  float* power;
  float* room;
};

// Puts the powers of frame `frame` of each group where the result says; `active` is whether there is one, and
// then `place` is where its samples lie. All threads of a block come here together, and after a barrier.
__device__ __forceinline__ Powers take_powers(const Source& source, const Group& group, u64 frame, float2* shared,
                                              Place* place, bool* active) {
  const float2* root = (const float2*)source.roots;
  float2* front = shared + group.number * group.points;
  float2* back = shared + POINTS + group.number * group.points;
  *active = find_frame(frame, source.samples, source.samples_length, source.file_samples,
                       source.file_samples_length, source.file_frames, source.file_frames_length, source.hop,
                       source.left, place);
  take_windowed(*place, *active, group.points, group.t, group.threads, source.reflect, source.window, front);
  __syncthreads();
  float2* bins = transform(front, back, group.points, group.t, root);
  powers(bins, group.points, group.t, group.threads, root, (float*)(bins == front ? back : front));
  __syncthreads();
  Powers result;
  result.power = (float*)(bins == front ? shared + POINTS : shared);
  result.room = (float*)(bins == front ? shared : shared + POINTS);
  return result;
}
