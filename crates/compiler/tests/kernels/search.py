# The first element that is not less than the value, or the last.
#
# run: dim=4 x=[1,2,4,8] v=[0,2,3,9] o=[0,0,0,0] -> o=[0,1,2,3]
import warp as wp


@wp.kernel
def find(x: wp.array(dtype=float), v: wp.array(dtype=float), o: wp.array(dtype=int)):
    i = wp.tid()
    o[i] = wp.lower_bound(x, v[i])
