# Small integers wrap around; half precision rounds.
#
# run: dim=1 n=[0,0,0,0] -> n=[-56,200,2048,1]
import warp as wp


@wp.kernel
def small(n: wp.array(dtype=int)):
    n[0] = int(wp.int8(100) + wp.int8(100))
    n[1] = int(wp.uint8(100) + wp.uint8(100))
    # The next number after 2048 that half precision has is 2050.
    n[2] = int(wp.float16(2048.0) + wp.float16(0.5))
    if wp.uint32(0) - wp.uint32(1) > wp.uint32(5):
        n[3] = 1
