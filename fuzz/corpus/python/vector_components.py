# Components are read by letter and written in place.
# emit: wp::assign_inplace(var_2, var_9, var_8);
import warp as wp


@wp.kernel
def components(p: wp.array(dtype=wp.vec3), o: wp.array(dtype=float)):
    i = wp.tid()
    v = p[i]
    v.z = v.x + v.y
    o[i] = v.z
