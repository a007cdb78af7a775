# `wp.static` stands for a literal, a constant of its own, or a function; of a branch that it decides only one
# side is written.
#
# emit: const wp::float32 var_0 = -3.0;
# emit: const wp::vec_t<3, wp::float32> var_5 = wp::initializer_array<3,wp::float32>{1.0, 2.0, 3.0};
# emit: const bool var_9 = true;
# run: dim=1 o=[0,0,0,0,0] -> o=[-3,6,2,7,3]
import warp as wp

SCALE = 2.0
COUNT = 3
AXIS = wp.vec3(1.0, 2.0, 3.0)


@wp.func
def twice(x: float):
    return x * 2.0


@wp.kernel
def values(o: wp.array(dtype=float)):
    o[0] = -wp.static(SCALE + 1.0)
    o[1] = wp.static(twice)(3.0)
    o[2] = wp.static(AXIS)[1]
    if wp.static(COUNT > 2 and 1.0 < SCALE < 3.0):
        o[3] = float(wp.static(4 + COUNT if COUNT != 4 else 0.5))
    else:
        o[3] = not_defined(1.0)
    o[4] = float(wp.static(len(AXIS)))
