# The value of an enumeration's member is a bound of a loop that is unrolled, and a value of `wp.static`.
# emit: const wp::int32 var_1 = 1;
# emit: var_7 = wp::add(var_8, var_6);
from enum import IntEnum

import warp as wp


class Size(IntEnum):
    TWO = 2
    FIVE = 5


@wp.kernel
def k(x: wp.array(dtype=int)):
    for i in range(Size.TWO.value):
        x[i] = 1
    x[0] = x[1] + wp.static(Size.FIVE.value)
