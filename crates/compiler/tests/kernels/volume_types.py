# The type of a volume's values is a template argument, Python's own by its own name.
# emit: var_5 = wp::volume_sample<float>(var_id, var_6, var_4);
# emit: var_10 = wp::volume_lookup<int>(var_id, var_7, var_8, var_9);
# emit: wp::adj_volume_sample(var_id, var_6, var_4, adj_id, adj_2, adj_4, adj_5);
import warp as wp


@wp.kernel
def volumes(id: wp.uint64, p: wp.array(dtype=wp.vec3), o: wp.array(dtype=float)):
    i = wp.tid()
    slope = wp.vec3()
    x = wp.volume_sample(id, p[i], wp.Volume.LINEAR, dtype=float)
    n = wp.volume_lookup(id, 1, 2, 3, dtype=int)
    y = wp.volume_sample_grad(id, p[i], wp.Volume.LINEAR, slope, dtype=wp.float32)
    o[i] = x + y * slope[0] + float(n)
