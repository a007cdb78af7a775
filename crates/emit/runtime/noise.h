// Gradient noise: random directions on a lattice, weighted by products of quintic steps.
//@ lattice_cell
namespace wp {
template <int N> struct lattice_cell {
    int corner[N][2];
    float inside[N];
    template <class P> explicit WP_INLINE lattice_cell(const P& point, float frequency = 1.0f) {
        for (int i = 0; i < N; ++i) {
            const float x = frequency * point[i], low = ::floorf(x);
            corner[i][0] = int(low);
            corner[i][1] = int(low) + 1;
            inside[i] = x - low;
        }
    }
    WP_INLINE void repeat(int axis, int period) {
        corner[axis][0] = corner[axis][0] % period;
        corner[axis][1] = (corner[axis][0] + 1) % period;
    }
};
template <> struct lattice_cell<1> {
    int corner[1][2];
    float inside[1];
    explicit WP_INLINE lattice_cell(float x) {
        const float low = ::floorf(x);
        corner[0][0] = int(low);
        corner[0][1] = int(low) + 1;
        inside[0] = x - low;
    }
    WP_INLINE void repeat(int axis, int period) {
        corner[axis][0] = corner[axis][0] % period;
        corner[axis][1] = (corner[axis][0] + 1) % period;
    }
};
}
//@ lattice_direction
namespace wp {
template <int N> WP_INLINE void lattice_direction(uint32 state, const lattice_cell<N>& cell, int which, float* out) {
    const uint32 primes[4] = {73856093u, 19349663u, 53471161u, 10000019u};
    uint32 number = 0;
    // The state is added to the last term, before it is mixed in.
    for (int i = 0; i < N; ++i) number ^= uint32(cell.corner[i][which >> i & 1]) * primes[i] + (i == N - 1 ? state : 0u);
    float square = 0.0f;
    for (int i = 0; i < N; ++i) {
        out[i] = randf(number) - 0.5f;
        square += out[i] * out[i];
    }
    const float scale = N == 1 ? 2.0f : square > 0.0f ? 1.0f / ::sqrtf(square) : 0.0f;
    for (int i = 0; i < N; ++i) out[i] *= scale;
}
}
//@ lattice_noise
namespace wp {
// The value for ORDER 0; the slopes for 1; the second derivatives, row by row, for 2. Kept out of line: a
// kernel that calls it eight times compiles in a fifth of the time.
template <int N, int ORDER> CUDA_CALLABLE WP_NOINLINE void lattice_noise(uint32 state, const lattice_cell<N>& cell, float* out) {
    float weight[N][2][3];
    for (int i = 0; i < N; ++i) {
        const float t = cell.inside[i];
        weight[i][1][0] = t * t * t * (t * (t * 6.0f - 15.0f) + 10.0f);
        weight[i][1][1] = 30.0f * t * t * (t * (t - 2.0f) + 1.0f);
        weight[i][1][2] = 60.0f * t * (t * (t * 2.0f - 3.0f) + 1.0f);
        weight[i][0][0] = 1.0f - weight[i][1][0];
        weight[i][0][1] = -weight[i][1][1];
        weight[i][0][2] = -weight[i][1][2];
    }
    const int count = ORDER == 0 ? 1 : ORDER == 1 ? N : N * N;
    for (int n = 0; n < count; ++n) out[n] = 0.0f;
    for (int which = 0; which < (1 << N); ++which) {
        float direction[N], along = 0.0f;
        lattice_direction(state, cell, which, direction);
        for (int i = 0; i < N; ++i) along += (cell.inside[i] - float(which >> i & 1)) * direction[i];
        // The product of the weights, differentiated along up to two axes.
        const auto product = [&](int a, int b) {
            float w = 1.0f;
            for (int i = 0; i < N; ++i) w *= weight[i][which >> i & 1][(i == a) + (i == b)];
            return w;
        };
        if (ORDER == 0) out[0] += product(-1, -1) * along;
        if (ORDER == 1)
            for (int i = 0; i < N; ++i) out[i] += product(i, -1) * along + product(-1, -1) * direction[i];
        if (ORDER == 2)
            for (int i = 0; i < N; ++i)
                for (int j = 0; j < N; ++j) out[i * N + j] += product(i, j) * along + product(i, -1) * direction[j] + product(j, -1) * direction[i];
    }
}
}
//@ noise
namespace wp {
WP_INLINE float noise(uint32 state, float x) {
    float value;
    lattice_noise<1, 0>(state, lattice_cell<1>(x), &value);
    return value;
}
template <int N> WP_INLINE float noise(uint32 state, const vec_t<N, float>& x) {
    float value;
    lattice_noise<N, 0>(state, lattice_cell<N>(x), &value);
    return value;
}
}
//@ adj_noise
namespace wp {
WP_INLINE void adj_noise(uint32 state, float x, uint32&, float& adj_x, float adj_ret) {
    float slope;
    lattice_noise<1, 1>(state, lattice_cell<1>(x), &slope);
    adj_x += slope * adj_ret;
}
template <int N> WP_INLINE void adj_noise(uint32 state, const vec_t<N, float>& x, uint32&, vec_t<N, float>& adj_x, float adj_ret) {
    float slope[N];
    lattice_noise<N, 1>(state, lattice_cell<N>(x), slope);
    for (int i = 0; i < N; ++i) adj_x[i] += slope[i] * adj_ret;
}
}
//@ periodic_cell
namespace wp {
WP_INLINE lattice_cell<1> periodic_cell(float x, int px) {
    lattice_cell<1> cell(x);
    cell.repeat(0, px);
    return cell;
}
template <int N, class... P> WP_INLINE lattice_cell<N> periodic_cell(const vec_t<N, float>& x, P... periods) {
    lattice_cell<N> cell(x);
    const int period[N] = {periods...};
    for (int i = 0; i < N; ++i) cell.repeat(i, period[i]);
    return cell;
}
}
//@ pnoise
namespace wp {
WP_INLINE float pnoise(uint32 state, float x, int px) {
    float value;
    lattice_noise<1, 0>(state, periodic_cell(x, px), &value);
    return value;
}
template <int N, class... P> WP_INLINE float pnoise(uint32 state, const vec_t<N, float>& x, P... periods) {
    float value;
    lattice_noise<N, 0>(state, periodic_cell(x, periods...), &value);
    return value;
}
}
//@ adj_pnoise
namespace wp {
WP_INLINE void adj_pnoise(uint32 state, float x, int px, uint32&, float& adj_x, int&, float adj_ret) {
    float slope;
    lattice_noise<1, 1>(state, periodic_cell(x, px), &slope);
    adj_x += slope * adj_ret;
}
template <int N> WP_INLINE void adj_periodic(uint32 state, const lattice_cell<N>& cell, vec_t<N, float>& adj_x, float adj_ret) {
    float slope[N];
    lattice_noise<N, 1>(state, cell, slope);
    for (int i = 0; i < N; ++i) adj_x[i] += slope[i] * adj_ret;
}
WP_INLINE void adj_pnoise(uint32 state, const vec_t<2, float>& x, int px, int py, uint32&, vec_t<2, float>& adj_x, int&, int&, float adj_ret) {
    adj_periodic(state, periodic_cell(x, px, py), adj_x, adj_ret);
}
WP_INLINE void adj_pnoise(uint32 state, const vec_t<3, float>& x, int px, int py, int pz, uint32&, vec_t<3, float>& adj_x, int&, int&, int&, float adj_ret) {
    adj_periodic(state, periodic_cell(x, px, py, pz), adj_x, adj_ret);
}
WP_INLINE void adj_pnoise(uint32 state, const vec_t<4, float>& x, int px, int py, int pz, int pt, uint32&, vec_t<4, float>& adj_x, int&, int&, int&, int&,
                          float adj_ret) {
    adj_periodic(state, periodic_cell(x, px, py, pz, pt), adj_x, adj_ret);
}
}
//@ curlnoise_octaves
namespace wp {
// Sums ORDER's derivatives of each field over the octaves: one field in the plane, else three, each of
// which takes its directions from a state of its own.
template <int N, int ORDER>
WP_INLINE void curlnoise_octaves(uint32 state, const vec_t<N, float>& x, uint32 octaves, float lacunarity, float gain, float* out) {
    const int count = ORDER == 1 ? N : N * N, fields = N == 2 ? 1 : 3;
    float frequency = 1.0f, amplitude = 1.0f, term[N * N];
    for (int n = 0; n < fields * count; ++n) out[n] = 0.0f;
    for (uint32 octave = 0; octave < octaves; ++octave) {
        const lattice_cell<N> cell(x, frequency);
        const float scale = ORDER == 1 ? amplitude : amplitude * frequency;
        for (int field = 0; field < fields; ++field) {
            if (field > 0) state = rand_pcg(state + rand_pcg(field == 1 ? 10019689u : 13112221u));
            lattice_noise<N, ORDER>(state, cell, term);
            for (int n = 0; n < count; ++n) out[field * count + n] += scale * term[n];
        }
        amplitude *= gain;
        frequency *= lacunarity;
    }
}
}
//@ curlnoise
namespace wp {
WP_INLINE vec_t<2, float> curlnoise(uint32 state, const vec_t<2, float>& x, uint32 octaves, float lacunarity, float gain) {
    float f[2];
    curlnoise_octaves<2, 1>(state, x, octaves, lacunarity, gain, f);
    return {-f[1], f[0]};
}
template <int N> WP_INLINE vec_t<3, float> curlnoise(uint32 state, const vec_t<N, float>& x, uint32 octaves, float lacunarity, float gain) {
    float slopes[3 * N], *f = slopes, *g = slopes + N, *h = slopes + 2 * N;
    curlnoise_octaves<N, 1>(state, x, octaves, lacunarity, gain, slopes);
    return {h[1] - g[2], f[2] - h[0], g[0] - f[1]};
}
}
//@ adj_curlnoise
namespace wp {
WP_INLINE void adj_curlnoise(uint32 state, const vec_t<2, float>& x, uint32 octaves, float lacunarity, float gain, uint32&, vec_t<2, float>& adj_x, uint32&,
                             float&, float&, const vec_t<2, float>& adj_ret) {
    float f[4];
    curlnoise_octaves<2, 2>(state, x, octaves, lacunarity, gain, f);
    for (int i = 0; i < 2; ++i) adj_x[i] += f[i] * adj_ret[1] - f[2 + i] * adj_ret[0];
}
template <int N>
WP_INLINE void adj_curlnoise(uint32 state, const vec_t<N, float>& x, uint32 octaves, float lacunarity, float gain, uint32&, vec_t<N, float>& adj_x, uint32&,
                             float&, float&, const vec_t<3, float>& adj_ret) {
    float bends[3 * N * N], *f = bends, *g = bends + N * N, *h = bends + 2 * N * N;
    curlnoise_octaves<N, 2>(state, x, octaves, lacunarity, gain, bends);
    for (int i = 0; i < N; ++i)
        adj_x[i] += adj_ret[0] * (h[N + i] - g[2 * N + i]) + adj_ret[1] * (f[2 * N + i] - h[i]) + adj_ret[2] * (g[i] - f[N + i]);
}
}
//@ poisson
namespace wp {
// Products of uniform numbers where the rate is small, else Hoermann's transformed rejection (1993).
WP_INLINE uint32 poisson(uint32& state, float rate) {
    if (rate == 0.0f) return 0;
    if (!(rate >= 10.0f)) {
        const float floor = ::expf(-rate);
        uint32 drawn = 0;
        for (float product = randf(state); product > floor; product *= randf(state)) ++drawn;
        return drawn;
    }
    const float b = 0.931f + 2.53f * ::sqrtf(rate), a = -0.059f + 0.02483f * b;
    const float inverse_alpha = 1.1239f + 1.1328f / (b - 3.4f), sure = 0.9277f - 3.6224f / (b - 2.0f);
    for (;;) {
        const float u = randf(state) - 0.5f, v = randf(state), margin = 0.5f - ::fabsf(u);
        const float k = ::floorf((2.0f * a / margin + b) * u + rate + 0.43f);
        if (margin >= 0.07f && v <= sure) return uint32(k);
        if (k < 0.0f || (margin < 0.013f && v > margin)) continue;
        // In double, so that a CPU and a GPU decide alike where the two sides differ by rounding.
        const double drawn = ::log(double(v)) + ::log(double(inverse_alpha)) - ::log(double(a / (margin * margin) + b));
        if (drawn <= -double(rate) + double(k) * ::log(double(rate)) - ::lgamma(double(k) + 1.0)) return uint32(k);
    }
}
}
