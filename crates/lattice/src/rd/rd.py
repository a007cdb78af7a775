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
    neighbours = ((left + right) + (front + back)) + (below + above)
    laplacian = fused(centre, own, neighbours)
    rate = wp.where(memory > 0.5, damped, reaction)
    growth = (rate * own) * (1.0 - own)
    moved = fused(diffusion, laplacian, own)
    grown = fused(growth, own - threshold, moved)
    grown = wp.where(grown > 0.0, grown, 0.0)
    grown = wp.where(grown < 1.0, grown, 1.0)
    next_u[z, y, x] = grown
    next_e[z, y, x] = fused(0.9, memory, 0.1 * wp.abs(laplacian))
