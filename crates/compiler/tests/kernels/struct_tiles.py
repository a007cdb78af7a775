# A struct that a tile is made of has the operators that tiles need, and so has a struct in it; others have not.
# emit: CUDA_CALLABLE Inner_HASH& operator -= (const Inner_HASH& rhs)
# emit: CUDA_CALLABLE Outer_HASH operator - () const
# emit: old.weight = wp::atomic_add(&p->weight, t.weight);
# emit: old.flag = p->flag;
# emit: ret.inner = warp_shuffle_down(val.inner, offset, mask);
# emit: ret.weight = wp::warp_shuffle_xor(val.weight, lane_mask);
import warp as wp


@wp.struct
class Inner:
    place: wp.vec3


@wp.struct
class Outer:
    inner: Inner
    weight: float
    flag: bool


@wp.kernel
def struct_tiles(a: wp.array(dtype=Outer), b: wp.array(dtype=Outer)):
    t = wp.tile_load(a, shape=4)
    wp.tile_store(b, wp.tile_sum(t))
