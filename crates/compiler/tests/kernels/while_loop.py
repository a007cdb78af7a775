# `while` tests at the top of every round.
# emit: if ((var_3) == false) goto end_while_0;
import warp as wp


@wp.kernel
def count(o: wp.array(dtype=int), k: int):
    i = wp.tid()
    n = int(0)
    while n < k:
        n = n + 1
    o[i] = n
