# A dynamic loop iterates a range and carries values round.
# emit: if (iter_cmp(var_3) == 0) goto end_for_0;
# emit: wp::assign(var_2, var_5);
import warp as wp


@wp.kernel
def dynamic(o: wp.array(dtype=float), n: int):
    i = wp.tid()
    s = float(1.0)
    for k in range(i, n):
        s = s * s
    o[i] = s
