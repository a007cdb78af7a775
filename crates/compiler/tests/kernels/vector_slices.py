# A slice of a vector is a shorter vector, and can be assigned to.
#
# run: dim=1 v=[1,2,3,4] o=[0,0,0,0] -> o=[3,4,8,9]
import warp as wp


@wp.kernel
def slices(v: wp.array(dtype=wp.vec4), o: wp.array(dtype=float)):
    i = wp.tid()
    u = v[i]
    tail = u[2:]
    u[0:2] = wp.vec2(8.0, 9.0)
    o[0] = tail[0]
    o[1] = tail[1]
    o[2] = u[0]
    o[3] = u[1]
