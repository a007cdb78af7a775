# Threads that store different values to one element race; equal values do not.
#
# run: dim=1 x=[3,4] o=[0] -> o=[3]
# finding: K108 dim=2 x=[3,4] o=[0]
# finding: none dim=2 x=[5,5] o=[0]
import warp as wp


@wp.kernel
def last_one_wins(x: wp.array(dtype=float), o: wp.array(dtype=float)):
    i = wp.tid()
    o[0] = x[i]
