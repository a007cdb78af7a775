# A static method of a class is a function with the class's name; its text begins at the first decorator.
# emit: // kernels.py:15
# emit: static CUDA_CALLABLE wp::int32 Kind__pick_0(
# emit: // def pick(i: int) -> int:                                                               <L 17>
# emit: var_2 = Kind__pick_0(var_3);
from enum import IntEnum

import warp as wp


class Kind(IntEnum):
    FIRST = 3
    SECOND = 5

    @staticmethod
    @wp.func
    def pick(i: int) -> int:
        if i == Kind.FIRST:
            return int(Kind.SECOND)
        return i


@wp.kernel
def k(x: wp.array(dtype=int)):
    i = wp.tid()
    x[i] = Kind.pick(x[i])
