# The value of an enumeration's member is read twice as an argument, once elsewhere.
# emit: var_3 = wp::int(var_2);
# emit: var_6 = wp::add(var_4, var_5);
from enum import IntEnum

import warp as wp


class Mode(IntEnum):
    FAST = 2
    EXACT = 3


@wp.kernel
def k(x: wp.array(dtype=int)):
    i = wp.tid()
    x[i] = int(Mode.FAST.value)
    x[i] = Mode.FAST.value + Mode.EXACT.value
