# Native code stands in the text as its author wrote it, and a replay calls its stand-in.
# emit: static CUDA_CALLABLE wp::int32 next_one_0(
# emit: return x + 1;}
# emit: static CUDA_CALLABLE void replay_count_0(
# emit: replay_count_0(var_n);
# emit: adj_n.data[0] = 0;}
import warp as wp


@wp.func_native("return x + 1;")
def next_one(x: int) -> int: ...


@wp.func_native(snippet="n.data[0] += 1;", adj_snippet="adj_n.data[0] = 0;", replay_snippet="")
def count(n: wp.array(dtype=int)):
    """Counts."""


@wp.kernel
def natives(n: wp.array(dtype=int)):
    i = wp.tid()
    n[i] = next_one(n[i])
    count(n)
