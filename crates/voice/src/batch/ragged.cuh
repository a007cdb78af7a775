// A ragged batch: one flat buffer of samples; a table of where each file's samples begin and end, in
// pairs; and the running total of frames, with one entry more than there are files. Frames are numbered
// through all files.

#pragma once

typedef unsigned long long u64;
typedef unsigned int u32;

// Where a frame's samples lie.
struct Place {
  const float* samples;
  long long length;
  long long start;
  // One past the last frame of the file.
  u64 frame_end;
};

// The file of `frame` by bisection in the running totals, of which there are `totals`; the frame is below the
// last of them.
__device__ __forceinline__ u64 file_of(u64 frame, const u64* file_frames, u64 totals) {
  u64 low = 0, high = totals - 1;
  while (high - low > 1) {
    u64 middle = (low + high) / 2;
    if (file_frames[middle] <= frame) low = middle; else high = middle;
  }
  return low;
}

// Finds the samples of `frame`.
__device__ bool find_frame(u64 frame, const float* samples, u64 samples_length,
                           const u64* file_samples, u64 file_samples_length, const u64* file_frames,
                           u64 file_frames_length, u32 hop, u32 left, Place* place) {
  if (file_frames_length < 2 || file_samples_length / 2 < file_frames_length - 1) return false;
  if (frame >= file_frames[file_frames_length - 1]) return false;
  u64 low = file_of(frame, file_frames, file_frames_length);
  u64 begin = file_samples[2 * low], end = file_samples[2 * low + 1];
  if (begin > end || end > samples_length) return false;
  place->samples = samples + begin;
  place->length = (long long)(end - begin);
  place->start = (long long)((frame - file_frames[low]) * hop) - (long long)left;
  place->frame_end = file_frames[low + 1];
  return true;
}

// The sample at `position`, a zero or its mirror image beyond the ends.
__device__ float sample_at(const Place& place, long long position, u32 reflect) {
  if (position < 0 || position >= place.length) {
    if (!reflect || place.length < 1) return 0.0f;
    if (place.length == 1) return place.samples[0];
    long long period = 2 * (place.length - 1);
    position %= period;
    if (position < 0) position += period;
    if (position >= place.length) position = period - position;
  }
  return place.samples[position];
}
