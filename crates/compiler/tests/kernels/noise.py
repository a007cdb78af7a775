# Noise vanishes on the lattice and has a gradient there; curl noise is its turned gradient.
#
# run: dim=3 x=[0,1,-4] o=[0.5,0.5,0.5] -> o=[0,0,0]
import warp as wp


@wp.kernel
def on_the_lattice(x: wp.array(dtype=float), o: wp.array(dtype=float)):
    i = wp.tid()
    state = wp.rand_init(42)
    plane = wp.noise(state, wp.vec2(x[i], -x[i]))
    space = wp.pnoise(state, wp.vec3(x[i], 2.0, 3.0), 4, 5, 6)
    o[i] = wp.noise(state, x[i]) + plane + space
