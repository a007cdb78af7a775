@wp.func
def laplacian_of(own: float, x0: float, x1: float, y0: float, y1: float, z0: float, z1: float, centre: float):
    return fused(centre, own, ((x0 + x1) + (y0 + y1)) + (z0 + z1))


@wp.func
def grown(own: float, memory: float, laplacian: float, diffusion: float, reaction: float, damped: float, threshold: float):
    rate = wp.where(memory > 0.5, damped, reaction)
    growth = (rate * own) * (1.0 - own)
    moved = fused(diffusion, laplacian, own)
    value = fused(growth, own - threshold, moved)
    value = wp.where(value > 0.0, value, 0.0)
    return wp.where(value < 1.0, value, 1.0)


@wp.func
def remembered(memory: float, laplacian: float):
    return fused(0.9, memory, 0.1 * wp.abs(laplacian))


@wp.kernel
def rd_step(
    u: wp.array3d(dtype=float),
    e: wp.array3d(dtype=float),
    next_u: wp.array3d(dtype=float),
    next_e: wp.array3d(dtype=float),
    centre: float,
    diffusion: float,
    reaction: float,
    damped: float,
    threshold: float,
):
    z, y, x = wp.tid()
    left = float(0.0)
    right = float(0.0)
    front = float(0.0)
    back = float(0.0)
    below = float(0.0)
    above = float(0.0)
    if x > 0:
        left = u[z, y, x - 1]
    if x + 1 < u.shape[2]:
        right = u[z, y, x + 1]
    if y > 0:
        front = u[z, y - 1, x]
    if y + 1 < u.shape[1]:
        back = u[z, y + 1, x]
    if z > 0:
        below = u[z - 1, y, x]
    if z + 1 < u.shape[0]:
        above = u[z + 1, y, x]
    own = u[z, y, x]
    memory = e[z, y, x]
    laplacian = laplacian_of(own, left, right, front, back, below, above, centre)
    next_u[z, y, x] = grown(own, memory, laplacian, diffusion, reaction, damped, threshold)
    next_e[z, y, x] = remembered(memory, laplacian)


# The same, four cells of a row to a thread.
@wp.kernel
def rd_step4(
    u: wp.array3d(dtype=wp.vec4),
    e: wp.array3d(dtype=wp.vec4),
    next_u: wp.array3d(dtype=wp.vec4),
    next_e: wp.array3d(dtype=wp.vec4),
    centre: float,
    diffusion: float,
    reaction: float,
    damped: float,
    threshold: float,
):
    z, y, x = wp.tid()
    left = float(0.0)
    right = float(0.0)
    front = wp.vec4()
    back = wp.vec4()
    below = wp.vec4()
    above = wp.vec4()
    if x > 0:
        beside = u[z, y, x - 1]
        left = beside[3]
    if x + 1 < u.shape[2]:
        beside = u[z, y, x + 1]
        right = beside[0]
    if y > 0:
        front = u[z, y - 1, x]
    if y + 1 < u.shape[1]:
        back = u[z, y + 1, x]
    if z > 0:
        below = u[z - 1, y, x]
    if z + 1 < u.shape[0]:
        above = u[z + 1, y, x]
    own = u[z, y, x]
    memory = e[z, y, x]
    l0 = laplacian_of(own[0], left, own[1], front[0], back[0], below[0], above[0], centre)
    l1 = laplacian_of(own[1], own[0], own[2], front[1], back[1], below[1], above[1], centre)
    l2 = laplacian_of(own[2], own[1], own[3], front[2], back[2], below[2], above[2], centre)
    l3 = laplacian_of(own[3], own[2], right, front[3], back[3], below[3], above[3], centre)
    next_u[z, y, x] = wp.vec4(
        grown(own[0], memory[0], l0, diffusion, reaction, damped, threshold),
        grown(own[1], memory[1], l1, diffusion, reaction, damped, threshold),
        grown(own[2], memory[2], l2, diffusion, reaction, damped, threshold),
        grown(own[3], memory[3], l3, diffusion, reaction, damped, threshold),
    )
    next_e[z, y, x] = wp.vec4(
        remembered(memory[0], l0), remembered(memory[1], l1), remembered(memory[2], l2), remembered(memory[3], l3)
    )
