# Every parameter has a type.
# error: K004 line 7
import warp as wp


@wp.kernel
def untyped(x):
    i = wp.tid()
