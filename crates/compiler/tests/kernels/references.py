# A `wp.ref` is a pointer: variables, elements, components and fields are passed by address.
# emit: wp::float32* var_x,
# emit: *var_x = var_0;
# emit: grow_0(&(var_2), var_4);
# emit: grow_0(wp::index(((*wp::address(var_s, var_0))).v, var_14), var_2);
# emit: var_26 = (wp::uint64)(wp::index(var_21, var_24));
import warp as wp


@wp.struct
class Pair:
    a: float
    v: wp.vec3


@wp.func
def grow(x: wp.ref[wp.float32], by: float):
    x += by


@wp.func_native("x = y * 2.0f;")
def double(x: wp.ref[wp.float32], y: float): ...


@wp.func
def both(p: wp.ref[Pair], q: wp.ref[wp.float32]):
    p.a += 1.0
    p.v[1] = 2.0
    grow(p.a, q)
    double(p.v.y, q)


@wp.kernel(enable_backward=False)
def references(x: wp.array(dtype=float), m: wp.array2d(dtype=wp.mat33), s: wp.array(dtype=Pair), n: wp.array(dtype=wp.uint64)):
    i = wp.tid()
    t = float(0.0)
    grow(t, x[i])
    grow(x[i], t)
    grow(m[i, 0][1, 2], t)
    grow(s[i].v.z, t)
    both(s[i], t)
    v = wp.vec3(1.0, 2.0, 3.0)
    double(v.y, t)
    n[i] = wp.address_of(v.y)
    n[i] = wp.address_of(t)
    n[i] = wp.address_of(s[i].v)
