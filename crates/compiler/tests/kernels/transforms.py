# A transform is a position and a rotation; points are moved, vectors only turned.
#
# run: dim=1 p=[1,2,3] o=[0,0,0,0,0,0] -> o=[11,22,33,1,2,3]
import warp as wp


@wp.kernel
def move(p: wp.array(dtype=wp.vec3), o: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    t = wp.transform(wp.vec3(10.0, 20.0, 30.0), wp.quat_identity())
    o[0] = wp.transform_point(t, p[i])
    o[1] = wp.transform_vector(t, p[i])
