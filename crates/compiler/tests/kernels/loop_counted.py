# A long loop over constants counts; the adjoint counts back.
# emit: if (var_3 >= 40) goto end_for_0;
# emit: var_3 = 38;
import warp as wp


@wp.kernel
def counted(x: wp.array(dtype=float), o: wp.array(dtype=float)):
    i = wp.tid()
    s = float(0.0)
    for k in range(0, 40, 2):
        s += x[k] * 0.5
    o[i] = s
