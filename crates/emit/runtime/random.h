// Random numbers: a 32-bit permuted congruential generator used as a hash, one word of state.
//@ rand_pcg
namespace wp {
// O'Neill's RXS-M-XS output function over one congruential step.
WP_INLINE uint32 rand_pcg(uint32 state) {
    const uint32 word = state * 747796405u + 2891336453u;
    const uint32 mixed = ((word >> ((word >> 28) + 4u)) ^ word) * 277803737u;
    return (mixed >> 22) ^ mixed;
}
}
//@ rand_init
namespace wp {
WP_INLINE uint32 rand_init(int seed) { return rand_pcg(uint32(seed)); }
WP_INLINE uint32 rand_init(int seed, int offset) { return rand_pcg(uint32(seed) + rand_pcg(uint32(offset))); }
}
//@ randu
namespace wp {
WP_INLINE uint32 randu(uint32& state) { return state = rand_pcg(state); }
WP_INLINE uint32 randu(uint32& state, uint32 low, uint32 high) { return low + randu(state) % (high - low); }
}
//@ randi
namespace wp {
WP_INLINE int randi(uint32& state) { return int(randu(state)); }
WP_INLINE int randi(uint32& state, int low, int high) { return low + int(randu(state) % uint32(high - low)); }
}
//@ randf
namespace wp {
// 24 bits, as many as a float32 holds exactly: uniform in [0, 1).
WP_INLINE float randf(uint32& state) { return float(randu(state) >> 8) * (1.0f / 16777216.0f); }
WP_INLINE float randf(uint32& state, float low, float high) { return (high - low) * randf(state) + low; }
}
//@ randn
namespace wp {
// Box and Muller's method; the small term keeps the logarithm finite.
WP_INLINE float randn(uint32& state) {
    const float radius = ::sqrtf(-2.0f * ::logf(randf(state) + 1.1754944e-38f));
    return radius * ::cosf(6.2831853f * randf(state));
}
}
//@ sample_cdf
namespace wp {
WP_INLINE int sample_cdf(uint32& state, const array_t<float>& cdf) { return lower_bound(cdf, randf(state)); }
}
//@ sample_triangle
namespace wp {
WP_INLINE vec_t<2, float> sample_triangle(uint32& state) {
    const float r = ::sqrtf(randf(state)), u = 1.0f - r, v = randf(state) * r;
    return {u, v};
}
}
//@ sample_unit_ring
namespace wp {
WP_INLINE vec_t<2, float> sample_unit_ring(uint32& state) {
    const float angle = randf(state, 0.0f, 6.2831853f);
    return {::cosf(angle), ::sinf(angle)};
}
}
//@ sample_unit_disk
namespace wp {
WP_INLINE vec_t<2, float> sample_unit_disk(uint32& state) {
    const float r = ::sqrtf(randf(state)), angle = randf(state, 0.0f, 6.2831853f);
    return {r * ::cosf(angle), r * ::sinf(angle)};
}
}
//@ sample_unit_sphere_surface
namespace wp {
WP_INLINE vec_t<3, float> sample_unit_sphere_surface(uint32& state) {
    const float phi = ::acosf(1.0f - 2.0f * randf(state)), theta = randf(state, 0.0f, 6.2831853f);
    return {::cosf(theta) * ::sinf(phi), ::sinf(theta) * ::sinf(phi), ::cosf(phi)};
}
}
//@ sample_unit_sphere
namespace wp {
WP_INLINE vec_t<3, float> sample_unit_sphere(uint32& state) {
    const vec_t<3, float> direction = sample_unit_sphere_surface(state);
    return direction * ::cbrtf(randf(state));
}
}
//@ sample_unit_hemisphere_surface
namespace wp {
WP_INLINE vec_t<3, float> sample_unit_hemisphere_surface(uint32& state) {
    const float phi = ::acosf(1.0f - randf(state)), theta = randf(state, 0.0f, 6.2831853f);
    return {::cosf(theta) * ::sinf(phi), ::sinf(theta) * ::sinf(phi), ::cosf(phi)};
}
}
//@ sample_unit_hemisphere
namespace wp {
WP_INLINE vec_t<3, float> sample_unit_hemisphere(uint32& state) {
    const vec_t<3, float> direction = sample_unit_hemisphere_surface(state);
    return direction * ::cbrtf(randf(state));
}
}
//@ sample_unit_square
namespace wp {
WP_INLINE vec_t<2, float> sample_unit_square(uint32& state) {
    const float x = randf(state) - 0.5f, y = randf(state) - 0.5f;
    return {x, y};
}
}
//@ sample_unit_cube
namespace wp {
WP_INLINE vec_t<3, float> sample_unit_cube(uint32& state) {
    const float x = randf(state) - 0.5f, y = randf(state) - 0.5f, z = randf(state) - 0.5f;
    return {x, y, z};
}
}
