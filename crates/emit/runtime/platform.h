// Where the text runs: NVRTC's device code, or a host C++17 compiler.
//@ *
#ifdef __CUDACC__
#define CUDA_CALLABLE __device__
#define WP_FORCEINLINE __forceinline__
#define WP_NOINLINE __noinline__
#define WP_INLINE __device__ __forceinline__
#else
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#define CUDA_CALLABLE
#define WP_FORCEINLINE inline __attribute__((always_inline))
#define WP_NOINLINE __attribute__((noinline))
#define WP_INLINE inline
#endif
namespace wp {
using int8 = signed char;
using uint8 = unsigned char;
using int16 = short;
using uint16 = unsigned short;
using int32 = int;
using uint32 = unsigned int;
using int64 = long long;
using uint64 = unsigned long long;
using float32 = float;
using float64 = double;
}
//@ WP_API
#define WP_API __attribute__((visibility("default")))
//@ WP_CLUSTER_DIMS
#if defined(__CUDA_ARCH__) && (__CUDA_ARCH__ >= 900)
#define WP_CLUSTER_DIMS(x, y, z) __cluster_dims__(x, y, z)
#else
#define WP_CLUSTER_DIMS(x, y, z)
#endif
//@ WP_TILE_SYNC
#ifdef __CUDACC__
#define WP_TILE_SYNC() __syncthreads()
#else
#define WP_TILE_SYNC() ((void)0)
#endif
//@ WP_MAXNREG
#if defined(__CUDACC_VER_MAJOR__) && (__CUDACC_VER_MAJOR__ * 100 + __CUDACC_VER_MINOR__ >= 1204)
#define WP_MAXNREG(n) __maxnreg__(n)
#else
#define WP_MAXNREG(n)
#endif
//@ WP_ENABLE_SMEM_SPILLING
#if defined(__CUDACC_VER_MAJOR__) && (__CUDACC_VER_MAJOR__ >= 13)
#define WP_ENABLE_SMEM_SPILLING() asm volatile(".pragma \"enable_smem_spilling\";");
#else
#define WP_ENABLE_SMEM_SPILLING()
#endif
//@ INFINITY
#ifdef __CUDACC__
#define INFINITY __int_as_float(0x7f800000)
#endif
//@ NAN
#ifdef __CUDACC__
#define NAN __int_as_float(0x7fffffff)
#endif
//@ assert
// Checks in kernels are for debugging: off unless asked for.
#ifndef WP_ENABLE_ASSERTS
#undef assert
#define assert(condition) ((void)0)
#endif
