# Reading what the next thread writes is a race; writing to another array is not.
#
# finding: K108 dim=3 x=[1,2,3,4] o=[0,0,0,0] shift=1
# finding: none dim=3 x=[1,2,3,4] o=[0,0,0,0] shift=0
import warp as wp


@wp.kernel
def smooth(x: wp.array(dtype=float), o: wp.array(dtype=float), shift: int):
    i = wp.tid()
    x[i] = 0.5 * x[i] + 0.5 * x[i + shift]
    o[i] = x[i]
