// CUDA kernels on a CPU: a block's threads are fibres that take turns at barriers and shuffles.
//
// Fibres run in an order that a seed decides, each until it waits, so that a missing barrier shows. One
// warp is 32 fibres; a shuffle waits for those of the warp that have not returned.
#pragma once
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include <functional>
#include <vector>

#define __global__
#define __device__
#define __forceinline__ inline
#define __shared__ static
#define __restrict__ __restrict

struct dim3 { unsigned x = 1, y = 1, z = 1; };
struct float4 { float x, y, z, w; };
struct float2 { float x, y; };
struct int4 { int x, y, z, w; };
static dim3 threadIdx, blockIdx, blockDim, gridDim;

template <class T> T min(T a, T b) { return b < a ? b : a; }
template <class T> T max(T a, T b) { return a < b ? b : a; }
template <class T> T atomicAdd(T* at, T value) { T old = *at; *at = old + value; return old; }
template <class T> T atomicMax(T* at, T value) { T old = *at; *at = max(old, value); return old; }
template <class T> T atomicMin(T* at, T value) { T old = *at; *at = min(old, value); return old; }

namespace host {
struct Fibre { ucontext_t context; std::vector<char> stack; dim3 place; int arrived = 0; bool done = false; uint32_t word = 0; };
static std::vector<Fibre> fibres;
static ucontext_t home;
static unsigned current;
static std::function<void()> body;

inline void yield() { swapcontext(&fibres[current].context, &home); threadIdx = fibres[current].place; }
// Waits until every living fibre from `first` up to `last` has arrived as often.
inline void meet(unsigned first, unsigned last) {
    int mine = ++fibres[current].arrived;
    for (;;) {
        bool all = true;
        for (unsigned i = first; all && i < last && i < fibres.size(); ++i) all = fibres[i].done || fibres[i].arrived >= mine;
        if (all) return;
        yield();
    }
}
inline void entry() { threadIdx = fibres[current].place; body(); fibres[current].done = true; swapcontext(&fibres[current].context, &home); }
inline void launch(dim3 grid, dim3 block, unsigned seed, std::function<void()> kernel) {
    body = kernel; gridDim = grid; blockDim = block;
    unsigned count = block.x * block.y * block.z;
    fibres.resize(count);
    std::vector<unsigned> order(count);
    for (unsigned b = 0; b < grid.x * grid.y * grid.z; ++b) {
        blockIdx.x = b % grid.x; blockIdx.y = b / grid.x % grid.y; blockIdx.z = b / grid.x / grid.y;
        for (unsigned i = 0; i < count; ++i) {
            Fibre& one = fibres[i];
            one.stack.resize(64 << 10); one.arrived = 0; one.done = false;
            one.place.x = i % block.x; one.place.y = i / block.x % block.y; one.place.z = i / block.x / block.y;
            getcontext(&one.context);
            one.context.uc_stack.ss_sp = one.stack.data(); one.context.uc_stack.ss_size = one.stack.size(); one.context.uc_link = &home;
            makecontext(&one.context, entry, 0);
            order[i] = i;
        }
        for (unsigned i = count; seed && i > 1; --i) {
            seed = seed * 1664525u + 1013904223u;
            unsigned j = (seed >> 8) % i, kept = order[i - 1];
            order[i - 1] = order[j]; order[j] = kept;
        }
        for (bool alive = true; alive;) {
            alive = false;
            for (unsigned i : order) {
                if (fibres[i].done) continue;
                alive = true; current = i; threadIdx = fibres[i].place;
                swapcontext(&home, &fibres[i].context);
            }
        }
    }
}
// Every lane shows its word, then reads that of lane `from`.
template <class T> T exchange(T value, unsigned from) {
    unsigned warp = current / 32 * 32;
    memcpy(&fibres[current].word, &value, 4);
    meet(warp, warp + 32);
    T read = value;
    if (from < 32 && warp + from < fibres.size()) memcpy(&read, &fibres[warp + from].word, 4);
    meet(warp, warp + 32);
    return read;
}
}  // namespace host

inline void __syncthreads() { host::meet(0, host::fibres.size()); }
inline void __syncwarp() { unsigned warp = host::current / 32 * 32; host::meet(warp, warp + 32); }
template <class T> T __shfl_sync(unsigned, T value, unsigned lane) { return host::exchange(value, lane); }
template <class T> T __shfl_xor_sync(unsigned, T value, unsigned mask) { return host::exchange(value, (host::current % 32) ^ mask); }
template <class T> T __shfl_down_sync(unsigned, T value, unsigned by) { return host::exchange(value, host::current % 32 + by); }
template <class T> T __shfl_up_sync(unsigned, T value, unsigned by) { return host::exchange(value, host::current % 32 - by); }
