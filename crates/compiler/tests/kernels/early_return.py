# Values that come out of branches and loops; a variable that only one branch assigns.
#
# emit: wp::array_store(var_o, var_0, var_5);
# run: dim=3 x=[1,-2,5] o=[0,0,0] -> o=[1,-1,15]
# finding: K102 dim=1 x=[0] o=[0]
import warp as wp


@wp.kernel
def branches(x: wp.array(dtype=float), o: wp.array(dtype=float)):
    i = wp.tid()
    if x[i] < 0.0:
        o[i] = -1.0
        return
    if x[i] > 0.0:
        n = int(x[i])
    s = float(0.0)
    for j in range(n):
        s += float(j + 1)
    o[i] = s
