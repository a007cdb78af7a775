# A factory that a loop's variable is given is called again in every build: how its functions are numbered is not known.
# error: K023 line 17
import warp as wp


def scaling(by):
    @wp.func
    def scaled(x: float):
        return x * float(by)

    return scaled


@wp.kernel
def k(x: wp.array(dtype=float)):
    for j in range(3):
        x[j] = wp.static(scaling(j))(x[j])
