# A field that is set behind the kernel has another value where the kernel is defined.
# error: K023 line 22
import warp as wp


@wp.struct
class Settings:
    gain: float


settings = Settings()
settings.gain = 2.5


@wp.func
def energy(s: Settings):
    return s.gain


@wp.kernel
def constants(x: wp.array(dtype=float)):
    x[0] = energy(wp.static(settings))


settings.gain = 3.0
