# Numbers of two types are compared in the type that C++ promotes them to.
#
# run: dim=4 x=[-6,4.5,5,7] n=5 u=4000000000 o=[0,0,0,0] -> o=[1,1,0,0]
import warp as wp


@wp.kernel
def below(x: wp.array(dtype=float), n: int, u: wp.uint32, o: wp.array(dtype=int)):
    i = wp.tid()
    if x[i] < n and n < u:
        o[i] = 1
