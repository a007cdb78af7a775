# Products of matrices, quaternions and transforms in `wp.static` have the bits of Warp's own library.
# emit: const wp::mat_t<2, 2, wp::float32> var_1 = wp::initializer_array<4,wp::float32>{0.5300000309944153, 2.569999933242798, 1.3100000619888306, 5.789999485015869};
# emit: const wp::vec_t<2, wp::float32> var_2 = wp::initializer_array<2,wp::float32>{1.5099999904632568, 3.169999837875366};
# emit: const wp::quat_t<wp::float32> var_3 = wp::initializer_array<4,wp::float32>{0.46000000834465027, 0.02000001072883606, 0.4000000059604645, 0.5500000715255737};
# emit: const wp::quat_t<wp::float32> var_4 = wp::initializer_array<4,wp::float32>{0.356034517288208, -0.23735633492469788, 0.356034517288208, 0.830747127532959};
# emit: const wp::vec_t<3, wp::float32> var_5 = wp::initializer_array<3,wp::float32>{0.8999999165534973, 1.7999998331069946, 2.6999998092651367};
# emit: const wp::vec_t<3, wp::float32> var_6 = wp::initializer_array<3,wp::float32>{0.43150007724761963, 0.5410003066062927, 0.6505003571510315};
import warp as wp

A = wp.mat22(1.1, 2.0, 3.0, 4.1)
B = wp.mat22(0.3, 0.7, 0.1, 0.9)
V = wp.vec2(0.1, 0.7)
P = wp.quat(0.1, 0.2, 0.3, 0.9)
Q = wp.quat(0.3, -0.2, 0.3, 0.7)
T = wp.transform(wp.vec3(1.0, 2.0, 3.0), P)


@wp.kernel
def k(x: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    product = wp.static(A @ B)
    turned = wp.static(A * V)
    both = wp.static(P * Q)
    unit = wp.static(wp.normalize(Q))
    x[i] = wp.static(wp.quat_rotate(P, wp.vec3(1.0, 2.0, 3.0)))
    x[i] += wp.static(wp.transform_point(T * wp.transform_inverse(T), wp.vec3(0.3, 0.2, 0.1)))
