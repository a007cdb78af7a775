# Python computes with vectors, matrices and lists before the kernel is compiled.
# emit: const wp::float32 var_5 = 6.0;
# emit: const wp::float32 var_6 = 9.0;
# emit: const wp::float32 var_8 = 3.7416574954986572;
# emit: const wp::float32 var_9 = 3.741657257080078;
# emit: const wp::vec_t<3, wp::float32> var_16 = wp::initializer_array<3,wp::float32>{-3.0, 0.0, 1.0};
# emit: const wp::float64 var_20 = 4.0;
# emit: const wp::float64 var_21 = -1.0;
import warp as wp

V = wp.vec3(1.0, 2.0, 3.0)
M = wp.mat22(1.0, 2.0, 3.0, 4.0)
D = wp.vec3d(1.0, 2.0, 3.0)
LENGTHS = [3, 1, 2]
WEIGHTS = [0.5, 0.25]


@wp.kernel
def computed(o: wp.array(dtype=float), d: wp.array(dtype=wp.float64)):
    for i in range(wp.static(len(LENGTHS))):
        o[i] = wp.static(V[i] * float(LENGTHS[i]))
    o[3] = wp.static(V.y + M[1, 0] + M[1][1])
    o[4] = wp.static(wp.length(V)) + wp.static(wp.dot(V, wp.normalize(V)))
    o[5] = wp.static(sum(LENGTHS) * max(WEIGHTS)) + wp.static(float(min(LENGTHS)))
    o[6] = wp.static(wp.cross(V, wp.vec3(0.0, 1.0, 0.0)))[2]
    d[0] = wp.static(wp.float64(2.0) * D[1]) + wp.static(-D.x)
