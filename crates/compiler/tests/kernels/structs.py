# A struct's field is reached through its address.
# emit: var_2 = &(((*wp::address(var_bs, var_0))).mass);
import warp as wp


@wp.struct
class Body:
    pos: wp.vec3
    mass: float


@wp.kernel
def masses(bs: wp.array(dtype=Body), o: wp.array(dtype=float)):
    i = wp.tid()
    o[i] = bs[i].mass
