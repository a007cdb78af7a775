# A field that is set by another name has another value where the kernel is compiled.
# error: K023 line 18
import warp as wp


@wp.struct
class Settings:
    gain: float


settings = Settings()
settings.gain = 2.5
other = settings or Settings()


@wp.kernel
def constants(x: wp.array(dtype=float)):
    x[0] = wp.static(settings.gain)


other.gain = 3.0
