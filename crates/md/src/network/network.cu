// A small neural force field in one kernel: a block takes two atoms through all layers.
//
// The floor is latency: 0.2 MB of weights and 7 MFLOP at 100 atoms are a fraction of a microsecond
// of the device. So every block reads all weights once from L2, each thread a few 16-byte pieces that
// are asked for before the activations they meet are ready, and nothing goes back to device memory but
// the results.

typedef unsigned long long u64;
typedef unsigned int u32;

#define THREADS 512
#define ATOMS 2
#define MOST_HIDDEN 256
// Rows that a thread asks for at a time.
#define CHUNK 8

__device__ float silu(float x) { return x / (1.0f + expf(-x)); }

// What a thread does in layers of one width: four columns of every `splits`-th row.
template <u32 HIDDEN>
struct Share {
  static const u32 groups = HIDDEN / 4, splits = THREADS / groups, rows = HIDDEN / splits;
  static const u32 chunk = rows < CHUNK ? rows : CHUNK;

  // The rows of a matrix from the thread's `begin`-th on.
  static __device__ void fetch(float4 (&into)[CHUNK], const float* matrix, u32 begin) {
    u32 group = threadIdx.x % groups, split = threadIdx.x / groups;
    const float4* columns = reinterpret_cast<const float4*>(matrix) + group;
#pragma unroll
    for (u32 i = 0; i < chunk; i++) into[i] = __ldg(columns + (split + (begin + i) * splits) * groups);
  }

  // Both layers between the first and the heads, from `values` to `values`.
  static __device__ void layers(float (*values)[MOST_HIDDEN], float4 (*parts)[THREADS],
                                float4 (&weights)[CHUNK], const float* matrices, const float* biases) {
    u32 split = threadIdx.x / groups;
#pragma unroll
    for (u32 layer = 0; layer < 2; layer++) {
      const float* matrix = matrices + layer * HIDDEN * HIDDEN;
      float4 sums[ATOMS];
#pragma unroll
      for (u32 which = 0; which < ATOMS; which++) sums[which] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
#pragma unroll
      for (u32 begin = 0; begin < rows; begin += chunk) {
        if (begin > 0) fetch(weights, matrix, begin);
#pragma unroll
        for (u32 i = 0; i < chunk; i++) {
          u32 row = split + (begin + i) * splits;
#pragma unroll
          for (u32 which = 0; which < ATOMS; which++) {
            float value = values[which][row];
            sums[which].x = fmaf(value, weights[i].x, sums[which].x);
            sums[which].y = fmaf(value, weights[i].y, sums[which].y);
            sums[which].z = fmaf(value, weights[i].z, sums[which].z);
            sums[which].w = fmaf(value, weights[i].w, sums[which].w);
          }
        }
      }
      // The next layer's weights travel while this one is added up.
      if (layer == 0) fetch(weights, matrix + HIDDEN * HIDDEN, 0);
#pragma unroll
      for (u32 which = 0; which < ATOMS; which++) parts[which][threadIdx.x] = sums[which];
      __syncthreads();
      for (u32 at = threadIdx.x; at < ATOMS * HIDDEN; at += THREADS) {
        u32 which = at / HIDDEN, column = at % HIDDEN;
        const float* part = reinterpret_cast<const float*>(parts[which]);
        float sum = biases[layer * HIDDEN + column];
#pragma unroll
        for (u32 s = 0; s < splits; s++) sum += part[s * HIDDEN + column];
        values[which][column] = silu(sum);
      }
      __syncthreads();
    }
  }
};

// `matrices` are two of hidden × hidden, `coordinates` three rows of hidden, `by_species` ten rows of
// hidden, `biases` two rows of hidden, `heads` hidden rows of four and a row of biases. `results` are
// three forces to an atom, then an energy to an atom, then the energy of all. `ticket` is zero before
// and after. Blocks are of 512 threads; hidden is 64, 128 or 256.
extern "C" __global__ void __launch_bounds__(THREADS)
    network(const u32* species, u64 species_length, const float* positions, u64 positions_length,
            const float* by_species, u64 by_species_length, const float* coordinates,
            u64 coordinates_length, const float* matrices, u64 matrices_length, const float* biases,
            u64 biases_length, const float* heads, u64 heads_length, float* results,
            u64 results_length, u32* ticket, u64 ticket_length, u32 hidden) {
  __shared__ float values[ATOMS][MOST_HIDDEN];
  // A part of four columns from every thread, for each atom.
  __shared__ float4 parts[ATOMS][THREADS];
  __shared__ bool last;
  u64 atoms = species_length;
  if (blockDim.x != THREADS || (hidden != 64 && hidden != 128 && hidden != 256)) return;
  if (positions_length < 3 * atoms || results_length < 4 * atoms + 1 || ticket_length < 1) return;
  if (by_species_length < 10 * (u64)hidden || coordinates_length < 3 * (u64)hidden) return;
  if (matrices_length < 2 * (u64)hidden * hidden || biases_length < 2 * (u64)hidden) return;
  if (heads_length < 4 * (u64)hidden + 4) return;
  u64 first = (u64)blockIdx.x * ATOMS;
  float4 weights[CHUNK];
  if (hidden == 64) Share<64>::fetch(weights, matrices, 0);
  else if (hidden == 128) Share<128>::fetch(weights, matrices, 0);
  else Share<256>::fetch(weights, matrices, 0);
  for (u32 at = threadIdx.x; at < ATOMS * hidden; at += THREADS) {
    u32 which = at / hidden, column = at % hidden;
    float value = 0.0f;
    if (first + which < atoms) {
      u64 atom = first + which;
      u32 kind = min(species[atom], 9u);
      float sum = by_species[kind * hidden + column];
      sum = fmaf(positions[3 * atom], coordinates[column], sum);
      sum = fmaf(positions[3 * atom + 1], coordinates[hidden + column], sum);
      sum = fmaf(positions[3 * atom + 2], coordinates[2 * hidden + column], sum);
      value = silu(sum);
    }
    values[which][column] = value;
  }
  __syncthreads();
  if (hidden == 64) Share<64>::layers(values, parts, weights, matrices, biases);
  else if (hidden == 128) Share<128>::layers(values, parts, weights, matrices, biases);
  else Share<256>::layers(values, parts, weights, matrices, biases);
  // A warp to each atom and output: energy, then the force's three parts.
  u32 lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  for (u32 task = warp; task < ATOMS * 4; task += THREADS / 32) {
    u32 which = task / 4, output = task % 4;
    float sum = 0.0f;
    for (u32 row = lane; row < hidden; row += 32) sum = fmaf(values[which][row], heads[4 * row + output], sum);
    for (u32 by = 16; by > 0; by >>= 1) sum += __shfl_xor_sync(0xffffffffu, sum, by);
    u64 atom = first + which;
    if (lane == 0 && atom < atoms) {
      sum += heads[4 * hidden + output];
      if (output == 0) results[3 * atoms + atom] = sum;
      else results[3 * atom + output - 1] = sum;
    }
  }
  // The block that comes last adds the energies up, in the order of atoms.
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) last = atomicInc(ticket, gridDim.x - 1) == gridDim.x - 1;
  __syncthreads();
  if (!last || warp != 0) return;
  __threadfence();
  float total = 0.0f;
  for (u64 atom = lane; atom < atoms; atom += 32) total += ((volatile float*)results)[3 * atoms + atom];
  for (u32 by = 16; by > 0; by >>= 1) total += __shfl_xor_sync(0xffffffffu, total, by);
  if (lane == 0) results[4 * atoms] = total;
}
