import warp as wp


@wp.kernel
def xor_keyed(data: wp.array(dtype=wp.uint64), pattern: wp.array(dtype=wp.uint64)):
    i = wp.tid()
    data[i] = data[i] ^ pattern[i % pattern.shape[0]]
