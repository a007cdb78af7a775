# A sum has no order; the old value of a counter does.
#
# run: dim=4 x=[1,2,3,4] total=[0] slots=[0] seen=[0,0,0,0] -> total=[10] slots=[4]
# finding: K108 dim=4 x=[1,2,3,4] total=[0] slots=[0] seen=[0,0,0,0]
import warp as wp


@wp.kernel
def compact(
    x: wp.array(dtype=float), total: wp.array(dtype=float), slots: wp.array(dtype=int), seen: wp.array(dtype=float)
):
    i = wp.tid()
    wp.atomic_add(total, 0, x[i])
    slot = wp.atomic_add(slots, 0, 1)
    seen[slot] = x[i]
