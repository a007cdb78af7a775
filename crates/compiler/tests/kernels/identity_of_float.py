# Python's `float` as the scalar of an identity keeps its name in that variable alone.
# emit: wp::transform_t<float> var_0;
# emit: wp::transform_t<wp::float32> var_1;
# emit: var_0 = wp::transform_identity<wp::float32>();
# run: dim=1 out=[0] -> out=[1]
import warp as wp


@wp.kernel
def k(out: wp.array(dtype=float)):
    t = wp.transform_identity(float)
    u = t * t
    out[0] = u[6]
