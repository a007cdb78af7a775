// A Lennard-Jones trajectory that stays on the device: drift, neighbour lists, forces.
//
// A step is `drift`, the five kernels of a new list (`bin`, `scan`, `place`, `arrange`, `list`, which
// leave at once unless an atom has moved half the skin) and `force`. No kernel waits for the host,
// so steps can be recorded as a graph. Every sum has one order: the same start gives the same bits.
//
// Vectors have four floats to an atom. `positions` has one atom more than there are: its coordinates
// are not numbers, and it pads lists, because no comparison accepts it.
//
// `state` is what the kernels of a step tell one another and the host.

typedef unsigned long long u64;
typedef unsigned int u32;

#define REBUILD 0    // lists must be made anew
#define BLOWN 1      // bits of the square of an impossible displacement
#define CROWDED 2    // neighbours of an atom that has more than fit
#define REBUILDS 3   // lists made
#define STEP_LOW 4   // steps made
#define STEP_HIGH 5
#define BLOWN_STEP 6 // the step that blew up
#define STATE_WORDS 8

__device__ float4* vectors(float* values) { return reinterpret_cast<float4*>(values); }
__device__ const float4* vectors(const float* values) { return reinterpret_cast<const float4*>(values); }

__device__ u64 least(u64 a, u64 b) { return a < b ? a : b; }

// The nearest whole number: the sum has no room for a fraction. Two additions at full rate, where
// the rounding instruction runs at a quarter of it.
__device__ float nearest(float x) {
  const float big = 12582912.0f;
  return __fsub_rn(__fadd_rn(x, big), big);
}

// The separation of the nearest images.
__device__ float shortest(float apart, float side, float inverse) {
  return fmaf(-side, nearest(apart * inverse), apart);
}

// Three normal numbers that depend on seed, step and atom alone: Philox4x32-10 and Box-Muller.
__device__ float3 normals(u32 seed_low, u32 seed_high, u32 step_low, u32 step_high, u32 atom) {
  u32 c0 = atom, c1 = 0, c2 = step_low, c3 = step_high, k0 = seed_low, k1 = seed_high;
#pragma unroll
  for (int round = 0; round < 10; round++) {
    if (round > 0) {
      k0 += 0x9E3779B9u;
      k1 += 0xBB67AE85u;
    }
    u32 high_a = __umulhi(0xD2511F53u, c0), low_a = 0xD2511F53u * c0;
    u32 high_b = __umulhi(0xCD9E8D57u, c2), low_b = 0xCD9E8D57u * c2;
    c0 = high_b ^ c1 ^ k0;
    c1 = low_b;
    c2 = high_a ^ c3 ^ k1;
    c3 = low_a;
  }
  const float scale = 1.0f / 16777216.0f;
  float u0 = ((float)(c0 >> 8) + 0.5f) * scale, u1 = ((float)(c1 >> 8) + 0.5f) * scale;
  float u2 = ((float)(c2 >> 8) + 0.5f) * scale, u3 = ((float)(c3 >> 8) + 0.5f) * scale;
  float near = sqrtf(-2.0f * logf(u0)), far = sqrtf(-2.0f * logf(u2));
  float sine, cosine;
  sincospif(2.0f * u1, &sine, &cosine);
  return make_float3(near * cosine, near * sine, far * cospif(2.0f * u3));
}

// Adds `by` to `x`. What rounding takes off is kept in `lost` and given back the next time (Kahan).
__device__ void creep(float& x, float& lost, float by) {
  by = __fsub_rn(by, lost);
  float there = __fadd_rn(x, by);
  lost = __fsub_rn(__fsub_rn(there, x), by);
  x = there;
}

// Half a kick, the drift, the thermostat where there is one, and whether lists are still good.
extern "C" __global__ void drift(float* positions, u64 positions_length, float* losses,
                                 u64 losses_length, float* velocities, u64 velocities_length,
                                 const float* forces, u64 forces_length,
                                 const float* references, u64 references_length,
                                 const u32* identities, u64 identities_length, u32* state,
                                 u64 state_length, float step, float rebuild_square,
                                 float blown_square, u32 thermostat, float damping, float noise,
                                 u32 seed_low, u32 seed_high) {
  u64 atom = (u64)blockIdx.x * blockDim.x + threadIdx.x;
  u64 atoms = least(identities_length, least(velocities_length, least(forces_length, references_length)) / 4);
  atoms = least(atoms, least(positions_length, losses_length) / 4);
  if (atom >= atoms || state_length < STATE_WORDS) return;
  float4 x = vectors(positions)[atom], lost = vectors(losses)[atom], v = vectors(velocities)[atom], f = vectors(forces)[atom];
  float4 r = vectors(references)[atom];
  float half = 0.5f * step;
  v.x += half * f.x;
  v.y += half * f.y;
  v.z += half * f.z;
  float by = thermostat ? half : step;
  creep(x.x, lost.x, by * v.x);
  creep(x.y, lost.y, by * v.y);
  creep(x.z, lost.z, by * v.z);
  if (thermostat) {
    float3 kick = normals(seed_low, seed_high, state[STEP_LOW], state[STEP_HIGH], identities[atom]);
    v.x = damping * v.x + noise * kick.x;
    v.y = damping * v.y + noise * kick.y;
    v.z = damping * v.z + noise * kick.z;
    creep(x.x, lost.x, half * v.x);
    creep(x.y, lost.y, half * v.y);
    creep(x.z, lost.z, half * v.z);
  }
  vectors(positions)[atom] = x;
  vectors(losses)[atom] = lost;
  vectors(velocities)[atom] = v;
  float dx = x.x - r.x, dy = x.y - r.y, dz = x.z - r.z;
  float square = dx * dx + dy * dy + dz * dz;
  // Written so that NaN counts as too far.
  if (!(square <= rebuild_square)) {
    state[REBUILD] = 1;
    if (!(square <= blown_square)) {
      u32 bits = __float_as_uint(square) & 0x7fffffffu;
      if (atomicMax(&state[BLOWN], bits) == 0) state[BLOWN_STEP] = state[STEP_LOW] + 1;
    }
  }
}

// What is inside stays; a rounding error at the upper side counts as zero.
__device__ float inside(float x, float side) {
  if (x >= 0.0f && x < side) return x;
  float image = x - side * floorf(x / side);
  return image >= 0.0f && image < side ? image : 0.0f;
}

__device__ u32 along(float x, float scale, u32 cells) {
  int cell = (int)(x * scale);
  return cell < 0 ? 0u : min((u32)cell, cells - 1);
}

// Puts atoms into the box and counts the atoms of each cell; `ranks` are places within a cell.
extern "C" __global__ void bin(float* positions, u64 positions_length, u32* cells, u64 cells_length,
                               u32* ranks, u64 ranks_length, u32* counts, u64 counts_length,
                               const u32* state, u64 state_length, float side_x, float side_y,
                               float side_z, u32 nx, u32 ny, u32 nz) {
  if (state_length < STATE_WORDS || !state[REBUILD]) return;
  u64 atoms = least(cells_length, ranks_length);
  for (u64 atom = (u64)blockIdx.x * blockDim.x + threadIdx.x; atom < atoms;
       atom += (u64)gridDim.x * blockDim.x) {
    if (atom >= positions_length / 4) return;
    float4 x = vectors(positions)[atom];
    x.x = inside(x.x, side_x);
    x.y = inside(x.y, side_y);
    x.z = inside(x.z, side_z);
    vectors(positions)[atom] = x;
    u32 cell = (along(x.x, (float)nx / side_x, nx) * ny + along(x.y, (float)ny / side_y, ny)) * nz +
               along(x.z, (float)nz / side_z, nz);
    if (cell >= counts_length) continue;
    cells[atom] = cell;
    ranks[atom] = atomicAdd(&counts[cell], 1u);
  }
}

// Running totals of the counts, which are zero again afterwards. One block.
extern "C" __global__ void scan(u32* counts, u64 counts_length, u32* starts, u64 starts_length,
                                u32* state, u64 state_length) {
  if (state_length < STATE_WORDS || !state[REBUILD] || blockIdx.x != 0) return;
  __shared__ u32 warps[32];
  u32 lane = threadIdx.x & 31, warp = threadIdx.x >> 5, warp_count = blockDim.x >> 5;
  u32 carried = 0;
  for (u64 base = 0; base < counts_length; base += blockDim.x) {
    u64 cell = base + threadIdx.x;
    u32 count = cell < counts_length ? counts[cell] : 0;
    u32 total = count;
    for (int by = 1; by < 32; by <<= 1) {
      u32 below = __shfl_up_sync(0xffffffffu, total, by);
      if (lane >= by) total += below;
    }
    if (lane == 31) warps[warp] = total;
    __syncthreads();
    if (warp == 0) {
      u32 sum = lane < warp_count ? warps[lane] : 0;
      for (int by = 1; by < 32; by <<= 1) {
        u32 below = __shfl_up_sync(0xffffffffu, sum, by);
        if (lane >= by) sum += below;
      }
      warps[lane] = sum;
    }
    __syncthreads();
    u32 before = carried + (warp > 0 ? warps[warp - 1] : 0) + total - count;
    if (cell < counts_length) {
      counts[cell] = 0;
      if (cell < starts_length) starts[cell] = before;
      if (cell + 1 == counts_length && cell + 1 < starts_length) starts[cell + 1] = before + count;
    }
    carried += warps[warp_count - 1];
    __syncthreads();
  }
  if (threadIdx.x == 0) state[REBUILDS] += 1;
}

// Gathers the atoms of each cell; their order within it is not determined yet.
extern "C" __global__ void place(const u32* cells, u64 cells_length, const u32* ranks,
                                 u64 ranks_length, const u32* starts, u64 starts_length, u32* order,
                                 u64 order_length, const u32* state, u64 state_length) {
  if (state_length < STATE_WORDS || !state[REBUILD]) return;
  u64 atoms = least(cells_length, ranks_length);
  for (u64 atom = (u64)blockIdx.x * blockDim.x + threadIdx.x; atom < atoms;
       atom += (u64)gridDim.x * blockDim.x) {
    u32 cell = cells[atom];
    if (cell >= starts_length) continue;
    u64 slot = (u64)starts[cell] + ranks[atom];
    if (slot < order_length) order[slot] = (u32)atom;
  }
}

// Copies atoms into the order of their cells, within a cell into the order they had: a place is the
// number of atoms of the cell that came before.
extern "C" __global__ void arrange(const u32* cells, u64 cells_length, const u32* starts,
                                   u64 starts_length, const u32* order, u64 order_length,
                                   const float* positions, u64 positions_length,
                                   const float* losses, u64 losses_length,
                                   const float* velocities, u64 velocities_length,
                                   const u32* identities, u64 identities_length,
                                   float* new_positions, u64 new_positions_length,
                                   float* new_losses, u64 new_losses_length,
                                   float* new_velocities, u64 new_velocities_length,
                                   u32* new_identities, u64 new_identities_length, const u32* state,
                                   u64 state_length) {
  if (state_length < STATE_WORDS || !state[REBUILD]) return;
  u64 atoms = least(least(order_length, cells_length), least(identities_length, new_identities_length));
  atoms = least(atoms, least(least(positions_length, velocities_length),
                             least(new_positions_length, new_velocities_length)) / 4);
  atoms = least(atoms, least(losses_length, new_losses_length) / 4);
  for (u64 slot = (u64)blockIdx.x * blockDim.x + threadIdx.x; slot < atoms;
       slot += (u64)gridDim.x * blockDim.x) {
    u32 atom = order[slot];
    if (atom >= atoms) continue;
    u32 cell = cells[atom];
    if ((u64)cell + 1 >= starts_length) continue;
    u64 begin = starts[cell], end = least(starts[cell + 1], order_length);
    u64 to = begin;
    for (u64 other = begin; other < end; other++) to += order[other] < atom;
    if (to >= atoms) continue;
    vectors(new_positions)[to] = vectors(positions)[atom];
    vectors(new_losses)[to] = vectors(losses)[atom];
    vectors(new_velocities)[to] = vectors(velocities)[atom];
    new_identities[to] = identities[atom];
  }
}

// The list of each atom, one warp to an atom, and the ordered atoms back to where they live. A list
// is padded to whole multiples of `padding` with the atom that is none.
extern "C" __global__ void list(const float* new_positions, u64 new_positions_length,
                                const float* new_losses, u64 new_losses_length,
                                const float* new_velocities, u64 new_velocities_length,
                                const u32* new_identities, u64 new_identities_length,
                                const u32* starts, u64 starts_length, float* positions,
                                u64 positions_length, float* losses, u64 losses_length,
                                float* velocities, u64 velocities_length, u32* identities,
                                u64 identities_length, float* references, u64 references_length,
                                u32* entries, u64 entries_length,
                                u32* lengths, u64 lengths_length, u32* state, u64 state_length,
                                float side_x, float side_y, float side_z, float reach_square, u32 nx,
                                u32 ny, u32 nz, u32 room, u32 padding) {
  if (state_length < STATE_WORDS || !state[REBUILD]) return;
  u64 atoms = least(least(identities_length, new_identities_length), lengths_length);
  atoms = least(atoms, least(least(new_positions_length, new_velocities_length),
                             least(velocities_length, references_length)) / 4);
  atoms = least(atoms, least(positions_length, least(losses_length, new_losses_length)) / 4);
  if ((u64)nx * ny * nz >= starts_length || room == 0 || padding == 0) return;
  u32 lane = threadIdx.x & 31;
  u64 warps = (u64)gridDim.x * (blockDim.x >> 5);
  float inverse_x = 1.0f / side_x, inverse_y = 1.0f / side_y, inverse_z = 1.0f / side_z;
  const float4* all = vectors(new_positions);
  for (u64 atom = (u64)blockIdx.x * (blockDim.x >> 5) + (threadIdx.x >> 5); atom < atoms; atom += warps) {
    if ((atom + 1) * room > entries_length) return;
    u32* mine = entries + atom * room;
    float4 here = all[atom];
    u32 cx = along(here.x, (float)nx / side_x, nx), cy = along(here.y, (float)ny / side_y, ny);
    u32 cz = along(here.z, (float)nz / side_z, nz);
    u32 found = 0;
    u32 rows = nx == 1 ? 1 : 9;
    for (u32 row = 0; row < rows; row++) {
      u32 x = nx == 1 ? 0 : (cx + nx - 1 + row / 3) % nx, y = nx == 1 ? 0 : (cy + ny - 1 + row % 3) % ny;
      u32 base = (x * ny + y) * nz;
      // The row's three cells are one range, or two where it crosses a side of the box.
      for (u32 part = 0; part < 2; part++) {
        u32 low, high;
        if (nx == 1) {
          if (part == 1) break;
          low = 0;
          high = 0;
        } else if (cz == 0) {
          low = part == 0 ? 0 : nz - 1;
          high = part == 0 ? 1 : nz - 1;
        } else if (cz == nz - 1) {
          low = part == 0 ? 0 : nz - 2;
          high = part == 0 ? 0 : nz - 1;
        } else {
          if (part == 1) break;
          low = cz - 1;
          high = cz + 1;
        }
        u64 begin = starts[base + low], end = least(starts[base + high + 1], atoms);
        for (u64 first = begin; first < end; first += 32) {
          u64 other = first + lane;
          bool near = false;
          if (other < end && other != atom) {
            float4 there = all[other];
            float dx = shortest(here.x - there.x, side_x, inverse_x);
            float dy = shortest(here.y - there.y, side_y, inverse_y);
            float dz = shortest(here.z - there.z, side_z, inverse_z);
            near = dx * dx + dy * dy + dz * dz < reach_square;
          }
          u32 votes = __ballot_sync(0xffffffffu, near);
          u32 at = found + __popc(votes & ((1u << lane) - 1));
          if (near && at < room) mine[at] = (u32)other;
          found += __popc(votes);
        }
      }
    }
    if (lane == 0 && found > room) atomicMax(&state[CROWDED], found);
    found = min(found, room);
    u32 padded = min((found + padding - 1) / padding * padding, room);
    for (u32 at = found + lane; at < padded; at += 32) mine[at] = (u32)atoms;
    if (lane == 0) {
      lengths[atom] = padded;
      vectors(positions)[atom] = here;
      vectors(references)[atom] = here;
      vectors(losses)[atom] = vectors(new_losses)[atom];
      vectors(velocities)[atom] = vectors(new_velocities)[atom];
      identities[atom] = new_identities[atom];
    }
  }
}

// Forces, with half a kick; `forces` has the atom's share of the energy as its fourth number. `lanes`
// threads of a warp share an atom, and each takes four neighbours at a time. The first thread of all
// ends the step: it counts it by `advance` and takes the order for new lists back.
extern "C" __global__ void force(const float* __restrict__ positions, u64 positions_length,
                                 const u32* __restrict__ entries, u64 entries_length,
                                 const u32* __restrict__ lengths, u64 lengths_length,
                                 float* velocities, u64 velocities_length, float* forces,
                                 u64 forces_length, float* virials, u64 virials_length, u32* state,
                                 u64 state_length, float side_x, float side_y, float side_z,
                                 float cutoff_square, float energy_shift, float force_shift,
                                 float kick, u32 room, u32 lanes, u32 advance) {
  u64 thread = (u64)blockIdx.x * blockDim.x + threadIdx.x;
  u64 atoms = least(least(lengths_length, virials_length), least(velocities_length, forces_length) / 4);
  u64 held = positions_length / 4;
  if (state_length < STATE_WORDS || held == 0 || lanes == 0) return;
  if (thread == 0) {
    state[REBUILD] = 0;
    u32 low = state[STEP_LOW] + advance;
    if (low < advance) state[STEP_HIGH] += 1;
    state[STEP_LOW] = low;
  }
  u64 atom = thread / lanes;
  u32 lane = (u32)(thread % lanes);
  bool mine = atom < atoms && atom < held && (atom + 1) * room <= entries_length;
  float fx = 0.0f, fy = 0.0f, fz = 0.0f, energy = 0.0f, virial = 0.0f;
  if (mine) {
    const float4* all = vectors(positions);
    float4 here = all[atom];
    const uint4* groups = reinterpret_cast<const uint4*>(entries + atom * room);
    u32 last = (u32)(held - 1);
    float inverse_x = 1.0f / side_x, inverse_y = 1.0f / side_y, inverse_z = 1.0f / side_z;
    u32 count = min(lengths[atom], room) / 4;
    for (u32 group = lane; group < count; group += lanes) {
      uint4 four = groups[group];
      u32 others[4] = {four.x, four.y, four.z, four.w};
      float4 there[4];
#pragma unroll
      for (int k = 0; k < 4; k++) there[k] = all[min(others[k], last)];
#pragma unroll
      for (int k = 0; k < 4; k++) {
        float dx = shortest(here.x - there[k].x, side_x, inverse_x);
        float dy = shortest(here.y - there[k].y, side_y, inverse_y);
        float dz = shortest(here.z - there[k].z, side_z, inverse_z);
        float square = dx * dx + dy * dy + dz * dz;
        if (square < cutoff_square) {
          float inverse = __fdividef(1.0f, square);
          float sixth = inverse * inverse * inverse;
          float over = sixth * inverse * fmaf(48.0f, sixth, -24.0f);
          float pair = fmaf(4.0f * sixth, sixth - 1.0f, energy_shift);
          if (force_shift != 0.0f) {
            float distance = sqrtf(square);
            over = fmaf(force_shift, distance * inverse, over);
            pair = fmaf(-force_shift, distance, pair);
          }
          fx = fmaf(over, dx, fx);
          fy = fmaf(over, dy, fy);
          fz = fmaf(over, dz, fz);
          energy += pair;
          virial = fmaf(over, square, virial);
        }
      }
    }
  }
  for (u32 by = lanes >> 1; by > 0; by >>= 1) {
    fx += __shfl_xor_sync(0xffffffffu, fx, by);
    fy += __shfl_xor_sync(0xffffffffu, fy, by);
    fz += __shfl_xor_sync(0xffffffffu, fz, by);
    energy += __shfl_xor_sync(0xffffffffu, energy, by);
    virial += __shfl_xor_sync(0xffffffffu, virial, by);
  }
  if (mine && lane == 0) {
    vectors(forces)[atom] = make_float4(fx, fy, fz, 0.5f * energy);
    virials[atom] = 0.5f * virial;
    float4 v = vectors(velocities)[atom];
    v.x += kick * fx;
    v.y += kick * fy;
    v.z += kick * fz;
    vectors(velocities)[atom] = v;
  }
}

// Energy, virial, twice the kinetic energy and the three parts of the momentum. One block of 256;
// every thread adds its atoms in order, then a tree.
extern "C" __global__ void totals(const float* velocities, u64 velocities_length, const float* forces,
                                  u64 forces_length, const float* virials, u64 virials_length,
                                  double* sums, u64 sums_length) {
  if (blockIdx.x != 0 || sums_length < 6 || blockDim.x != 256) return;
  __shared__ double parts[6][256];
  double sum[6] = {0.0, 0.0, 0.0, 0.0, 0.0, 0.0};
  u64 atoms = least(virials_length, least(velocities_length, forces_length) / 4);
  for (u64 atom = threadIdx.x; atom < atoms; atom += 256) {
    float4 v = vectors(velocities)[atom];
    sum[0] += vectors(forces)[atom].w;
    sum[1] += virials[atom];
    sum[2] += (double)v.x * v.x + (double)v.y * v.y + (double)v.z * v.z;
    sum[3] += v.x;
    sum[4] += v.y;
    sum[5] += v.z;
  }
  for (int kind = 0; kind < 6; kind++) parts[kind][threadIdx.x] = sum[kind];
  __syncthreads();
  for (u32 half = 128; half > 0; half >>= 1) {
    if (threadIdx.x < half)
      for (int kind = 0; kind < 6; kind++) parts[kind][threadIdx.x] += parts[kind][threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x < 6) sums[threadIdx.x] = parts[threadIdx.x][0];
}
