# The gradient of a function with a replay of its own: only a call writes the replay.
# emit: adj_square_0(var_2, var_3, var_4);
# emit: wp::array_store(var_x, var_0, var_3);
# run: dim=2 x=[3,-1.5] -> x=[6,-3]
import warp as wp


@wp.func
def square(x: float):
    return x * x


@wp.func_replay(square)
def replay_square(x: float):
    return x + x


@wp.kernel
def k(x: wp.array(dtype=float)):
    i = wp.tid()
    x[i] = wp.grad(square)(x[i])
