# A component of an array element is stored through its slot.
# emit: wp::store(&(wp::index(var_p, var_0).component_ref(var_2)), var_s);
# emit: wp::adj_array_store_slot(var_p, adj_p, adj_s, [&](auto& _e) -> auto& { return _e.component_ref(var_2); }, var_0);
import warp as wp


@wp.kernel
def slots(p: wp.array(dtype=wp.vec3), s: float):
    i = wp.tid()
    p[i][1] = s
