# A loop whose variable `wp.static` reads is unrolled, however long it is; others follow the rules for loops.
#
# emit: const wp::float32 var_60 = 38.0;
# run: dim=1 o=[0,0] -> o=[380,40]
import warp as wp

SCALE = 2.0
COUNT = 20


@wp.kernel
def loops(o: wp.array(dtype=float)):
    s = float(0.0)
    for i in range(wp.static(COUNT)):
        s += wp.static(float(i) * SCALE)
    o[0] = s
    t = float(0.0)
    for i in range(COUNT):
        t += wp.static(SCALE)
    o[1] = t
