import warp as wp


@wp.kernel
def feistel(
    source: wp.array3d(dtype=wp.uint32),
    target: wp.array3d(dtype=wp.uint32),
    sign: wp.uint32,
):
    z, y, x = wp.tid()
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
