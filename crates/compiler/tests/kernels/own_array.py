# Each thread has its own array, zero at first; gradients go through it.
#
# run: dim=2 x=[2,3] o=[0,0] -> o=[14,21]
# adjoint: dim=2 x=[2,3] o=[0,0] grad.o=[1,10] -> grad.x=[7,70]
import warp as wp


@wp.kernel
def powers(x: wp.array(dtype=float), o: wp.array(dtype=float)):
    i = wp.tid()
    parts = wp.zeros(shape=3, dtype=float)
    for j in range(3):
        parts[j] = x[i] * float(1 << j)
    o[i] = parts[0] + parts[1] + parts[2]
