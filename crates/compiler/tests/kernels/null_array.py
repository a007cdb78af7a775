# `not` of an array asks whether it was given.
#
# run: dim=2 x=[5,6] o=[0,0] -> o=[5,6]
import warp as wp


@wp.kernel
def copy_if_given(x: wp.array(dtype=float), o: wp.array(dtype=float)):
    i = wp.tid()
    if not x:
        o[i] = -1.0
        return
    o[i] = x[i]
