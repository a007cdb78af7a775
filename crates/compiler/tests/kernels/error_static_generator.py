# A generator has no length, and a name that holds one holds it once.
# error: K023 line 10
import warp as wp

ONCE = (n for n in (1, 2, 3))


@wp.kernel
def k(x: wp.array(dtype=int)):
    x[0] = wp.static(sum(ONCE))
