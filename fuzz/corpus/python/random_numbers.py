# A generator's state belongs to a thread; ranges are kept, and equal seeds give equal numbers.
#
# run: dim=4 o=[0,0,0,0] -> o=[1,1,1,1]
import warp as wp


@wp.kernel
def draws(o: wp.array(dtype=float)):
    i = wp.tid()
    a = wp.rand_init(7, i)
    b = wp.rand_init(7, i)
    x = wp.randf(a)
    y = wp.randf(b)
    n = wp.randi(a, -3, 4)
    if x == y and 0.0 <= x and x < 1.0 and n >= -3 and n < 4:
        o[i] = 1.0
