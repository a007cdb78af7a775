"""Volumes of numbers and vectors, with gradients: a program for Warp, whose arrays are compared."""

import numpy as np
import warp as wp

wp.set_device("cpu")
COUNT = 300


@wp.kernel
def numbers_in(volume: wp.uint64, at: wp.array[wp.vec3], out: wp.array2d[float]):
    i = wp.tid()
    out[i, 0] = wp.volume_sample_f(volume, 3.0 * at[i], wp.Volume.LINEAR)
    slope = wp.vec3()
    out[i, 1] = wp.volume_sample_grad_f(volume, 3.0 * at[i], wp.Volume.LINEAR, slope)
    out[i, 2] = slope[0] + 2.0 * slope[1] + 4.0 * slope[2]


@wp.kernel
def others_in(
    whole: wp.uint64, vectors: wp.uint64, at: wp.array[wp.vec3], numbers: wp.array2d[int], out: wp.array2d[wp.vec3]
):
    i = wp.tid()
    numbers[i, 0] = wp.volume_lookup_i(whole, i % 10 - 1, i % 21, i % 6 - 1)
    numbers[i, 1] = wp.volume_sample_i(whole, 3.0 * at[i])
    # Questions about another kind are answered by zero.
    numbers[i, 2] = wp.volume_lookup_i(vectors, 1, 1, 1) + int(wp.volume_lookup_f(whole, 1, 1, 1))
    out[i, 0] = wp.volume_lookup_v(vectors, i % 10 - 1, i % 21, i % 6 - 1)
    out[i, 1] = wp.volume_sample_v(vectors, 3.0 * at[i], wp.Volume.LINEAR)
    out[i, 2] = wp.volume_sample_v(vectors, 3.0 * at[i], wp.Volume.CLOSEST)


@wp.kernel
def loss_of(floats: wp.uint64, vectors: wp.uint64, at: wp.array[wp.vec3], out: wp.array[float]):
    i = wp.tid()
    v = wp.volume_sample_v(vectors, at[i], wp.Volume.LINEAR)
    out[i] = wp.volume_sample_f(floats, at[i], wp.Volume.LINEAR) + v[0] - 2.0 * v[1] + 0.5 * v[2]


rng = np.random.default_rng(8)
shape = (9, 20, 5)
floats = wp.Volume.load_from_numpy(rng.random(shape).astype(np.float32), bg_value=0.25)
integers = wp.Volume.load_from_numpy(rng.integers(-99, 99, shape).astype(np.int32), bg_value=-7)
vectors = wp.Volume.load_from_numpy(rng.random((*shape, 3)).astype(np.float32), bg_value=(1.0, 2.0, 3.0))
places = wp.array((3 * rng.random((COUNT, 3))).astype(np.float32), dtype=wp.vec3, requires_grad=True)
sampled = wp.zeros((COUNT, 3), dtype=float)
wp.launch(numbers_in, dim=COUNT, inputs=[floats.id, places, sampled])
whole = wp.zeros((COUNT, 3), dtype=int)
directions = wp.zeros((COUNT, 3), dtype=wp.vec3)
wp.launch(others_in, dim=COUNT, inputs=[integers.id, vectors.id, places, whole, directions])
loss = wp.zeros(COUNT, dtype=float, requires_grad=True)
tape = wp.Tape()
with tape:
    wp.launch(loss_of, dim=COUNT, inputs=[floats.id, vectors.id, places, loss])
tape.backward(grads={loss: wp.array(rng.random(COUNT).astype(np.float32), dtype=float)})
gradient = places.grad
