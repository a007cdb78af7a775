@wp.kernel
def saxpy(x: wp.array(dtype=wp.vec4), y: wp.array(dtype=wp.vec4), out: wp.array(dtype=wp.vec4), a: float):
    i = wp.tid()
    p = x[i]
    q = y[i]
    out[i] = wp.vec4(fused(a, p[0], q[0]), fused(a, p[1], q[1]), fused(a, p[2], q[2]), fused(a, p[3], q[3]))
