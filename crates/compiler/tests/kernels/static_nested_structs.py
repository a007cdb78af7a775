# A struct in a struct is copied when it is set, and written twice.
# emit: const Settings_HASH var_1 = Settings_HASH(wp::int32(3), Gains_HASH(Gains_HASH(wp::float32(2.5), wp::vec_t<2, wp::float32>(wp::initializer_array<2,wp::float32>{1.0, 0.5}))), wp::transform_t<wp::float32>(wp::initializer_array<7,wp::float32>{0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0}));
# emit: const Gains_HASH var_2 = Gains_HASH(wp::float32(2.5), wp::vec_t<2, wp::float32>(wp::initializer_array<2,wp::float32>{1.0, 0.5}));
# emit: const wp::float32 var_4 = 0.5;
import warp as wp


@wp.struct
class Gains:
    scale: float
    axis: wp.vec2


@wp.struct
class Settings:
    count: int
    gains: Gains
    frame: wp.transform


gains = Gains()
gains.scale = 2.5
settings = Settings()
settings.count = 3
settings.gains = gains
settings.gains.axis = wp.vec2(1.0, 0.5)


@wp.func
def use(s: Settings, g: Gains):
    return float(s.count) * s.gains.scale + g.scale


@wp.kernel
def k(x: wp.array(dtype=float)):
    i = wp.tid()
    x[i] = use(wp.static(settings), wp.static(settings.gains)) + wp.static(settings.gains.axis[1])
