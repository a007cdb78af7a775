import warp as wp


@wp.kernel
def mark(marks: wp.array(dtype=wp.uint64), index: int, value: wp.uint64):
    marks[index] = value
