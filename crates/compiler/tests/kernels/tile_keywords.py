# Arguments of functions on tiles by name, in the order of the parameters; bounds become constants of the elements'
# type, and an update that is no atomic one reads the element and stores it.
# emit: var_5 = wp::tile_unary_map(wp::sin, var_3);
# emit: wp::tile_scatter_add(var_5, var_7, var_10, var_9);
# emit: wp::tile_scatter_masked(var_5, var_11, var_12, var_14);
# emit: wp::assign(var_5, var_15, var_19);
# emit: wp::adj_assign(var_5, var_15, var_19, adj_5, adj_15, adj_19);
# emit: var_26 = wp::tile_randf<4>(var_22, var_27, var_28);
# emit: const wp::int32 var_42 = 4.0;
import warp as wp


@wp.kernel
def threads(x: wp.array(dtype=float), o: wp.array(dtype=float), p: wp.array(dtype=int)):
    i, j = wp.tid()
    t = wp.tile_map(op=wp.sin, a=wp.tile_load(x, shape=4))
    wp.tile_scatter_add(t, i=j % 4, value=x[i], has_value=True)
    wp.tile_scatter_masked(a=t, i=2, value=1.0, has_value=j == 0)
    t[0] *= wp.tile_extract(a=t, i=1)
    wp.tile_store(o, t)
    rng = wp.rand_init(42, i)
    wp.tile_store(o, wp.tile_randf(shape=4, rng=rng, min=1.0, max=2.5))
    wp.tile_store(p, wp.tile_randi(shape=4, rng=rng, min=-3, max=10))
    wp.tile_store(p, wp.tile_arange(0.0, 4.0, 1.0, dtype=int))
