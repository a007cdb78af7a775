# A kernel returns nothing.
# error: K013 line 8
import warp as wp


@wp.kernel
def returns(x: wp.array(dtype=float)):
    return x[0]
