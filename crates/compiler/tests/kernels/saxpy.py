# A kernel over one array, forward and backward.
#
# emit: var_2 = wp::mul(var_a, var_3);
# run: dim=3 x=[1,2,3] y=[10,20,30] a=2 -> y=[12,24,36]
# adjoint: dim=2 x=[1,2] y=[0,0] a=3 grad.y=[1,10] -> grad.x=[3,30]
# finding: K101 dim=4 x=[1,2,3] y=[0,0,0] a=1
import warp as wp


@wp.kernel
def saxpy(x: wp.array(dtype=float), y: wp.array(dtype=float), a: float):
    i = wp.tid()
    y[i] = a * x[i] + y[i]
