# `wp.static` of a factory's call defines a function where the kernel is defined, numbered in that order.
# emit: static CUDA_CALLABLE wp::float32 scaling__locals__scaled_5(
# emit: var_0 = scaling__locals__scaled_4(var_x);
# emit: const wp::float32 var_8 = 6.0;
# emit: var_2 = scaling__locals__scaled_5(var_3);
# emit: var_11 = scaling__locals__scaled_2(var_12);
# emit: var_14 = scaling__locals__scaled_3(var_15);
import warp as wp


def scaling(by: float):
    @wp.func
    def scaled(x: float):
        return x * by

    return scaled


def chosen(kind: str):
    if kind == "double":
        return scaling(2.0)
    return scaling(0.5)


STEPS = [scaling(float(n)) for n in range(3)]
TABLE = {"third": scaling(3.0)}


@wp.func
def halved(x: float):
    return wp.static(chosen("half"))(x)


@wp.kernel
def k(x: wp.array(dtype=float)):
    i = wp.tid()
    f = wp.static(chosen("double"))
    x[i] = f(x[i]) + halved(x[i]) + wp.static(scaling(4.0)(1.5))
    x[i] += wp.static(STEPS[2])(x[i]) + wp.static(TABLE["third"])(x[i])
