# Tuples as parameters of functions; Python's own types keep their names in them.
# emit: wp::tuple_t<wp::vec_t<3, wp::float32>, float> var_values)
# run: dim=1 out=[0,0] -> out=[28,7]
import warp as wp


@wp.func
def weighted(values: tuple[wp.vec3, float]) -> float:
    return wp.dot(values[0], values[0]) * values[1]


@wp.func
def total(values: tuple[int, ...]):
    sum = int(0)
    for i in range(wp.static(len(values))):
        sum += values[i]
    return float(sum)


@wp.kernel
def k(out: wp.array(dtype=float)):
    out[0] = weighted((wp.vec3(1.0, 2.0, 3.0), 2.0))
    pair = (3, 4)
    out[1] = total(pair)
