// The loudest level of each file, which all threads raise and nobody lowers: the same whatever their order.

#pragma once

#include "ragged.cuh"

// Numbers that rise with a float, all above 0.
__device__ __forceinline__ u32 rank_of(float value) {
  u32 bits = __float_as_uint(value);
  return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
}
__device__ __forceinline__ float of_rank(u32 rank) {
  return __uint_as_float(rank & 0x80000000u ? rank & 0x7fffffffu : ~rank);
}

// Most levels are not the loudest: a look spares them the wait for their turn.
__device__ __forceinline__ void raise(u32* loudest, float level) {
  u32 rank = rank_of(level);
  if (rank > *(volatile u32*)loudest) atomicMax(loudest, rank);
}
