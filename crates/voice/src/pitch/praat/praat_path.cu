// The best way through pitch candidates, a warp to a piece of a file, and the level that silence is measured
// against. `pieces.cuh` says how pieces meet.

#include "pieces.cuh"

#define THREADS 256
// Origins of a frame's candidates, a byte each, and scores of an edge.
#define ROW 32

// Sum, least and largest sample of each tile of the batch, in threes; `tiles` holds where each begins and
// ends, in pairs.
extern "C" __global__ void __launch_bounds__(THREADS)
levels(const float* samples, u64 samples_length, const u64* tiles, u64 tiles_length, double* out,
       u64 out_length) {
  __shared__ double parts[3 * THREADS / 32];
  if (blockDim.x != THREADS || tiles_length / 2 > out_length / 3) return;
  for (u64 tile = blockIdx.x; tile < tiles_length / 2; tile += gridDim.x) {
    u64 begin = tiles[2 * tile], end = min(tiles[2 * tile + 1], samples_length);
    double sum = 0.0;
    float least = 3.4e38f, largest = -3.4e38f;
    for (u64 n = begin + threadIdx.x; n < end; n += THREADS) {
      float sample = __ldg(samples + n);
      sum += (double)sample;
      least = fminf(least, sample);
      largest = fmaxf(largest, sample);
    }
    for (u32 reach = 16; reach > 0; reach /= 2) {
      sum += __shfl_xor_sync(EVERY, sum, reach);
      least = fminf(least, __shfl_xor_sync(EVERY, least, reach));
      largest = fmaxf(largest, __shfl_xor_sync(EVERY, largest, reach));
    }
    __syncthreads();
    if (threadIdx.x % 32 == 0) {
      double* part = parts + 3 * (threadIdx.x / 32);
      part[0] = sum;
      part[1] = least;
      part[2] = largest;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
      for (u32 n = 1; n < THREADS / 32; ++n) {
        parts[0] += parts[3 * n];
        parts[1] = fmin(parts[1], parts[3 * n + 1]);
        parts[2] = fmax(parts[2], parts[3 * n + 2]);
      }
      for (u32 n = 0; n < 3; ++n) out[3 * tile + n] = parts[n];
    }
  }
}

// What steps cost, in multiples of the unit that `whole` rounds to.
struct Costs {
  double ceiling_height;
  double octave;
  double octave_jump;
  double change;
  double unvoiced;
  double silent;
  double silence;
  double loudest;
};

// What the kernels read of frames: `most` candidates have room in each, beside the unvoiced one.
struct Frames {
  const float* peaks;
  const u32* counts;
  const double2* candidates;
  u32 most;
};

// A lane's candidate as it was loaded, and what it is worth. Lane 0 is the unvoiced one.
struct Loaded {
  u32 count;
  float peak;
  double2 candidate;
};
struct Cell {
  u32 count;
  // The logarithm of its frequency times what an octave of a jump costs.
  double height;
  double value;
};

// Multiples of 2^-28: sums of 33 million are exact.
__device__ __forceinline__ double whole(double x) { return rint(x * 268435456.0) * (1.0 / 268435456.0); }

__device__ __forceinline__ Loaded load_frame(const Frames& frames, u64 frame, u32 lane) {
  Loaded loaded = {min(frames.counts[frame], frames.most), frames.peaks[frame], make_double2(1.0, 0.0)};
  if (lane >= 1 && lane <= loaded.count) loaded.candidate = frames.candidates[frame * frames.most + lane - 1];
  return loaded;
}

__device__ __forceinline__ Cell cell_of(const Loaded& loaded, const Costs& costs, u32 lane) {
  Cell cell;
  cell.count = loaded.count;
  double height = log2(loaded.candidate.x);
  double intensity = fmin((double)loaded.peak / costs.loudest, 1.0);
  double quiet = fmax(costs.silent - intensity / costs.silence, 0.0);
  double voiced = loaded.candidate.y - costs.octave * (costs.ceiling_height - height);
  bool candidate = lane >= 1 && lane <= cell.count;
  cell.height = candidate ? whole(costs.octave_jump * height) : 0.0;
  cell.value = whole(candidate ? voiced : costs.unvoiced + quiet);
  return cell;
}

// Walks a warp from frame `from`, whose cell and scores there are, to the last before `end`; keeps origins of
// the frames from `keep` on, the scores of the frame before them in `enter` and those of the last in `leave`,
// both relative to the unvoiced candidate's. `tops` gets the best candidate of the file's last frame.
__device__ __forceinline__ void walk(Cell cell, double score, const Frames& frames, const Costs& costs,
                                     u64 from, u64 keep, u64 end, u64 file_end, unsigned char* origins,
                                     u32* tops, double* enter, double* leave) {
  u32 lane = threadIdx.x % 32;
  Loaded next = load_frame(frames, min(from + 1, end - 1), lane);
  for (u64 frame = from + 1; frame < end; ++frame) {
    // All lanes take part in a shuffle, whoever wants its result.
    double unvoiced = __shfl_sync(EVERY, score, 0);
    if (frame == keep && enter != nullptr) enter[lane] = lane <= cell.count ? score - unvoiced : 0.0;
    Loaded loaded = next;
    next = load_frame(frames, min(frame + 1, end - 1), lane);
    Cell here = cell_of(loaded, costs, lane);
    double best = unvoiced - (lane == 0 ? 0.0 : costs.change);
    u32 origin = 0;
    for (u32 n = 1; n <= cell.count; ++n) {
      double other = __shfl_sync(EVERY, cell.height, n);
      double cost = lane == 0 ? costs.change : fabs(other - here.height);
      double way = __shfl_sync(EVERY, score, n) - cost;
      if (way > best) {
        best = way;
        origin = n;
      }
    }
    score = best + here.value;
    cell = here;
    if (frame >= keep) {
      if (lane <= cell.count) origins[frame * ROW + lane] = (unsigned char)origin;
      if (lane == 0) tops[frame] = 0;
    }
  }
  double unvoiced = __shfl_sync(EVERY, score, 0);
  leave[lane] = lane <= cell.count ? score - unvoiced : 0.0;
  if (end == file_end) {
    u32 top = 0;
    double best = unvoiced;
    for (u32 n = 1; n <= cell.count; ++n) {
      double other = __shfl_sync(EVERY, score, n);
      if (other > best) {
        best = other;
        top = n;
      }
    }
    if (lane == 0) tops[end - 1] = top;
  }
}

// The costs of a file: `levels` holds its tiles between two of `file_tiles`; `costs` the ceiling, what an
// octave below it costs, what an octave of a jump, what a change of voicing; the strength of the unvoiced candidate,
// what silence adds to it, and the share of the loudest sample that takes 1 of that away; whether the loudest is
// measured from the mean. All lanes take part.
__device__ __forceinline__ bool costs_of(const double* costs, u64 costs_length, const double* levels,
                                         u64 levels_length, const u64* file_tiles, u64 file_tiles_length,
                                         const u64* file_samples, u64 file_samples_length, u64 file,
                                         Costs* out) {
  if (costs_length < 8 || file + 1 >= file_tiles_length || file >= file_samples_length / 2) return false;
  u32 lane = threadIdx.x % 32;
  u64 end = file_tiles[file + 1];
  if (end > levels_length / 3) return false;
  double sum = 0.0, least = 3.4e38, largest = -3.4e38;
  for (u64 tile = file_tiles[file] + lane; tile < end; tile += 32) {
    sum += levels[3 * tile];
    least = fmin(least, levels[3 * tile + 1]);
    largest = fmax(largest, levels[3 * tile + 2]);
  }
  for (u32 reach = 16; reach > 0; reach /= 2) {
    sum += __shfl_xor_sync(EVERY, sum, reach);
    least = fmin(least, __shfl_xor_sync(EVERY, least, reach));
    largest = fmax(largest, __shfl_xor_sync(EVERY, largest, reach));
  }
  double mean = costs[7] * sum / (double)(file_samples[2 * file + 1] - file_samples[2 * file]);
  out->loudest = fmax(fmax(largest - mean, mean - least), 2.2250738585072014e-308);
  out->ceiling_height = log2(costs[0]);
  out->octave = costs[1];
  out->octave_jump = costs[2];
  out->change = whole(costs[3]);
  out->unvoiced = costs[4];
  out->silent = costs[5];
  out->silence = costs[6];
  return true;
}

// Every piece from its start on, a warp to each. `piece_files` names their files; `edges` has two rows of
// scores to a piece: those before it and those of its last frame.
extern "C" __global__ void __launch_bounds__(32)
praat_forward(const float* peaks, u64 peaks_length, const u32* counts, u64 counts_length,
              const double* candidates, u64 candidates_length, const double* level_of_tiles,
              u64 level_of_tiles_length, const u64* file_tiles, u64 file_tiles_length,
              const u64* file_samples, u64 file_samples_length, const double* costs, u64 costs_length,
              const u64* pieces, u64 pieces_length, const u32* piece_files, u64 piece_files_length,
              unsigned char* origins, u64 origins_length, u32* tops, u64 tops_length, double* edges,
              u64 edges_length, u32 most) {
  u64 n = blockIdx.x;
  u32 lane = threadIdx.x;
  if (blockDim.x != 32 || n >= pieces_length / 4 || n >= piece_files_length) return;
  if (most < 1 || most >= ROW) return;
  if (n >= edges_length / (2 * ROW)) return;
  u64 frames = min(min(peaks_length, counts_length), min(candidates_length / (2 * most), tops_length));
  Piece piece = piece_at(pieces, n);
  if (!piece_fits(piece, min(frames, origins_length / ROW))) return;
  Costs own;
  if (!costs_of(costs, costs_length, level_of_tiles, level_of_tiles_length, file_tiles, file_tiles_length,
                file_samples, file_samples_length, piece_files[n], &own)) {
    return;
  }
  Frames all = {peaks, counts, (const double2*)candidates, most};
  Cell cell = cell_of(load_frame(all, piece.start, lane), own, lane);
  if (piece.start == piece.begin && lane == 0) tops[piece.start] = 0;
  walk(cell, cell.value, all, own, piece.start, piece.begin, piece.end, piece.file_end, origins, tops,
       edges + 2 * n * ROW, edges + (2 * n + 1) * ROW);
}

// Whether each piece starts with the scores that the one before it ends with, a warp to each; the first of a
// file does.
extern "C" __global__ void __launch_bounds__(32)
praat_compare(const u64* pieces, u64 pieces_length, const double* edges, u64 edges_length, u32* same,
              u64 same_length) {
  u64 n = blockIdx.x;
  u32 lane = threadIdx.x;
  if (blockDim.x != 32 || n >= pieces_length / 4 || n >= same_length || n >= edges_length / (2 * ROW)) return;
  bool equal = pieces[4 * n] == pieces[4 * n + 1];
  if (!equal) equal = edges[(2 * n - 1) * ROW + lane] == edges[2 * n * ROW + lane];
  equal = __all_sync(EVERY, equal);
  if (lane == 0) same[n] = equal;
}

// Walks the pieces again that started with other scores than the one before ends with, a warp to a file, and
// counts them. `file_pieces` holds the running total of pieces.
extern "C" __global__ void __launch_bounds__(32)
praat_repair(const float* peaks, u64 peaks_length, const u32* counts, u64 counts_length,
             const double* candidates, u64 candidates_length, const double* level_of_tiles,
             u64 level_of_tiles_length, const u64* file_tiles, u64 file_tiles_length,
             const u64* file_samples, u64 file_samples_length, const double* costs, u64 costs_length,
             const u64* pieces, u64 pieces_length, const u64* file_pieces, u64 file_pieces_length,
             const u32* same, u64 same_length, unsigned char* origins, u64 origins_length, u32* tops,
             u64 tops_length, double* edges, u64 edges_length, u32* repaired, u64 repaired_length, u32 most) {
  __shared__ u32 least;
  u64 file = blockIdx.x;
  u32 lane = threadIdx.x;
  if (blockDim.x != 32 || file + 1 >= file_pieces_length || file >= repaired_length) return;
  if (most < 1 || most >= ROW) return;
  u64 first = file_pieces[file], end = file_pieces[file + 1];
  if (first > end || end > pieces_length / 4 || end > same_length || end > edges_length / (2 * ROW)) return;
  u64 frames = min(min(peaks_length, counts_length), min(candidates_length / (2 * most), tops_length));
  frames = min(frames, origins_length / ROW);
  Costs own;
  if (!costs_of(costs, costs_length, level_of_tiles, level_of_tiles_length, file_tiles, file_tiles_length,
                file_samples, file_samples_length, file, &own)) {
    return;
  }
  Frames all = {peaks, counts, (const double2*)candidates, most};
  u32 walked = 0;
  for (u64 at = first; at < end; ++at) {
    at = next_apart(same, at, end, &least);
    // The piece after the last that is walked starts with the right scores.
    for (bool right = false; at < end && !right;) {
      Piece piece = piece_at(pieces, at);
      if (at == first || !piece_fits(piece, frames) || piece.begin < 1) return;
      Cell cell = cell_of(load_frame(all, piece.begin - 1, lane), own, lane);
      walk(cell, edges[(2 * at - 1) * ROW + lane], all, own, piece.begin - 1, piece.begin, piece.end,
           piece.file_end, origins, tops, nullptr, edges + (2 * at + 1) * ROW);
      ++walked;
      ++at;
      right = at >= end ||
              __all_sync(EVERY, edges[(2 * at - 1) * ROW + lane] == edges[2 * at * ROW + lane]);
    }
  }
  if (lane == 0) repaired[file] = walked;
}

// The way back through each piece, a thread to each, from a frame `further` frames behind it or the file's last.
extern "C" __global__ void __launch_bounds__(32)
praat_back(const u64* pieces, u64 pieces_length, const unsigned char* origins, u64 origins_length,
           const u32* tops, u64 tops_length, u32* places, u64 places_length, u32* entries,
           u64 entries_length, u32 further) {
  u64 n = (u64)blockIdx.x * blockDim.x + threadIdx.x;
  if (n >= pieces_length / 4 || n >= entries_length) return;
  Piece piece = piece_at(pieces, n);
  if (!piece_fits(piece, min(min(origins_length / ROW, tops_length), places_length))) return;
  trace_back(piece, n, origins, tops, ROW, further, places, entries);
}

// Joins the ways back of a file's pieces, a warp to a file.
extern "C" __global__ void __launch_bounds__(32)
praat_join(const u64* pieces, u64 pieces_length, const u64* file_pieces, u64 file_pieces_length,
           const unsigned char* origins, u64 origins_length, const u32* entries, u64 entries_length,
           u32* places, u64 places_length) {
  u64 file = blockIdx.x;
  if (blockDim.x != 32 || file + 1 >= file_pieces_length) return;
  u64 first = file_pieces[file], end = file_pieces[file + 1];
  if (first >= end || end > pieces_length / 4 || end > entries_length) return;
  join_pieces(pieces, first, end, origins, min(origins_length / ROW, places_length), ROW, entries, places);
}

// Frequency and strength of each frame in pairs, both 0 where it is unvoiced.
extern "C" __global__ void __launch_bounds__(THREADS)
praat_track(const u32* places, u64 places_length, const double* candidates, u64 candidates_length,
            float* track, u64 track_length, u32 most) {
  if (most < 1) return;
  u64 frames = min(min(places_length, candidates_length / (2 * most)), track_length / 2);
  for (u64 frame = (u64)blockIdx.x * blockDim.x + threadIdx.x; frame < frames;
       frame += (u64)gridDim.x * blockDim.x) {
    u32 place = places[frame];
    double2 found = make_double2(0.0, 0.0);
    if (place >= 1 && place <= most) found = ((const double2*)candidates)[frame * most + place - 1];
    ((float2*)track)[frame] = make_float2((float)found.x, (float)found.y);
  }
}
