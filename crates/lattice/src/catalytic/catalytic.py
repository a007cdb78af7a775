import warp as wp


@wp.func
def around(source: wp.array3d(dtype=wp.uint32), z: int, y: int, x: int):
    total = wp.uint32(0)
    if x > 0:
        total += source[z, y, x - 1]
    if x + 1 < source.shape[2]:
        total += source[z, y, x + 1]
    if y > 0:
        total += source[z, y - 1, x]
    if y + 1 < source.shape[1]:
        total += source[z, y + 1, x]
    if z > 0:
        total += source[z - 1, y, x]
    if z + 1 < source.shape[0]:
        total += source[z + 1, y, x]
    return total


@wp.kernel
def feistel(
    source: wp.array3d(dtype=wp.uint32),
    target: wp.array3d(dtype=wp.uint32),
    sign: wp.uint32,
):
    z, y, x = wp.tid()
    total = around(source, z, y, x)
    target[z, y, x] = target[z, y, x] + ((total ^ sign) - sign)


@wp.kernel
def feistel_masked(
    source: wp.array3d(dtype=wp.uint32),
    target: wp.array3d(dtype=wp.uint32),
    open: wp.array3d(dtype=wp.uint32),
    sign: wp.uint32,
):
    z, y, x = wp.tid()
    total = around(source, z, y, x)
    bits = open[z, y, x // 32] >> wp.uint32(x % 32)
    if (bits & wp.uint32(1)) != wp.uint32(0):
        target[z, y, x] = target[z, y, x] + ((total ^ sign) - sign)


@wp.kernel
def feistel_word(
    array: wp.array(dtype=wp.uint32),
    at: int,
    delta: wp.uint32,
    out: wp.array(dtype=wp.uint32),
    slot: int,
):
    value = array[at]
    out[slot] = value
    array[at] = value + delta
