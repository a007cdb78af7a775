# Comprehensions over what is known, in `wp.static` and at module level. A name of the kernel means nothing inside.
# emit: const wp::float32 var_1 = 6.25;
# emit: const wp::vec_t<3, wp::float32> var_2 = wp::initializer_array<3,wp::float32>{0.0, 0.5, 1.0};
# emit: const wp::float32 var_10 = 0.3333333333333333;
# emit: const wp::int32 var_23 = 27;
# emit: const bool var_27 = true;
# emit: const wp::vec_t<2, wp::float32> var_28 = wp::initializer_array<2,wp::float32>{2.0, 0.3333333432674408};
import warp as wp

COUNT = 4
WEIGHTS = [1.0 / float(2 * n + 1) for n in range(COUNT)]
SQUARES = tuple(n * n for n in range(COUNT))
AXES = [wp.vec2(float(a), b) for a, b in zip((1, 2), WEIGHTS)]


@wp.kernel
def k(x: wp.array(dtype=float), v: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    x[i] = wp.static(sum([w * w for w in (1.5, 2.0, 0.5) if w > 1.0]))
    v[i] = wp.static(wp.vec3(*[0.5 * float(i) for i in range(3)]))
    for j in range(wp.static(len(SQUARES))):
        x[i] += wp.static(WEIGHTS[j]) + float(wp.static(max(j * s for s in SQUARES)))
    if wp.static(any(s > 8 for s in SQUARES)):
        x[i] += wp.static(AXES[1])[0]
