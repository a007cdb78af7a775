# A quarter turn about z takes x to y.
#
# run: dim=1 p=[1,0,0] o=[0,0,0] -> o=[0,1,0]
import warp as wp


@wp.kernel
def quarter_turn(p: wp.array(dtype=wp.vec3), o: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    half = wp.sqrt(0.5)
    q = wp.quat(0.0, 0.0, half, half)
    turned = wp.quat_rotate(q, p[i])
    # What is left of a cancelled component is rounding.
    o[i] = wp.vec3(wp.round(turned[0]), wp.round(turned[1]), wp.round(turned[2]))
