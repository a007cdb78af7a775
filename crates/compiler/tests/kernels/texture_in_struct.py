# The size of a texture in a struct is read through the struct, as all that lies in one.
# emit: var_1 = &(((var_s).picture).width);
# emit: var_8 = &((((var_s).inner).volume).depth);
import warp as wp


@wp.struct
class Inner:
    volume: wp.Texture3D


@wp.struct
class Pictures:
    picture: wp.Texture2D
    inner: Inner


@wp.kernel
def sizes(s: Pictures, out: wp.array(dtype=int)):
    out[0] = s.picture.width - 1
    out[1] = s.inner.volume.depth
