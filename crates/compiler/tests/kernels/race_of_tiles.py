# Tiles that are added atomically to one place do not race; tiles that are stored there do.
#
# finding: none dim=4 x=[1,2,3,4] o=[0,0,0,0] how=0
# finding: K108 dim=4 x=[1,2,3,4] o=[0,0,0,0] how=1
import warp as wp


@wp.kernel
def gather(x: wp.array(dtype=float), o: wp.array(dtype=float), how: int):
    t = wp.tile_load(x, shape=4)
    if how == 0:
        wp.tile_atomic_add(o, t)
    else:
        wp.tile_store(o, t * float(wp.tid()))
