# Loops are left early and go on early, unrolled or not.
#
# run: dim=1 x=[1,-2,3,50,4] o=[0,0] n=5 -> o=[4,4]
import warp as wp


@wp.kernel
def sums(x: wp.array(dtype=float), o: wp.array(dtype=float), n: int):
    s = float(0.0)
    for k in range(n):
        if x[k] < 0.0:
            continue
        if x[k] > 10.0:
            break
        s += x[k]
    o[0] = s
    t = float(0.0)
    for k in range(3):
        if x[k] < 0.0:
            continue
        t += x[k]
    o[1] = t
