//! Physics: one step of many independent bodies or cells.

use super::skeletons::pointwise::Pointwise;
use super::vocabulary::{FACTORS, FRACTIONS, TIME_STEPS};
use crate::axis::Axis;
use crate::family::{Contents, Family, Group};

const GROUP: Group = Group::Physics;

pub(crate) fn families() -> Vec<Family> {
    let families = [
        Pointwise {
            name: "spring_step",
            group: GROUP,
            title: "spring_step_$f.name",
            axes: vec![
                Axis::constants("dt", TIME_STEPS),
                Axis::constants("stiffness", FACTORS),
                Axis::constants("friction", FRACTIONS),
                Axis::function("f"),
            ],
            inputs: &[("position", Contents::Any), ("velocity", Contents::Any)],
            outputs: &["new_position", "new_velocity"],
            steps: &[
                ("pull", "$f(position)"),
                (
                    "v",
                    "velocity - $dt * ($stiffness * pull + $friction * velocity)",
                ),
                ("new_velocity", "v"),
                ("new_position", "position + $dt * v"),
            ],
            phrasings: &[
                "One semi-implicit Euler step (dt = $dt) of independent oscillators with stiffness $stiffness and friction $friction. The restoring pull is $f.of(`position[i]`). Update the velocity first, then the position with the new velocity.",
                "With p being $f.of(`position[i]`): new_velocity = velocity - $dt * ($stiffness * p + $friction * velocity), and new_position = position + $dt * new_velocity.",
                "Advance damped springs by $dt: force is -$stiffness times the pull minus $friction times the velocity, where for the pull take the position and $f.words. Symplectic Euler.",
            ],
        },
        Pointwise {
            name: "drag_step",
            group: GROUP,
            title: "drag_step_$f.name",
            axes: vec![
                Axis::constants("dt", TIME_STEPS),
                Axis::constants("gravity", &[1.625, 3.75, 9.8125, 24.75]),
                Axis::constants("drag", FRACTIONS),
                Axis::function("f"),
            ],
            inputs: &[
                ("height", Contents::Uniform(0.0, 50.0)),
                ("speed", Contents::Uniform(-20.0, 20.0)),
            ],
            outputs: &["new_height", "new_speed"],
            steps: &[
                ("resistance", "$f(speed)"),
                ("v", "speed - $dt * ($gravity + $drag * resistance)"),
                ("new_speed", "v"),
                ("new_height", "max(height + $dt * v, 0)"),
            ],
            phrasings: &[
                "Falling bodies, one step of $dt: the upward speed loses $dt times (gravity $gravity plus $drag times the resistance), where the resistance is $f.of(`speed[i]`). The height follows with the new speed and never goes below 0.",
                "With r being $f.of(`speed[i]`): new_speed = speed - $dt * ($gravity + $drag * r), and new_height = max(height + $dt * new_speed, 0).",
                "Advance projectiles under gravity $gravity by $dt. For the air's resistance take the speed and $f.words; it counts $drag times. The ground at height 0 stops them.",
            ],
        },
        Pointwise {
            name: "population_step",
            group: GROUP,
            title: "population_step_$f.name",
            axes: vec![
                Axis::constants("dt", TIME_STEPS),
                Axis::constants("growth", FACTORS),
                Axis::constants("capacity", &[1.0, 2.0, 4.0, 8.0, 16.0]),
                Axis::function("f"),
            ],
            inputs: &[
                ("population", Contents::Uniform(0.0, 10.0)),
                ("harvest", Contents::Any),
            ],
            outputs: &["out"],
            steps: &[
                ("loss", "$f(harvest)"),
                (
                    "v",
                    "population + $dt * ($growth * population * (1 - population / $capacity) - loss)",
                ),
                ("out", "max(v, 0)"),
            ],
            phrasings: &[
                "Logistic growth, one Euler step of $dt: rate $growth, capacity $capacity, less a loss that is $f.of(`harvest[i]`). A population never becomes negative.",
                "With l being $f.of(`harvest[i]`): out = max(p + $dt * ($growth * p * (1 - p / $capacity) - l), 0), where p is the population.",
                "Advance many populations by $dt with the logistic law (growth $growth, capacity $capacity). For the loss take the harvest and $f.words. Clip at 0.",
            ],
        },
        Pointwise {
            name: "pair_force",
            group: GROUP,
            title: "pair_force_$f.name",
            axes: vec![
                Axis::constants("depth", FACTORS),
                Axis::constants("cutoff", &[1.5, 2.0, 2.5, 3.0]),
                Axis::function("f"),
            ],
            inputs: &[
                ("distance", Contents::Uniform(0.875, 4.0)),
                ("charge", Contents::Any),
            ],
            outputs: &["out"],
            steps: &[
                ("inverse", "1 / (distance * distance)"),
                ("sixth", "inverse * inverse * inverse"),
                ("force", "24 * $depth * sixth * (2 * sixth - 1) / distance"),
                ("factor", "$f(charge)"),
                ("out", "where(distance < $cutoff, force * factor, 0)"),
            ],
            phrasings: &[
                "The Lennard-Jones force at each distance r with depth $depth and diameter 1, 24 * $depth * (2 / r^12 - 1 / r^6) / r, and 0 from r = $cutoff on. Multiply it by ($f.of(`charge[i]`)).",
                "With c being $f.of(`charge[i]`) and r the distance: out = c * 24 * $depth * r^-6 * (2 r^-6 - 1) / r if r < $cutoff, else 0.",
                "Pair forces of a Lennard-Jones fluid (depth $depth) cut off at $cutoff. Weight each force with a factor from `charge`: take it and $f.words.",
            ],
        },
        Pointwise {
            name: "neuron_step",
            group: GROUP,
            title: "neuron_step_$f.name",
            axes: vec![
                Axis::constants("dt", TIME_STEPS),
                Axis::constants("slow", &[0.0625, 0.078125, 0.09375, 0.125]),
                Axis::constants("shift", &[0.5, 0.625, 0.75, 0.875]),
                Axis::function("f"),
            ],
            inputs: &[
                ("voltage", Contents::Uniform(-2.5, 2.5)),
                ("recovery", Contents::Uniform(-1.5, 1.5)),
                ("current", Contents::Any),
            ],
            outputs: &["new_voltage", "new_recovery"],
            steps: &[
                ("drive", "$f(current)"),
                (
                    "new_voltage",
                    "voltage + $dt * (voltage - voltage * voltage * voltage / 3 - recovery + drive)",
                ),
                (
                    "new_recovery",
                    "recovery + $dt * $slow * (voltage + $shift - 0.75 * recovery)",
                ),
            ],
            phrasings: &[
                "One Euler step of $dt for FitzHugh-Nagumo neurons: dv = v - v^3 / 3 - w + I and dw = $slow * (v + $shift - 0.75 w), where the drive I is $f.of(`current[i]`).",
                "With I being $f.of(`current[i]`): new_voltage = v + $dt * (v - v^3 / 3 - w + I), new_recovery = w + $dt * $slow * (v + $shift - 0.75 * w).",
                "Advance FitzHugh-Nagumo cells by $dt (time scale $slow, offset $shift, recovery damping 0.75). For the drive take the current and $f.words. Both updates use the old state.",
            ],
        },
    ];
    families.into_iter().map(Pointwise::family).collect()
}
