# An array has no address that a kernel can make another array of.
# error: K021 line 8
import warp as wp


@wp.kernel
def rows(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    first = wp.array(ptr=x.ptr, shape=(4,), dtype=float)
    y[wp.tid()] = first[0]
