# A gradient has a value for each parameter; the types in the tuple are written as the function writes them.
# emit: adj_area_0(var_3, var_2, var_4, var_5, var_6);
# emit: var_7 = wp::tuple_t<float, wp::float32>(var_4, var_5);
# emit: wp::adj_exp(var_13, var_14, var_15, var_16);
# emit: var_21 = slope_0(var_22, var_20);
import warp as wp


@wp.func
def area(width: float, height: wp.float32):
    return width * height


@wp.func
def slope(width: float, height: float):
    along = wp.grad(area)
    a, b = along(width, height)
    return a * b


@wp.kernel
def gradients(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    a, b = wp.grad(area)(x[i], 2.0)
    c = wp.grad(wp.exp)(x[i])
    y[i] = a + b + c + slope(x[i], 3.0)
