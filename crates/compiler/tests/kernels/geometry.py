# Answers about meshes have fields; boxes and neighbours are gone through.
# emit: wp::mesh_query_ray_t var_9;
# emit: var_9 = wp::mesh_query_ray(var_mesh, var_2, var_7, var_8, var_10);
# emit: wp::bvh_query_t var_17;
# emit: wp::hash_grid_query_f var_26;
import warp as wp


@wp.kernel
def look(mesh: wp.uint64, tree: wp.uint64, grid: wp.uint64, points: wp.array(dtype=wp.vec3), n: wp.array(dtype=int)):
    i = wp.tid()
    p = points[i]
    hit = wp.mesh_query_ray(mesh, p, wp.vec3(0.0, 0.0, 1.0), 10.0)
    if hit.result:
        n[i] = hit.face
    boxes = wp.bvh_query_aabb(tree, p, p)
    box = int(0)
    while wp.bvh_query_next(boxes, box):
        wp.atomic_add(n, box, 1)
    for j in wp.hash_grid_query(grid, p, 0.5):
        n[j] = i
