# Functions that Warp's library writes in Python need its source.
# error: K029 line 9
import warp as wp


@wp.kernel
def norms(v: wp.array(dtype=wp.vec3), o: wp.array(dtype=float)):
    i = wp.tid()
    o[i] = wp.norm_l1(v[i])
