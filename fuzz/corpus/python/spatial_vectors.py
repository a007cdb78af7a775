# Spatial vectors have six components in two halves.
#
# run: dim=1 o=[0,0,0] -> o=[32,1,6]
import warp as wp


@wp.kernel
def halves(o: wp.array(dtype=float)):
    s = wp.spatial_vector(wp.vec3(1.0, 2.0, 3.0), wp.vec3(4.0, 5.0, 6.0))
    o[0] = wp.dot(wp.spatial_top(s), wp.spatial_bottom(s))
    o[1] = s[0]
    o[2] = s[5]
