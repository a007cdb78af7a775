# Conditions: chained comparisons, `and`, `or`, `not`, and expressions that choose.
#
# run: dim=4 x=[-1,0.5,2,9] o=[0,0,0,0] -> o=[10,1,10,100]
import warp as wp


@wp.kernel
def conditions(x: wp.array(dtype=float), o: wp.array(dtype=float)):
    i = wp.tid()
    v = x[i]
    inside = 0.0 < v < 1.0
    far = v > 5.0 or v < -5.0
    if inside and not far:
        o[i] = 1.0
    else:
        o[i] = 100.0 if far else 10.0
