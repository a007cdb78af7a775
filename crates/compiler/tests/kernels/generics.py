# An overload of a generic kernel has concrete types and lines of its own.
# emit: wp::float64 var_s)
# emit: // x[i] = s * x[i]                                                                        <L 3>
from typing import Any

import warp as wp


@wp.kernel
def scale(x: wp.array(dtype=Any), s: Any):
    i = wp.tid()
    x[i] = s * x[i]


wp.overload(scale, [wp.array(dtype=wp.float64), wp.float64])
