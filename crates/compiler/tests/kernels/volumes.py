# A voxel's type is a template argument, and a sampling mode a constant of `wp.Volume`.
# emit: var_6 = wp::volume_sample<wp::float32>(var_volume, var_2, var_5);
# emit: const wp::int32 var_4 = 1;
import warp as wp


@wp.kernel
def sample(volume: wp.uint64, points: wp.array(dtype=wp.vec3), values: wp.array(dtype=float)):
    i = wp.tid()
    p = points[i]
    values[i] = wp.volume_sample(volume, p, wp.Volume.LINEAR, dtype=wp.float32)
