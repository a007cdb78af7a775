# Only the kernel knows its thread.
# error: K014 line 8
import warp as wp


@wp.func
def thread():
    return wp.tid()


@wp.kernel
def calls(n: wp.array(dtype=int)):
    n[0] = thread()
