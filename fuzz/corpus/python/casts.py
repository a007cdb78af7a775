# Numbers are converted explicitly: towards zero, and to every type.
#
# run: dim=4 x=[2.7,-2.7,300,1] n=[0,0,0,0] -> n=[2,-2,300,1]
# run: dim=4 x=[0.1,0.1,0.1,0.1] n=[0,0,0,0] -> n=[0,0,0,0]
import warp as wp


@wp.kernel
def casts(x: wp.array(dtype=float), n: wp.array(dtype=int)):
    i = wp.tid()
    wide = wp.float64(x[i])
    n[i] = int(wp.int64(wide))
