# A tuple of literals has no type that a generic function takes; a variable has.
# error: K007 line 14
import warp as wp


@wp.func
def first(values: tuple[float, ...]):
    return values[0]


@wp.kernel
def k(out: wp.array(dtype=float)):
    out[0] = first((out[1], 2.0))
    out[0] = first((1.0, 2.0))
