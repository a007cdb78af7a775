# `wp.static` knows no value that only the running kernel has.
# error: K023 line 9
import warp as wp


@wp.kernel
def unknown(x: wp.array(dtype=float)):
    i = wp.tid()
    x[i] = wp.static(i + 1)
