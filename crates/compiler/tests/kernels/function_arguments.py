# emit: static CUDA_CALLABLE wp::float32 apply_0_callable_2ae989cf0005(
# emit: static CUDA_CALLABLE wp::float32 apply_0_callable_c40038140639(
# emit: static CUDA_CALLABLE wp::float32 mixed_0_callable_7a6721585f5f(
# emit: var_0 = twice_0(var_x);
# emit: var_0 = wp::sin(var_x);
# run: dim=1 x=[1,0,0] -> x=[2,1,3]
import warp as wp
from typing import Any


@wp.func
def twice(x: float):
    return x * 2.0


@wp.func
def apply(f: wp.Function, x: float):
    return f(x)


@wp.func
def mixed(x: Any, f: wp.Function = twice):
    return f(x)


@wp.kernel
def k(x: wp.array(dtype=float)):
    one = x[0]
    x[0] = apply(twice, one)
    x[1] = apply(wp.sin, x[1]) + one
    x[2] = one + mixed(one)
