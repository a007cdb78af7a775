import warp as wp


@wp.kernel
def copy(source: wp.array(dtype=wp.vec4ui), target: wp.array(dtype=wp.vec4ui)):
    i = wp.tid()
    target[i] = source[i]
