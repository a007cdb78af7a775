# Loops of a comprehension that make nothing still take their time.
# error: K023 line 10
import warp as wp

NONE = [a for a in range(4000) for b in range(4000) for c in range(4000) if a + b + c < 0]


@wp.kernel
def k(x: wp.array(dtype=float)):
    x[0] = float(wp.static(len(NONE)))
