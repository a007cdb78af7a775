# Components are read one letter at a time.
# error: K012 line 8
import warp as wp


@wp.kernel
def swizzle(p: wp.array(dtype=wp.vec3)):
    p[0] = p[0].xyz
