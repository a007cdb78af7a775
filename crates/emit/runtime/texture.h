// Textures, sampled in software with the CPU's arithmetic. A kernel has the address of a word that holds the
// texture's address; a texture is 4-byte words and texels, as the host's `Texture` writes them.
//@ texture1d_t texture2d_t texture3d_t
namespace wp {
struct texture1d_t {
    uint64 tex = 0;
    int width = 0;
    // A texture has no gradient.
    WP_INLINE texture1d_t& operator+=(const texture1d_t&) { return *this; }
};
struct texture2d_t {
    uint64 tex = 0;
    int width = 0, height = 0;
    WP_INLINE texture2d_t& operator+=(const texture2d_t&) { return *this; }
};
struct texture3d_t {
    uint64 tex = 0;
    int width = 0, height = 0, depth = 0;
    WP_INLINE texture3d_t& operator+=(const texture3d_t&) { return *this; }
};
}
//@ texture_sample
namespace wp {
struct texture_data {
    enum { wrap, clamp, mirror, border };
    int size[3];
    uint32 channels, kind, linear, normalized, address[3];
    WP_INLINE const uint8* texels() const { return reinterpret_cast<const uint8*>(this + 1); }
    template <class T> WP_INLINE T read(int64 element) const { return reinterpret_cast<const T*>(texels())[element]; }
    static WP_INLINE float half(uint16 bits) {
        half_t h;
        h.bits = bits;
        return float(h);
    }
    WP_INLINE float fetch(const int64* at, uint32 channel) const {
        for (int axis = 0; axis < 3; ++axis)
            if (at[axis] < 0 || at[axis] >= size[axis]) return 0.0f;
        if (channel >= channels) return 0.0f;
        const int64 n = ((at[2] * size[1] + at[1]) * size[0] + at[0]) * channels + channel;
        switch (kind) {
        case 0: return read<uint8>(n) / 255.0f;
        case 1: return read<uint16>(n) / 65535.0f;
        case 3: return ::fmaxf(read<int8>(n) / 127.0f, -1.0f);
        case 4: return ::fmaxf(read<int16>(n) / 32767.0f, -1.0f);
        case 5: return half(read<uint16>(n));
        case 6: return float(read<uint32>(n));
        case 7: return float(read<int>(n));
        default: return read<float>(n);
        }
    }
    // The texel that stands for one beside the texture.
    WP_INLINE int64 index(int axis, int64 at) const {
        const int64 width = size[axis], period = address[axis] == mirror ? 2 * width : width;
        if (address[axis] == border) return at;
        if (address[axis] == clamp) return at < 0 ? 0 : at < width ? at : width - 1;
        int64 within = at % period;
        if (within < 0) within += period;
        return within < width ? within : period - 1 - within;
    }
    WP_INLINE bool repeats(int axis) const { return address[axis] == wrap || address[axis] == mirror; }
    // The texel that a coordinate lies in.
    WP_INLINE int64 nearest(int axis, float coordinate) const {
        const double width = size[axis];
        double reduced = coordinate;
        if (repeats(axis)) reduced = ::fmod(reduced, (normalized ? 1.0 : width) * (address[axis] == mirror ? 2.0 : 1.0));
        double texel = normalized ? reduced * width : reduced * width / width;
        if (!repeats(axis)) texel = ::fmax(::fmin(texel, width), -1.0);
        return index(axis, int64(::floor(texel)));
    }
    // The texels on both sides of a coordinate, and how near it is to the second.
    WP_INLINE float between(int axis, float coordinate, int64* both) const {
        const float width = float(size[axis]);
        float reduced = coordinate;
        if (repeats(axis)) {
            const float period = (normalized ? 1.0f : width) * (address[axis] == mirror ? 2.0f : 1.0f);
            reduced = ::fmodf(reduced, period);
            if (reduced < 0.0f) reduced += period;
        }
        float texel = (normalized ? reduced : reduced / width) * width - 0.5f;
        if (address[axis] == clamp) texel = ::fmaxf(::fminf(texel, float(size[axis] - 1)), 0.0f);
        else if (address[axis] == border) texel = ::fmaxf(::fminf(texel, width), -2.0f);
        const int64 first = int64(::floorf(texel));
        both[0] = index(axis, first);
        both[1] = index(axis, first + 1);
        return texel - float(first);
    }
    template <int N> WP_INLINE float sample(const float* place, uint32 channel) const {
        int64 both[3][2] = {}, at[3] = {};
        float share[3], value[1 << N];
        if (!linear) {
            for (int axis = 0; axis < N; ++axis) at[axis] = nearest(axis, place[axis]);
            return fetch(at, channel);
        }
        for (int axis = 0; axis < N; ++axis) share[axis] = between(axis, place[axis], both[axis]);
        for (int n = 0; n < 1 << N; ++n) {
            for (int axis = 0; axis < N; ++axis) at[axis] = both[axis][n >> axis & 1];
            value[n] = fetch(at, channel);
        }
        for (int axis = 0; axis < N; ++axis)
            for (int n = 0; n < 1 << (N - 1 - axis); ++n) value[n] = value[2 * n] * (1.0f - share[axis]) + value[2 * n + 1] * share[axis];
        return value[0];
    }
};
template <class T, int N> WP_INLINE T texture_sample_at(uint64 tex, const float* place) {
    if constexpr (__is_class(T)) {
        T value = {};
        if (!tex) return value;
        for (int n = 0; n < T::components; ++n) value.c[n] = (*reinterpret_cast<const texture_data* const*>(tex))->template sample<N>(place, n);
        return value;
    } else {
        return tex ? (*reinterpret_cast<const texture_data* const*>(tex))->template sample<N>(place, 0) : 0.0f;
    }
}
// A texture has one level of detail.
template <class T> WP_INLINE T texture_sample(const texture1d_t& t, float u, float) { return texture_sample_at<T, 1>(t.tex, &u); }
template <class T> WP_INLINE T texture_sample(const texture2d_t& t, float u, float v, float) {
    const float place[2] = {u, v};
    return texture_sample_at<T, 2>(t.tex, place);
}
template <class T, class V> WP_INLINE T texture_sample(const texture2d_t& t, const V& uv, float) { return texture_sample_at<T, 2>(t.tex, uv.c); }
template <class T> WP_INLINE T texture_sample(const texture3d_t& t, float u, float v, float w, float) {
    const float place[3] = {u, v, w};
    return texture_sample_at<T, 3>(t.tex, place);
}
template <class T, class V> WP_INLINE T texture_sample(const texture3d_t& t, const V& uvw, float) { return texture_sample_at<T, 3>(t.tex, uvw.c); }
}
