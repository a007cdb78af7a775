# `wp.static` of elements of lists, tuples and dictionaries, of members, and of calls of the module's functions.
# emit: const wp::float32 var_0 = 4.5;
# emit: const wp::float32 var_2 = 2.0;
# emit: const bool var_4 = true;
# emit: const wp::float32 var_7 = 7.5;
# run: dim=1 out=[0,0,0,0] -> out=[4.5,2,1,7.5]
import warp as wp

TABLE = ((1.0, 2.0), (3.0, 4.5))
WEIGHTS = {"near": [2.0, 1.0], "far": 0.25}
ALLOWED = [2, 3, 5]


def scaled(count, by=1.5):
    """Grows with the count."""
    if count > 3:
        result = count * by
    else:
        result = 0.0
    return result


@wp.kernel
def k(out: wp.array(dtype=float)):
    out[0] = wp.static(TABLE[1][-1])
    out[1] = wp.static(WEIGHTS["near"][0])
    if wp.static(len(ALLOWED) in {3, 4}):
        out[2] = 1.0
    out[3] = wp.static(scaled(5))
