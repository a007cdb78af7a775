# Native snippets are outside the subset.
# error: K023 line 13
import warp as wp


@wp.func_native("return x + 1;")
def next_one(x: int) -> int: ...


@wp.kernel
def natives(n: wp.array(dtype=int)):
    i = wp.tid()
    n[i] = next_one(n[i])
