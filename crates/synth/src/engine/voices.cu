// Voices on the GPU: one kernel renders a block of every stream, from note tables to 16-bit samples.
//
// A thread block renders TILE frames of one stream. First it finds the notes that sound there and,
// for each note and each QUANTUM frames, the cubic that its amplitude is; then each warp renders
// whole quanta, two neighbouring frames to a lane, adding note after note in the order of the table.
// What the formulas are is said in src/reference.rs; that cubics suffice, in src/sound/tone.rs.
//
// Note tables: NOTE_WORDS 64-bit words to a note, in the order of src/engine/note_table.rs.

typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long i64;

#define QUANTUM 64
#define TILE 1024
#define THREADS 256
#define QUANTA (TILE / QUANTUM)
// A swell looks 50 frames back and 49 ahead.
#define SPAN 100
#define BEFORE 50
#define SWELL_QUANTA ((TILE + SPAN + QUANTUM - 1) / QUANTUM)
#define ACTIVE 64
#define NOTE_WORDS 32
#define PIECES 5

#define KIND_SINE 0
#define KIND_SAW 1
#define KIND_KICK 2
#define KIND_SWELL 3

#define SAW_MASK 3u
#define SAW_NAIVE 0u
#define SAW_POLYBLEP 1u
#define TRUNCATE 4u
#define DRY 8u // sums as they are, for effects that are the host's

struct Piece {
    u64 start;
    double level, scale, rate;
};

struct Note {
    i64 start;
    u64 step, saw_step;
    u32 length, kind;
    float sine_share, saw_share;
    float saw_samples;
    u32 seed;
    float left, right;
    double gain, base, depth, turn;
    u64 pieces;
    Piece piece[PIECES];
};

// The amplitude over one quantum: a cubic, or, where a note begins, ends or bends, unknown.
struct Cubic {
    float c[4];
};

struct Active {
    u64 step, saw_step;
    i64 k0; // the note's own time at the first frame of the tile
    float sine_share, saw_share, saw_samples, left, right;
    u32 kind, index;
};

__device__ __forceinline__ float sine(u32 phase) {
    u32 reflected = (u32)((int)(phase + (1u << 30)) >> 31) & 0x7fffffffu;
    float x = (float)(int)(phase ^ reflected) * (1.0f / 1073741824.0f);
    float xx = x * x;
    float sum = 0.00015082056f * xx - 0.004672228f;
    sum = sum * xx + 0.07968848f;
    sum = sum * xx - 0.6459634f;
    sum = sum * xx + 1.57079633f;
    return sum * x;
}

__device__ __forceinline__ float saw(u32 phase, float samples_a_turn, u32 kind) {
    if (kind == SAW_NAIVE) return (float)(int)(phase ^ 0x80000000u) * (1.0f / 2147483648.0f);
    float turn = (float)(int)phase * (1.0f / 4294967296.0f);
    float samples = fabsf(turn) * samples_a_turn;
    float near = fmaxf(1.0f - samples, 0.0f);
    float missing;
    if (kind == SAW_POLYBLEP) {
        missing = near * near;
    } else {
        float far = fmaxf(2.0f - samples, 0.0f);
        far *= far;
        near *= near;
        missing = (far * far - 4.0f * (near * near)) * (1.0f / 12.0f);
    }
    return 2.0f * turn - copysignf(1.0f - missing, turn);
}

__device__ __forceinline__ float limit(float x) {
    x *= 0.7f;
    float z = fmaxf(fabsf(x) * -2.88539008f, -60.0f);
    float whole = rintf(z);
    float f = z - whole;
    float sum = 0.00015345812f * f + 0.0013399931f;
    sum = sum * f + 0.009618489f;
    sum = sum * f + 0.05550329f;
    sum = sum * f + 0.24022647f;
    sum = sum * f + 0.693147182f;
    sum = sum * f + 1.0f;
    float e = sum * __int_as_float(((int)whole + 127) << 23);
    return copysignf(__fdividef(1.0f - e, 1.0f + e), x);
}

__device__ __forceinline__ short pcm16(float value, u32 flags) {
    float scaled = value * 32767.0f;
    return (short)((flags & TRUNCATE) ? __float2int_rz(scaled) : __float2int_rn(scaled));
}

__device__ __forceinline__ u32 scramble(u32 x) {
    x ^= x >> 16;
    x *= 0x7feb352du;
    x ^= x >> 15;
    x *= 0x846ca68bu;
    return x ^ (x >> 16);
}

__device__ __forceinline__ float noise(u32 seed, u32 index) {
    u32 a = scramble(index * 2u + seed);
    u32 b = scramble((index * 2u + seed + 1u) ^ 0x9e3779b9u);
    u32 sum = (a & 0xffffu) + (a >> 16) + (b & 0xffffu) + (b >> 16);
    return (float)((int)sum - 131070) * (1.7320508f / 65536.0f);
}

__device__ __forceinline__ int piece_at(const Note* note, i64 k) {
    int piece = 0;
    for (int next = 1; next < PIECES; next++)
        if ((u64)next < note->pieces && (i64)note->piece[next].start <= k) piece = next;
    return piece;
}

// The amplitude of one sample, by the formula; zero outside the note.
__device__ __noinline__ float amplitude_of(const Note* note, i64 k) {
    if (k < 0 || k >= (i64)note->length) return 0.0f;
    const Piece* piece = &note->piece[piece_at(note, k)];
    double envelope = piece->level + piece->scale * exp(-piece->rate * (double)(k - (i64)piece->start));
    return (float)(note->gain * envelope * (note->base + note->depth * sin(note->turn * (double)k)));
}

// The cubic of samples k0 .. k0 + 63; its first coefficient is NaN where it takes more than one.
__device__ Cubic cubic_of(const Note* note, i64 k0) {
    Cubic cubic;
    i64 end = k0 + QUANTUM;
    if (end <= 0 || k0 >= (i64)note->length) {
        cubic.c[0] = cubic.c[1] = cubic.c[2] = cubic.c[3] = 0.0f;
        return cubic;
    }
    int index = piece_at(note, k0);
    i64 piece_end = (u64)(index + 1) < note->pieces ? (i64)note->piece[index + 1].start : (i64)note->length;
    if (k0 < 0 || end > piece_end) {
        cubic.c[0] = __int_as_float(0x7fffffff);
        cubic.c[1] = cubic.c[2] = cubic.c[3] = 0.0f;
        return cubic;
    }
    const Piece* piece = &note->piece[index];
    double r = piece->rate, d = note->turn;
    double e = piece->scale * exp(-r * (double)(k0 - (i64)piece->start));
    double s, c;
    sincos(d * (double)k0, &s, &c);
    double e0 = piece->level + e, e1 = -e * r, e2 = e * r * r * 0.5, e3 = -e * r * r * r * (1.0 / 6.0);
    double depth = note->gain * note->depth;
    double t0 = note->gain * note->base + depth * s, t1 = depth * c * d;
    double t2 = depth * s * d * d * -0.5, t3 = depth * c * d * d * d * (-1.0 / 6.0);
    cubic.c[0] = (float)(e0 * t0);
    cubic.c[1] = (float)(e0 * t1 + e1 * t0);
    cubic.c[2] = (float)(e0 * t2 + e1 * t1 + e2 * t0);
    cubic.c[3] = (float)(e0 * t3 + e1 * t2 + e2 * t1 + e3 * t0);
    return cubic;
}

__device__ __forceinline__ float amplitude_at(const Note* note, Cubic cubic, i64 k, int j) {
    if (cubic.c[0] != cubic.c[0]) return amplitude_of(note, k);
    float x = (float)j;
    return ((cubic.c[3] * x + cubic.c[2]) * x + cubic.c[1]) * x + cubic.c[0];
}

// What a tile needs to know, in shared memory.
struct Tile {
    Active active[ACTIVE];
    Cubic cubics[ACTIVE][QUANTA];
    Cubic swell[SWELL_QUANTA];
    int sums[TILE + SPAN + THREADS]; // running sums of a swell's noise
    int warp_sums[THREADS / 32];
    u32 count, next;
};

// Running sums of the 1124 values in tile->sums, in place; all threads take part.
__device__ void running_sums(Tile* tile) {
    const int each = (TILE + SPAN + THREADS - 1) / THREADS;
    int first = threadIdx.x * each, sum = 0;
    for (int i = first; i < first + each; i++) {
        sum += i < TILE + SPAN ? tile->sums[i] : 0;
        if (i < TILE + SPAN) tile->sums[i] = sum;
    }
    int before = sum;
    for (int step = 1; step < 32; step *= 2) {
        int other = __shfl_up_sync(0xffffffffu, before, step);
        if ((threadIdx.x & 31) >= step) before += other;
    }
    if ((threadIdx.x & 31) == 31) tile->warp_sums[threadIdx.x / 32] = before;
    __syncthreads();
    before -= sum;
    for (int warp = 0; warp < (int)threadIdx.x / 32; warp++) before += tile->warp_sums[warp];
    for (int i = first; i < first + each && i < TILE + SPAN; i++) tile->sums[i] += before;
    __syncthreads();
}

// Adds a swell to this thread's frames; all threads take part.
__device__ void add_swell(Tile* tile, const Note* note, i64 k0, float left, float right, float (*sum)[2][2]) {
    __syncthreads();
    if (threadIdx.x < SWELL_QUANTA) tile->swell[threadIdx.x] = cubic_of(note, k0 - BEFORE + QUANTUM * (i64)threadIdx.x);
    __syncthreads();
    for (int i = threadIdx.x; i < TILE + SPAN; i += THREADS) {
        i64 k = k0 - BEFORE + i;
        float loud = amplitude_at(note, tile->swell[i / QUANTUM], k, i % QUANTUM);
        tile->sums[i] = __float2int_rn(noise(note->seed, (u32)k) * loud * 1048576.0f);
    }
    __syncthreads();
    running_sums(tile);
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    for (int pass = 0; pass < TILE / (2 * THREADS); pass++)
        for (int half = 0; half < 2; half++) {
            int frame = (pass * (THREADS / 32) + warp) * QUANTUM + 2 * lane + half;
            i64 k = k0 + frame;
            if (k < 0 || k >= (i64)note->length) continue;
            int total = tile->sums[frame + SPAN - 1] - (frame > 0 ? tile->sums[frame - 1] : 0);
            float value = (float)total * (1.0f / (SPAN * 1048576.0f));
            sum[pass][half][0] += value * left;
            sum[pass][half][1] += value * right;
        }
}

#define PASSES (TILE / (2 * THREADS))

// Sums the notes `from .. to` of the table into `sum`: two frames to a lane and pass, two channels.
__device__ void render_tile(Tile* tile, const Note* notes, u32 from, u32 to, const float* kick, u64 kick_length,
                            u64 position, u32 flags, float (*sum)[2][2]) {
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    if (threadIdx.x == 0) tile->next = from;
    __syncthreads();
    while (true) {
        u32 next = tile->next;
        if (next >= to) break;
        __syncthreads();
        if (warp == 0) {
            u32 found = 0;
            while (next < to && found + 32 <= ACTIVE) {
                bool sounds = false;
                if (next + lane < to) {
                    const Note* note = &notes[next + lane];
                    i64 k0 = (i64)position - note->start;
                    sounds = k0 < (i64)note->length && k0 + TILE > 0;
                }
                u32 ballot = __ballot_sync(0xffffffffu, sounds);
                if (sounds) {
                    const Note* note = &notes[next + lane];
                    Active* active = &tile->active[found + __popc(ballot & ((1u << lane) - 1u))];
                    active->step = note->step;
                    active->saw_step = note->saw_step;
                    active->k0 = (i64)position - note->start;
                    active->sine_share = note->sine_share;
                    active->saw_share = note->saw_share;
                    active->saw_samples = note->saw_samples;
                    active->left = note->left;
                    active->right = note->right;
                    active->kind = note->kind;
                    active->index = next + lane;
                }
                found += __popc(ballot);
                next += 32;
            }
            if (lane == 0) {
                tile->count = found;
                tile->next = next;
            }
        }
        __syncthreads();
        u32 count = tile->count;
        for (u32 item = threadIdx.x; item < count * QUANTA; item += THREADS) {
            const Active* active = &tile->active[item / QUANTA];
            if (active->kind <= KIND_SAW)
                tile->cubics[item / QUANTA][item % QUANTA] =
                    cubic_of(&notes[active->index], active->k0 + QUANTUM * (i64)(item % QUANTA));
        }
        __syncthreads();
        for (u32 voice = 0; voice < count; voice++) {
            const Active active = tile->active[voice];
            const Note* note = &notes[active.index];
            if (active.kind == KIND_SWELL) {
                add_swell(tile, note, active.k0, active.left, active.right, sum);
                continue;
            }
#pragma unroll
            for (int pass = 0; pass < PASSES; pass++) {
                int quantum = pass * (THREADS / 32) + warp;
                i64 k = active.k0 + quantum * QUANTUM + 2 * lane;
                if (active.kind == KIND_KICK) {
                    for (int half = 0; half < 2; half++)
                        if (k + half >= 0 && (u64)(k + half) < kick_length) {
                            float value = kick[k + half] * (float)note->gain;
                            sum[pass][half][0] += value * active.left;
                            sum[pass][half][1] += value * active.right;
                        }
                    continue;
                }
                Cubic cubic = tile->cubics[voice][quantum];
                u64 phase = active.step * (u64)k;
                u64 saw_phase = active.saw_step * (u64)k;
#pragma unroll
                for (int half = 0; half < 2; half++) {
                    float wave = active.sine_share * sine((u32)(phase >> 32));
                    if (active.kind == KIND_SAW)
                        wave += active.saw_share * saw((u32)(saw_phase >> 32), active.saw_samples, flags & SAW_MASK);
                    float value = wave * amplitude_at(note, cubic, k + half, 2 * lane + half);
                    sum[pass][half][0] += value * active.left;
                    sum[pass][half][1] += value * active.right;
                    phase += active.step;
                    saw_phase += active.saw_step;
                }
            }
        }
        __syncthreads();
    }
}

// Renders the tile of this thread block and hands each frame to `store(frame of the stream, left, right)`.
template <class Store>
__device__ __forceinline__ void render_block(const u64* notes, u64 notes_length, const u32* offsets, u64 offsets_length,
                                             const float* kick, u64 kick_length, u64 position, u32 frames, u32 flags,
                                             Store store) {
    __shared__ Tile tile;
    u64 stream = blockIdx.y + (u64)blockIdx.z * gridDim.y;
    if (stream + 1 >= offsets_length) return;
    u64 most = notes_length / NOTE_WORDS;
    u32 to = offsets[stream + 1] < most ? offsets[stream + 1] : (u32)most;
    u64 first = (u64)blockIdx.x * TILE;
    float sum[PASSES][2][2] = {};
    render_tile(&tile, (const Note*)notes, offsets[stream], to, kick, kick_length, position + first, flags, sum);
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
#pragma unroll
    for (int pass = 0; pass < PASSES; pass++) {
        u64 frame = first + (pass * (THREADS / 32) + warp) * QUANTUM + 2 * lane;
        for (int half = 0; half < 2; half++) {
            float left = sum[pass][half][0], right = sum[pass][half][1];
            if (!(flags & DRY)) {
                left = limit(left);
                right = limit(right);
            }
            if (frame + half < frames) store(stream * frames + frame + half, left, right);
        }
    }
}

extern "C" __global__ void __launch_bounds__(THREADS) block_pcm16(
    const u64* notes, u64 notes_length, const u32* offsets, u64 offsets_length, const float* kick, u64 kick_length,
    short* out, u64 out_length, u64 position, u32 frames, u32 flags) {
    render_block(notes, notes_length, offsets, offsets_length, kick, kick_length, position, frames, flags,
                 [=](u64 frame, float left, float right) {
                     // Both channels in one store; the buffer is aligned and frame * 2 is even.
                     if (2 * frame + 1 < out_length)
                         ((short2*)out)[frame] = make_short2(pcm16(left, flags), pcm16(right, flags));
                 });
}

extern "C" __global__ void __launch_bounds__(THREADS) block_mono16(
    const u64* notes, u64 notes_length, const u32* offsets, u64 offsets_length, const float* kick, u64 kick_length,
    short* out, u64 out_length, u64 position, u32 frames, u32 flags) {
    render_block(notes, notes_length, offsets, offsets_length, kick, kick_length, position, frames, flags,
                 [=](u64 frame, float left, float) {
                     if (frame < out_length) out[frame] = pcm16(left, flags);
                 });
}

extern "C" __global__ void __launch_bounds__(THREADS) block_f32(
    const u64* notes, u64 notes_length, const u32* offsets, u64 offsets_length, const float* kick, u64 kick_length,
    float* out, u64 out_length, u64 position, u32 frames, u32 flags) {
    render_block(notes, notes_length, offsets, offsets_length, kick, kick_length, position, frames, flags,
                 [=](u64 frame, float left, float right) {
                     if (2 * frame + 1 < out_length) {
                         out[2 * frame] = left;
                         out[2 * frame + 1] = right;
                     }
                 });
}

// One note of a phrase added to sums in memory: what a launch per voice does. Grid: tiles of the phrase.
extern "C" __global__ void __launch_bounds__(THREADS) voice_add(
    const u64* notes, u64 notes_length, const float* kick, u64 kick_length, float* sums, u64 sums_length,
    u32 index, u32 first_tile, u32 flags) {
    __shared__ Tile tile;
    if ((u64)(index + 1) * NOTE_WORDS > notes_length) return;
    u64 first = ((u64)first_tile + blockIdx.x) * TILE;
    float sum[PASSES][2][2] = {};
    render_tile(&tile, (const Note*)notes, index, index + 1, kick, kick_length, first, flags, sum);
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
#pragma unroll
    for (int pass = 0; pass < PASSES; pass++) {
        u64 frame = first + (pass * (THREADS / 32) + warp) * QUANTUM + 2 * lane;
        for (int half = 0; half < 2; half++)
            for (int channel = 0; channel < 2; channel++) {
                u64 place = 2 * (frame + half) + channel;
                if (place < sums_length) sums[place] += sum[pass][half][channel];
            }
    }
}

// The operators of a note one by one, each through memory: the shape of a tensor program.
extern "C" __global__ void sine_into(const u64* notes, u64 notes_length, float* out, u64 out_length, u32 index) {
    u64 k = blockIdx.x * (u64)blockDim.x + threadIdx.x;
    if ((u64)(index + 1) * NOTE_WORDS > notes_length || k >= out_length) return;
    const Note* note = &((const Note*)notes)[index];
    out[k] = note->sine_share * sine((u32)((note->step * k) >> 32));
}

extern "C" __global__ void saw_into(const u64* notes, u64 notes_length, float* out, u64 out_length, u32 index, u32 flags) {
    u64 k = blockIdx.x * (u64)blockDim.x + threadIdx.x;
    if ((u64)(index + 1) * NOTE_WORDS > notes_length || k >= out_length) return;
    const Note* note = &((const Note*)notes)[index];
    out[k] = note->saw_share * saw((u32)((note->saw_step * k) >> 32), note->saw_samples, flags & SAW_MASK);
}

extern "C" __global__ void envelope_into(const u64* notes, u64 notes_length, float* out, u64 out_length, u32 index) {
    u64 k = blockIdx.x * (u64)blockDim.x + threadIdx.x;
    if ((u64)(index + 1) * NOTE_WORDS > notes_length || k >= out_length) return;
    out[k] = amplitude_of(&((const Note*)notes)[index], (i64)k);
}

extern "C" __global__ void add_into(const float* a, u64 a_length, float* out, u64 out_length) {
    u64 k = blockIdx.x * (u64)blockDim.x + threadIdx.x;
    if (k < a_length && k < out_length) out[k] += a[k];
}

extern "C" __global__ void multiply_into(const float* a, u64 a_length, float* out, u64 out_length) {
    u64 k = blockIdx.x * (u64)blockDim.x + threadIdx.x;
    if (k < a_length && k < out_length) out[k] *= a[k];
}

// Adds `length` samples of a voice to the sums at its start.
extern "C" __global__ void mix_into(const float* voice, u64 voice_length, const u64* notes, u64 notes_length,
                                    float* sums, u64 sums_length, u32 index) {
    u64 k = blockIdx.x * (u64)blockDim.x + threadIdx.x;
    if ((u64)(index + 1) * NOTE_WORDS > notes_length || k >= voice_length) return;
    const Note* note = &((const Note*)notes)[index];
    u64 place = 2 * ((u64)note->start + k);
    if (k >= note->length || place + 1 >= sums_length) return;
    sums[place] += voice[k] * note->left;
    sums[place + 1] += voice[k] * note->right;
}

// Limits sums, turns them into 16-bit samples, and clears them for the next phrase.
extern "C" __global__ void master_pcm16(float* sums, u64 sums_length, short* out, u64 out_length, u32 flags) {
    u64 place = blockIdx.x * (u64)blockDim.x + threadIdx.x;
    if (place >= sums_length || place >= out_length) return;
    out[place] = pcm16(limit(sums[place]), flags);
    sums[place] = 0.0f;
}
