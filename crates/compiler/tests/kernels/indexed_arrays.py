# An indexed array is read like any other; its gradients are a plain array.
# emit: wp::indexedarray_t<wp::float32> var_a,
# emit: wp::array_t<wp::float32> adj_a,
# emit: var_1 = wp::address(var_a, var_0);
import warp as wp


@wp.kernel
def double(a: wp.indexedarray[float], out: wp.array[float]):
    i = wp.tid()
    out[i] = a[i] * 2.0
