# Native code gives no structs back, as Warp has it.
# error: K015 line 12
import warp as wp


@wp.struct
class Pair:
    a: float


@wp.func_native("return {};")
def made() -> Pair: ...


@wp.kernel
def natives(x: wp.array(dtype=float)):
    x[0] = made().a
