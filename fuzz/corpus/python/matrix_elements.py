# Elements and rows of a matrix are read and written in place.
#
# run: dim=1 o=[0,0,0,0,0,0,0,0,0] -> o=[1,7,1,4,5,6,1,1,9]
import warp as wp


@wp.kernel
def elements(o: wp.array(dtype=float)):
    i = wp.tid()
    m = wp.mat33(1.0)
    m[0, 1] = 7.0
    m[1] = wp.vec3(4.0, 5.0, 6.0)
    m[2, 2] += 8.0
    for r in range(3):
        for c in range(3):
            o[r * 3 + c] = m[r, c]
