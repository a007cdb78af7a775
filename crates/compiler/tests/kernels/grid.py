# A thread has as many coordinates as names are bound to `tid()`.
#
# run: dim=2,3 o=[0,0,0,0,0,0] -> o=[0,1,2,10,11,12]
# emit: builtin_tid2d(var_0, var_1);
import warp as wp


@wp.kernel
def grid(o: wp.array(dtype=float)):
    i, j = wp.tid()
    o[i * 3 + j] = float(10 * i + j)
