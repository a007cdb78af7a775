# Native code whose text only Python knows is refused.
# error: K023 line 16
import warp as wp


def text():
    return "return x + 1;".strip()


@wp.func_native(text())
def next_one(x: int) -> int: ...


@wp.kernel
def natives(n: wp.array(dtype=int)):
    n[0] = next_one(n[0])
