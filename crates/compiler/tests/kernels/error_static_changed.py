# A list that the module changes is not looked into.
# error: K023 line 9
import warp as wp

VALUES = [1.0, 2.0]
VALUES.append(3.0)
@wp.kernel
def k(out: wp.array(dtype=float)):
    out[0] = wp.static(VALUES[0])
