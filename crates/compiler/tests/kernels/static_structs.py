# What the module fills before the kernel is a constant of it, and so are its fields.
# emit: const Settings_HASH var_0 = Settings_HASH(wp::float32(2.5), wp::int32(3), wp::vec_t<3, wp::float32>(wp::initializer_array<3,wp::float32>{1.0, 2.0, 3.0}), bool(true));
# emit: const wp::float32 var_1 = 2.5;
# emit: var_2 = energy_0(var_0);
import warp as wp


@wp.struct
class Settings:
    gain: float
    steps: int
    axis: wp.vec3
    on: bool


settings = Settings()
settings.gain = 2.5
settings.steps = 3
settings.axis = wp.vec3(1.0, 2.0, 3.0)
settings.on = True


def doubled(n):
    made = Settings()
    made.gain = float(n) * 2.0
    return made


@wp.func
def energy(s: Settings):
    return s.gain * float(s.steps)


@wp.kernel
def constants(x: wp.array(dtype=float)):
    s = wp.static(settings)
    x[0] = s.gain + energy(s)
    x[1] = wp.static(settings.gain) + wp.static(settings.axis[1]) + energy(wp.static(doubled(4)))
