# Integer arithmetic: `//` rounds down, `%` keeps the sign of the dividend; bits; a zero divisor.
#
# emit: wp::array_store(var_o, var_0, var_26);
# run: dim=4 a=[7,-7,7,-7] b=[2,2,-2,-2] o=[0,0,0,0] -> o=[3013,-4016,-3991,2984]
# finding: K106 dim=1 a=[1] b=[0] o=[0]
import warp as wp


@wp.kernel
def integers(a: wp.array(dtype=int), b: wp.array(dtype=int), o: wp.array(dtype=int)):
    i = wp.tid()
    o[i] = a[i] // b[i] * 1000 + a[i] % b[i] * 10 + wp.min(a[i], b[i]) + (a[i] & 1)
