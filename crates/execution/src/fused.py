@wp.func
def fused(a: float, b: float, c: float) -> float:
    # a * b + c rounded once. A product of two float32 is exact in float64. Of the sum's two neighbours in
    # float64 the odd one is taken where the sum is not exact, so that the last rounding, to float32, is the
    # only one that counts.
    product = wp.float64(a) * wp.float64(b)
    term = wp.float64(c)
    total = product + term
    part = total - product
    error = (product - (total - part)) + (term - part)
    bits = wp.cast(total, wp.int64)
    nothing = wp.float64(0.0)
    up = wp.where(total > nothing, wp.int64(1), wp.int64(-1))
    step = wp.where(error > nothing, up, wp.where(error < nothing, -up, wp.int64(0)))
    odd = wp.where((bits & wp.int64(1)) == wp.int64(0), bits + step, bits)
    return float(wp.cast(odd, wp.float64))
