# Elements and variables are updated in place; additions to elements are atomic.
#
# run: dim=3 x=[1,2,3] s=[0] -> x=[4,8,12] s=[24]
# emit: var_9 = wp::atomic_add(var_s, var_7, var_10);
import warp as wp


@wp.kernel
def updates(x: wp.array(dtype=float), s: wp.array(dtype=float)):
    i = wp.tid()
    v = x[i]
    v *= 3.0
    x[i] += v
    s[0] += x[i]
