# What names a local is worked out where the kernel is built: written as a constant, and a loop around it unrolled.
# emit: const wp::int32 var_1 = 3;
# emit: wp::array_store(var_x, var_8, var_9);
# emit: var_153 = wp::float(var_152);
# run: dim=1 x=[0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0] v=[0,0,0] -> x=[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]
import warp as wp


@wp.kernel
def k(x: wp.array(dtype=float), v: wp.vec3):
    count = 3
    for i in range(wp.static(count)):
        x[i] = 1.0
    for i in range(wp.static(len(v))):
        x[i] = 2.0
    for i in range(20):
        for j in range(2):
            x[i] = float(wp.static(j))
