# A call writes the elements of a Fabric array by their Python names, as it does what points to them; an overload does not.
# emit: wp::fabricarray_t<float> var_x,
# emit: wp::fabricarray_t<float> adj_x,
# emit: wp::fabricarray_t<int> var_n,
# emit: float* var_1;
# emit: wp::float32 var_5;
# emit: float adj_1 = {};
# emit: wp::array_t<wp::float32> var_7;
import warp as wp


@wp.kernel
def fabric(x: wp.fabricarray(dtype=float), n: wp.fabricarray(dtype=int), rows: wp.fabricarrayarray(dtype=float)):
    i = wp.tid()
    x[i] = x[i] * float(n[i])
    row = rows[i]
    row[0] = x[i]
