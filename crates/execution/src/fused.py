@wp.func
def fused(a: float, b: float, c: float) -> float:
    # a * b + c rounded once. A product of two float32 is exact in float64, and rounding the sum to float64
    # changes what it is in float32 only where it then lies halfway between two of them, or where float32
    # has fewer bits because the number is small. There the odd one of the sum's two neighbours in float64
    # is taken unless the sum is exact, so that the last rounding is the only one that counts.
    product = wp.float64(a) * wp.float64(b)
    term = wp.float64(c)
    total = product + term
    result = float(total)
    bits = wp.cast(total, wp.int64)
    halfway = (bits & wp.int64(0x1FFFFFFF)) == wp.int64(0x10000000)
    small = wp.abs(total) < wp.float64(1.1754943508222875e-38)
    if halfway or small:
        part = total - product
        error = (product - (total - part)) + (term - part)
        nothing = wp.float64(0.0)
        up = wp.where(total > nothing, wp.int64(1), wp.int64(-1))
        step = wp.where(error > nothing, up, wp.where(error < nothing, -up, wp.int64(0)))
        if (bits & wp.int64(1)) == wp.int64(0):
            result = float(wp.cast(bits + step, wp.float64))
    return result
