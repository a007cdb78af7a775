# Functions of one name are told apart by the types of their arguments.
#
# run: dim=1 o=[0,0] -> o=[6,14]
# emit: var_1 = twice_1(var_0);
import warp as wp


@wp.func
def twice(x: int):
    return x + x


@wp.func
def twice(x: float):
    return x + x


@wp.kernel
def both(o: wp.array(dtype=float)):
    o[0] = twice(3.0)
    o[1] = float(twice(7))
