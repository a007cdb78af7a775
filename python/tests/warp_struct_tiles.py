"""Tiles of structs: kernels, and what NumPy makes of the same fields."""

import numpy as np

import warpsmith.warp as wp

COUNT = 8


@wp.struct
class Body:
    place: wp.vec3
    mass: float
    number: int


@wp.func
def grown(body: Body):
    made = Body()
    made.place = body.place * 2.0
    made.mass = body.mass + 1.0
    made.number = body.number
    return made


@wp.func
def heavier(a: Body, b: Body):
    return wp.where(a.mass > b.mass, a, b)


@wp.kernel
def mapped(a: wp.array[Body], b: wp.array[Body], keys: wp.array[int]):
    wp.tile_store(b, wp.tile_map(grown, wp.tile_load(a, shape=8)))


@wp.kernel
def summed(a: wp.array[Body], b: wp.array[Body], keys: wp.array[int]):
    wp.tile_store(b, wp.tile_sum(wp.tile_load(a, shape=8)))


@wp.kernel
def sorted_by(a: wp.array[Body], b: wp.array[Body], keys: wp.array[int]):
    k = wp.tile_load(keys, shape=8, storage="shared")
    t = wp.tile_load(a, shape=8, storage="shared")
    wp.tile_sort(k, t)
    wp.tile_store(b, t)


@wp.kernel
def heaviest(a: wp.array[Body], b: wp.array[Body], keys: wp.array[int]):
    wp.tile_store(b, wp.tile_reduce(heavier, wp.tile_load(a, shape=8)))


@wp.kernel
def added(a: wp.array[Body], b: wp.array[Body], keys: wp.array[int]):
    wp.tile_atomic_add(b, wp.tile_load(a, shape=8))


KERNELS = (mapped, summed, sorted_by, heaviest, added)
KEYS = np.array([3, 1, 2, 7, 5, 0, 4, 6], np.int32)


def bodies(seed: int) -> list[Body]:
    rng = np.random.default_rng(seed)
    made = []
    for number in range(COUNT):
        body = Body()
        body.place, body.mass, body.number = wp.vec3(*rng.random(3).tolist()), float(rng.random()), number
        made.append(body)
    return made


def run(kernel: wp.Kernel, block_dim: int) -> np.ndarray:
    """The masses and numbers that a kernel leaves on the current device."""
    a, b = wp.array(bodies(1), dtype=Body), wp.array(bodies(2), dtype=Body)
    wp.launch_tiled(kernel, dim=1, inputs=[a, b, wp.array(KEYS, dtype=int)], block_dim=block_dim)
    left = b.numpy()
    return np.stack([left["mass"], left["number"].astype(np.float32), left["place"].sum(axis=1)])


def expected(kernel: wp.Kernel) -> np.ndarray:
    a, b = (
        np.array([[one.mass, one.number, sum(one.place)] for one in bodies(seed)], np.float32).T for seed in (1, 2)
    )
    if kernel is mapped:
        return a * [[1], [1], [2]] + [[1], [0], [0]]
    if kernel is summed:
        return np.hstack([a.sum(axis=1, keepdims=True), b[:, 1:]])
    if kernel is sorted_by:
        return a[:, np.argsort(KEYS)]
    if kernel is heaviest:
        return np.hstack([a[:, [a[0].argmax()]], b[:, 1:]])
    return a + b
