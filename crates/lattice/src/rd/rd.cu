// nvrtc: --fmad=false
// Reaction-diffusion: the rule of rd/rule.rs, with a fused multiply-add exactly where that has one.
//
// `rd_step`: one step, any row length, a thread per cell, marching along z.
// `rd_step4`: the same for rows that are a multiple of four cells, four cells to a thread.
// `rd_block2`, `rd_block3`: two or three steps per pass over memory.
// `rd_resident`: many steps in one cooperative launch, for lattices that shared memory holds.

typedef unsigned int u32;
typedef unsigned long long u64;

struct Rule {
  float centre, diffusion, reaction, damped, threshold;
};

struct Pair {
  float u, e;
};

__device__ __forceinline__ Pair cell(const Rule& rule, float u, float e, float x0, float x1,
                                     float y0, float y1, float z0, float z1) {
  float neighbours = ((x0 + x1) + (y0 + y1)) + (z0 + z1);
  float laplacian = __fmaf_rn(rule.centre, u, neighbours);
  float rate = e > 0.5f ? rule.damped : rule.reaction;
  float growth = (rate * u) * (1.0f - u);
  float moved = __fmaf_rn(rule.diffusion, laplacian, u);
  Pair next;
  next.u = __saturatef(__fmaf_rn(growth, u - rule.threshold, moved));
  next.e = __fmaf_rn(0.9f, e, 0.1f * fabsf(laplacian));
  return next;
}

__device__ __forceinline__ void cells(const Rule& rule, float4 u, float4 e, float left, float right,
                                      float4 y0, float4 y1, float4 z0, float4 z1, float4& next_u,
                                      float4& next_e) {
  Pair a = cell(rule, u.x, e.x, left, u.y, y0.x, y1.x, z0.x, z1.x);
  Pair b = cell(rule, u.y, e.y, u.x, u.z, y0.y, y1.y, z0.y, z1.y);
  Pair c = cell(rule, u.z, e.z, u.y, u.w, y0.z, y1.z, z0.z, z1.z);
  Pair d = cell(rule, u.w, e.w, u.z, right, y0.w, y1.w, z0.w, z1.w);
  next_u = make_float4(a.u, b.u, c.u, d.u);
  next_e = make_float4(a.e, b.e, c.e, d.e);
}

__device__ __forceinline__ bool fits(u32 nx, u32 ny, u32 nz, u64 a, u64 b, u64 c, u64 d) {
  u64 cells = (u64)nx * ny * nz;
  return cells <= a && cells <= b && cells <= c && cells <= d;
}

#define FIELDS                                                                                   \
  const float *__restrict__ u, u64 u_length, const float *__restrict__ e, u64 e_length,          \
      float *__restrict__ u_out, u64 u_out_length, float *__restrict__ e_out, u64 e_out_length,  \
      u32 nx, u32 ny, u32 nz, u32 chunk, float centre,           \
      float diffusion, float reaction, float damped, float threshold

#define CHECKED_RULE                                                              \
  if (!fits(nx, ny, nz, u_length, e_length, u_out_length, e_out_length)) return;  \
  Rule rule = {centre, diffusion, reaction, damped, threshold};

extern "C" __global__ void rd_step(FIELDS) {
  CHECKED_RULE
  u64 row = nx, plane = (u64)nx * ny;
  for (u64 column = (u64)blockIdx.x * blockDim.x + threadIdx.x; column < plane;
       column += (u64)gridDim.x * blockDim.x) {
    u32 x = column % nx, y = column / nx;
    for (u64 first = (u64)blockIdx.y * chunk; first < nz; first += (u64)gridDim.y * chunk) {
      u64 last = first + chunk < nz ? first + chunk : nz;
      u64 at = first * plane + column;
      float below = first > 0 ? u[at - plane] : 0.0f;
      float own = u[at];
      for (u64 z = first; z < last; ++z, at += plane) {
        float above = z + 1 < nz ? u[at + plane] : 0.0f;
        Pair next = cell(rule, own, e[at], x > 0 ? u[at - 1] : 0.0f, x + 1 < nx ? u[at + 1] : 0.0f,
                         y > 0 ? u[at - row] : 0.0f, y + 1 < ny ? u[at + row] : 0.0f, below, above);
        u_out[at] = next.u;
        e_out[at] = next.e;
        below = own;
        own = above;
      }
    }
  }
}

// Blocks of 32 by blockDim.y threads; each thread has four cells of a row and marches along z. The
// rows beside come out of L1, where the neighbouring warps have just put them. The grid's x counts
// the blocks of some rows, its y chunks of planes and its z such stripes of rows, so that a plane
// that two chunks read is still in L2.
extern "C" __global__ void __launch_bounds__(256) rd_step4(FIELDS) {
  CHECKED_RULE
  if (nx % 4 != 0 || blockDim.x != 32) return;
  u32 row = nx / 4, columns = (row + 31) / 32;
  u64 plane = (u64)row * ny;
  u32 line = blockIdx.x / columns, x = (blockIdx.x - line * columns) * 32 + threadIdx.x;
  u32 y = (blockIdx.z * (gridDim.x / columns) + line) * blockDim.y + threadIdx.y;
  u32 first = blockIdx.y * chunk;
  // Lanes beyond the end stay for the shuffles; the whole warp leaves where its row is outside.
  if (y >= ny || first >= nz) return;
  bool inside = x < row;
  u32 last = min(first + chunk, nz);
  const float4* from = (const float4*)u;
  const float4* memory = (const float4*)e;
  float4* to = (float4*)u_out;
  float4* memory_to = (float4*)e_out;
  const float4 zero = make_float4(0, 0, 0, 0);
  u64 at = first * plane + (u64)y * row + x;
  float4 below = inside && first > 0 ? from[at - plane] : zero;
  float4 own = inside ? from[at] : zero;
#pragma unroll 2
  for (u32 z = first; z < last; ++z, at += plane) {
    float4 above = inside && z + 1 < nz ? from[at + plane] : zero;
    float4 old = inside ? memory[at] : zero;
    float4 y0 = inside && y > 0 ? from[at - row] : zero;
    float4 y1 = inside && y + 1 < ny ? from[at + row] : zero;
    float left = __shfl_up_sync(0xffffffffu, own.w, 1);
    float right = __shfl_down_sync(0xffffffffu, own.x, 1);
    if (threadIdx.x == 0) left = x > 0 && inside ? u[4 * at - 1] : 0.0f;
    if (threadIdx.x == 31) right = x + 1 < row ? u[4 * at + 4] : 0.0f;
    float4 next, next_memory;
    cells(rule, own, old, left, right, y0, y1, below, above, next, next_memory);
    if (inside) {
      to[at] = next;
      memory_to[at] = next_memory;
    }
    below = own;
    own = above;
  }
}

// Several steps per pass. A block of 32 by TY threads owns a column of 128 by TY·RY cells and
// marches along z; thread t has four cells of RY rows. When plane t is read, step s is taken by
// plane t − s: the planes of each step flow through registers, and the rows beside through shared
// memory. The outermost ring of what a step yields is wrong, because its neighbours belong to
// another block, so only the inner 120 by TY·RY − 2K cells are written.
template <int K, int TY, int RY>
__device__ __forceinline__ void march(const float* u, const float* e, float* u_out, float* e_out,
                                      u32 nx, u32 ny, u32 nz, u32 chunk, const Rule& rule) {
  constexpr int ROWS = TY * RY;
  extern __shared__ float4 shared[];
  // [2][K][ROWS][32]
  auto place = [&](int parity, int step, int r) {
    return ((parity * K + step) * ROWS + r) * 32 + (int)threadIdx.x;
  };
  const float4 zero = make_float4(0, 0, 0, 0);
  const float4* from = (const float4*)u;
  const float4* memory = (const float4*)e;
  int row = nx / 4;
  int x = (int)blockIdx.x * 30 - 1 + (int)threadIdx.x;
  int tile_row = (int)threadIdx.y * RY;
  int y = (int)blockIdx.y * (ROWS - 2 * K) - K + tile_row;
  int first = blockIdx.z * chunk;
  int last = min(first + (int)chunk, (int)nz);
  bool inside[RY], written[RY];
  long long offset[RY];
#pragma unroll
  for (int r = 0; r < RY; ++r) {
    inside[r] = x >= 0 && x < row && y + r >= 0 && y + r < (int)ny;
    written[r] = inside[r] && threadIdx.x >= 1 && threadIdx.x <= 30 && tile_row + r >= K &&
                 tile_row + r < ROWS - K;
    offset[r] = (long long)(y + r) * row + x;
  }
  long long plane = (long long)row * ny;
  float4 own[K][RY], below[K][RY], carried[K][RY];
#pragma unroll
  for (int s = 0; s < K; ++s)
#pragma unroll
    for (int r = 0; r < RY; ++r) own[s][r] = below[s][r] = carried[s][r] = zero;
  // Nothing is read from shared memory before it is written: plane values of the first iteration
  // are zeros that no written cell depends on; they are set here to be numbers.
  for (int s = 0; s < K; ++s)
    for (int r = 0; r < RY; ++r) {
      shared[place(0, s, tile_row + r)] = zero;
      shared[place(1, s, tile_row + r)] = zero;
    }
  __syncthreads();
  float4 ahead_u[RY], ahead_e[RY];
  auto fetch = [&](int t) {
#pragma unroll
    for (int r = 0; r < RY; ++r) {
      bool here = inside[r] && t >= 0 && t < (int)nz;
      ahead_u[r] = here ? from[t * plane + offset[r]] : zero;
      bool before = inside[r] && t >= 1 && t <= (int)nz;
      ahead_e[r] = before ? memory[(t - 1) * plane + offset[r]] : zero;
    }
  };
  int start = first - K, end = last - 1 + K;
  fetch(start);
  for (int t = start; t <= end; ++t) {
    float4 fresh[RY], old[RY];
#pragma unroll
    for (int r = 0; r < RY; ++r) {
      fresh[r] = ahead_u[r];
      old[r] = ahead_e[r];
    }
    if (t < end) fetch(t + 1);
    int parity = t & 1;
#pragma unroll
    for (int s = 0; s < K; ++s) {
      int z = t - s - 1;
      bool plane_inside = z >= 0 && z < (int)nz;
      float4 next[RY], next_memory[RY];
#pragma unroll
      for (int r = 0; r < RY; ++r) {
        int tile = tile_row + r;
        float4 y0 = r > 0 ? own[s][r > 0 ? r - 1 : 0] : shared[place(parity ^ 1, s, max(tile - 1, 0))];
        float4 y1 = r + 1 < RY ? own[s][r + 1 < RY ? r + 1 : r]
                               : shared[place(parity ^ 1, s, min(tile + 1, ROWS - 1))];
        float left = __shfl_up_sync(0xffffffffu, own[s][r].w, 1);
        float right = __shfl_down_sync(0xffffffffu, own[s][r].x, 1);
        cells(rule, own[s][r], old[r], left, right, y0, y1, below[s][r], fresh[r], next[r],
              next_memory[r]);
        if (!(plane_inside && inside[r])) next[r] = zero;
      }
#pragma unroll
      for (int r = 0; r < RY; ++r) {
        below[s][r] = own[s][r];
        own[s][r] = fresh[r];
        shared[place(parity, s, tile_row + r)] = fresh[r];
        fresh[r] = next[r];
        // The memory that step s leaves behind is what step s + 1 starts from, one plane later.
        old[r] = carried[s][r];
        carried[s][r] = next_memory[r];
      }
    }
    int z = t - K;
    if (z >= first && z < last) {
#pragma unroll
      for (int r = 0; r < RY; ++r) {
        if (written[r]) {
          ((float4*)u_out)[z * plane + offset[r]] = fresh[r];
          ((float4*)e_out)[z * plane + offset[r]] = carried[K - 1][r];
        }
      }
    }
    __syncthreads();
  }
}

#define BLOCKED(NAME, K, TY, RY)                                                         \
  extern "C" __global__ void __launch_bounds__(32 * TY) NAME(FIELDS) {                   \
    CHECKED_RULE                                                                         \
    u32 shared_bytes;                                                                    \
    asm("mov.u32 %0, %%dynamic_smem_size;" : "=r"(shared_bytes));                        \
    if (nx % 4 != 0 || blockDim.x != 32 || blockDim.y != TY || blockIdx.z * (u64)chunk >= nz) \
      return;                                                                            \
    if (shared_bytes < 2 * K * TY * RY * 32 * sizeof(float4)) return;                    \
    march<K, TY, RY>(u, e, u_out, e_out, nx, ny, nz, chunk, rule);                       \
  }

BLOCKED(rd_block2, 2, 16, 2)
BLOCKED(rd_block3, 3, 16, 2)

// Many steps in one launch, for lattices that the multiprocessors hold between them. A block owns
// `tile_y` rows of `tile_z` planes: the medium lies in shared memory, twice, with a rim of its
// neighbours' cells around it; the memory stays in registers. What neighbours need of a step is
// computed first and passed on through `letters`, each value in one word with the number of its
// step, so that the reader waits for the value itself: no flag, no fence. Even and odd steps have
// letters of their own. One is written again two steps later, after the answer to its reader's next
// step, so that nobody loses what is not read yet. `before` is the number of the step before the
// first, in all launches that use these letters.
#define RESIDENT_THREADS 1024
#define RESIDENT_GROUPS 4

__device__ __forceinline__ void send(u64* letter, float4 value, u32 number) {
  u64 tag = (u64)number << 32;
  u64 a = tag | __float_as_uint(value.x), b = tag | __float_as_uint(value.y);
  u64 c = tag | __float_as_uint(value.z), d = tag | __float_as_uint(value.w);
  asm volatile("st.relaxed.gpu.global.v2.u64 [%0], {%1, %2};" ::"l"(letter), "l"(a), "l"(b)
               : "memory");
  asm volatile("st.relaxed.gpu.global.v2.u64 [%0], {%1, %2};" ::"l"(letter + 2), "l"(c), "l"(d)
               : "memory");
}

__device__ __forceinline__ float4 receive(const u64* letter, u32 number) {
  u64 a, b, c, d;
  do {
    asm volatile("ld.relaxed.gpu.global.v2.u64 {%0, %1}, [%2];"
                 : "=l"(a), "=l"(b)
                 : "l"(letter)
                 : "memory");
    asm volatile("ld.relaxed.gpu.global.v2.u64 {%0, %1}, [%2];"
                 : "=l"(c), "=l"(d)
                 : "l"(letter + 2)
                 : "memory");
  } while ((u32)(a >> 32) != number || (u32)(b >> 32) != number || (u32)(c >> 32) != number ||
           (u32)(d >> 32) != number);
  return make_float4(__uint_as_float((u32)a), __uint_as_float((u32)b), __uint_as_float((u32)c),
                     __uint_as_float((u32)d));
}

extern "C" __global__ void __launch_bounds__(RESIDENT_THREADS, 1)
    rd_resident(const float* __restrict__ u, u64 u_length, const float* __restrict__ e,
                u64 e_length, float* __restrict__ u_out, u64 u_out_length,
                float* __restrict__ e_out, u64 e_out_length, u64* letters, u64 letters_length,
                u32 nx, u32 ny, u32 nz, u32 tile_y, u32 tile_z, u32 before, u32 steps,
                float centre, float diffusion, float reaction, float damped, float threshold) {
  CHECKED_RULE
  u64 all = (u64)nx * ny * nz;
  if (nx % 4 != 0 || tile_y == 0 || tile_z == 0 || blockDim.x != RESIDENT_THREADS) return;
  if (all >= 1ull << 31 || letters_length < 2 * all) return;
  u32 row = nx / 4, plane = row * ny;
  u32 tiles_y = (ny + tile_y - 1) / tile_y, tiles_z = (nz + tile_z - 1) / tile_z;
  u32 pitch = (tile_y + 2) * row, held = (tile_z + 2) * pitch;
  u32 shared_bytes;
  asm("mov.u32 %0, %%dynamic_smem_size;" : "=r"(shared_bytes));
  if (gridDim.x != tiles_y * tiles_z) return;
  if ((u64)tile_y * tile_z * row > RESIDENT_THREADS * RESIDENT_GROUPS) return;
  if (shared_bytes < 2 * (u64)held * sizeof(float4) + 2 * (tile_y + tile_z) * (u64)row * sizeof(uint2))
    return;
  extern __shared__ float4 shared[];
  // Of each group of the rim, where it lies here and in the fields.
  uint2* rim_places = (uint2*)(shared + 2 * held);
  const float4 zero = make_float4(0, 0, 0, 0);
  const float4* from = (const float4*)u;
  const float4* memory_from = (const float4*)e;
  u32 first_y = blockIdx.x % tiles_y * tile_y, first_z = blockIdx.x / tiles_y * tile_z;
  u32 rows = min(tile_y, ny - first_y), planes = min(tile_z, nz - first_z);
  u32 groups = rows * planes * row;
  // Rows that neighbours read come first: two planes, and the ends of those between.
  u32 rim = planes == 1 ? rows : 2 * rows + (planes - 2) * min(rows, 2u);
  for (u32 i = threadIdx.x; i < 2 * held; i += RESIDENT_THREADS) shared[i] = zero;
  __syncthreads();
  // Where a group lies in shared memory, its two upper bits whether it begins or ends a row, and
  // where it lies in the fields.
  const u32 BEGINS = 1u << 30, ENDS = 1u << 31, PLACE = BEGINS - 1;
  u32 place[RESIDENT_GROUPS], at[RESIDENT_GROUPS];
  float4 old[RESIDENT_GROUPS];
#pragma unroll
  for (int g = 0; g < RESIDENT_GROUPS; ++g) {
    u32 i = threadIdx.x + g * RESIDENT_THREADS;
    // Threads without a group go along for the shuffles.
    place[g] = (pitch + row) | BEGINS | ENDS, at[g] = 0, old[g] = zero;
    if (i >= groups) continue;
    u32 line = i / row, x = i - line * row, y = line, z = 0;
    if (planes > 1 && line >= rim) {
      y = 1 + (line - rim) % (rows - 2), z = 1 + (line - rim) / (rows - 2);
    } else if (planes > 1 && line >= 2 * rows) {
      u32 ends = min(rows, 2u), end = line - 2 * rows;
      y = end % ends ? rows - 1 : 0, z = 1 + end / ends;
    } else if (planes > 1 && line >= rows) {
      y = line - rows, z = planes - 1;
    }
    place[g] = ((z + 1) * pitch + (y + 1) * row + x) | (x == 0 ? BEGINS : 0) |
               (x + 1 == row ? ENDS : 0);
    at[g] = (first_z + z) * plane + (first_y + y) * row + x;
    old[g] = memory_from[at[g]];
    shared[place[g] & PLACE] = from[at[g]];
  }
  u32 around = 2 * (rows + planes) * row;
  for (u32 i = threadIdx.x; i < around; i += RESIDENT_THREADS) {
    u32 line = i / row, x = i - line * row;
    bool planewise = line < 2 * rows;
    u32 side = planewise ? line : line - 2 * rows, along = planewise ? rows : planes;
    // One before the tile's first, which wraps, or one behind its last.
    u32 across = side < along ? ~0u : planewise ? planes : rows;
    u32 y = planewise ? side % along : across, z = planewise ? across : side % along;
    u32 here = (z + 1) * pitch + (y + 1) * row + x;
    u32 there = (first_z + z) * plane + (first_y + y) * row + x;
    bool outside = first_y + y >= ny || first_z + z >= nz;
    if (!outside) shared[here] = from[there];
    rim_places[i] = make_uint2(here, outside ? ~0u : there);
  }
  __syncthreads();
  for (u32 step = 0; step < steps; ++step) {
    const float4* now = shared + (step % 2 ? held : 0);
    float4* next = shared + (step % 2 ? 0 : held);
    bool last = step + 1 == steps;
#pragma unroll
    for (int g = 0; g < RESIDENT_GROUPS; ++g) {
      u32 i = threadIdx.x + g * RESIDENT_THREADS;
      if (g * RESIDENT_THREADS >= groups) break;
      u32 p = place[g] & PLACE;
      float4 own = now[p];
      float left = __shfl_up_sync(0xffffffffu, own.w, 1);
      float right = __shfl_down_sync(0xffffffffu, own.x, 1);
      if (place[g] & BEGINS) left = 0.0f;
      else if (threadIdx.x % 32 == 0) left = ((const float*)(now + p))[-1];
      if (place[g] & ENDS) right = 0.0f;
      else if (threadIdx.x % 32 == 31) right = ((const float*)(now + p))[4];
      float4 value, memory;
      cells(rule, own, old[g], left, right, now[p - row], now[p + row], now[p - pitch],
            now[p + pitch], value, memory);
      old[g] = memory;
      if (i >= groups) continue;
      if (last) {
        ((float4*)u_out)[at[g]] = value;
        ((float4*)e_out)[at[g]] = memory;
      } else {
        next[p] = value;
        if (i < rim * row)
          send(letters + (step % 2 ? all : 0) + 4ull * at[g], value, before + step + 1);
      }
    }
    if (last) break;
    const u64* post = letters + (step % 2 ? all : 0);
    for (u32 i = threadIdx.x; i < around; i += RESIDENT_THREADS) {
      uint2 places = rim_places[i];
      if (places.y != ~0u) next[places.x] = receive(post + 4ull * places.y, before + step + 1);
    }
    __syncthreads();
  }
}
