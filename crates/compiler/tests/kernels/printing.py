# What threads print comes out in thread order.
#
# prints: dim=2 x=[1,2.5] -> thread 0: 1.00|1 2|thread 1: 2.50|2.5 5
import warp as wp


@wp.kernel
def report(x: wp.array(dtype=float)):
    i = wp.tid()
    wp.printf("thread %d: %.2f", i, x[i])
    wp.print(wp.vec2(x[i], x[i] * 2.0))
