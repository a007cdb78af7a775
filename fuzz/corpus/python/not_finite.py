# A result outside the domain of a function is found where it is asked for.
#
# run: dim=2 x=[1,4] o=[0,0] -> o=[0,1.3862943611198906]
# finding: K109 dim=2 x=[1,0] o=[0,0]
import warp as wp


@wp.kernel
def logarithms(x: wp.array(dtype=float), o: wp.array(dtype=float)):
    i = wp.tid()
    o[i] = wp.log(x[i])
