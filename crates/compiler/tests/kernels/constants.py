# Module-level numbers, vectors and enum members are constants; expressions of them are worked out.
#
# run: dim=1 o=[0,0,0,0] -> o=[2.5,7,0.2,5]
import warp as wp
from enum import IntEnum

GAIN = wp.constant(2.5)
COUNT = 3 * 2 + 1
OFFSET = wp.vec3(0.1, 0.2, 0.3)


class Mode(IntEnum):
    SLOW = 0
    FAST = 5


@wp.kernel
def constants(o: wp.array(dtype=float)):
    o[0] = GAIN
    o[1] = float(COUNT)
    o[2] = OFFSET[1]
    o[3] = float(int(Mode.FAST))
