//! Traces that were written after the leak detector had been frozen, set by set: what it is judged on.
//! A set that led to a change is no longer unseen; the last one is.

use super::{Family, MB, autoregressive, between, noise};

/// Shapes that were written after the detector was first frozen.
pub(crate) const HOLD_OUT: &[Family] = &[
    Family {
        name: "birth and death of objects",
        beyond: false,
        make: |n, random| {
            // Arrivals at random, each living 200 steps on average: occupancy around 100 objects.
            let mut alive = 100.0f64;
            (0..n)
                .map(|_| {
                    let born = f64::from(u8::from(random.unit() < 0.5));
                    let died = f64::from(u8::from(random.unit() < alive / 200.0));
                    alive = (alive + born - died).max(0.0);
                    alive * 0.065 * MB
                })
                .collect()
        },
    },
    Family {
        name: "cache that fills",
        beyond: false,
        make: |n, random| {
            let half = between(0.01, 0.08, random) * n as f64;
            let mut trace = noise(n, 0.1 * MB, random);
            for (i, bytes) in trace.iter_mut().enumerate() {
                *bytes += 60.0 * MB * i as f64 / (i as f64 + half);
            }
            trace
        },
    },
    Family {
        name: "two batch sizes in turn",
        beyond: false,
        make: |n, random| {
            let mut trace = noise(n, 0.05 * MB, random);
            let mut large = random.unit() < 0.5;
            for bytes in &mut trace {
                if random.unit() < 1.0 / 300.0 {
                    large = !large;
                }
                *bytes += if large { 15.0 * MB } else { 0.0 };
            }
            trace
        },
    },
    Family {
        name: "collector with uneven cycles",
        beyond: false,
        make: |n, random| {
            let mut trace = Vec::with_capacity(n);
            while trace.len() < n {
                let top = between(4.0, 12.0, random) * MB;
                let floor = between(0.0, 1.0, random) * MB;
                let length = 40 + random.below(160);
                trace.extend((0..length).map(|i| floor + top * i as f64 / length as f64));
            }
            trace.truncate(n);
            trace
        },
    },
    Family {
        name: "check-point that frees",
        beyond: false,
        make: |n, random| {
            let phase = random.below(1000);
            let mut trace = noise(n, 0.05 * MB, random);
            for (i, bytes) in trace.iter_mut().enumerate() {
                *bytes -= if (i + phase) % 1000 < 10 {
                    40.0 * MB
                } else {
                    0.0
                };
            }
            trace
        },
    },
    Family {
        name: "heavy-tailed spikes",
        beyond: false,
        make: |n, random| {
            (0..n)
                .map(|_| 0.2 * MB * ((1.0 - random.unit()).powf(-0.7) - 1.0))
                .collect()
        },
    },
    Family {
        name: "slow wave",
        beyond: false,
        make: |n, random| {
            let phase = random.unit();
            let mut trace = autoregressive(n, 0.8, 0.3 * MB, random);
            for (i, bytes) in trace.iter_mut().enumerate() {
                let turn = 4.0 * i as f64 / n as f64 + phase;
                *bytes += 6.0 * MB * (std::f64::consts::TAU * turn).sin();
            }
            trace
        },
    },
    Family {
        name: "one large release",
        beyond: false,
        make: |n, random| {
            let at = (between(0.2, 0.9, random) * n as f64) as usize;
            let mut trace = autoregressive(n, 0.5, 0.2 * MB, random);
            trace[at..].iter_mut().for_each(|bytes| *bytes -= 60.0 * MB);
            trace
        },
    },
    Family {
        name: "staircase that settles",
        beyond: false,
        make: |n, random| {
            let mut trace = noise(n, 0.05 * MB, random);
            let mut at = between(0.01, 0.03, random) * n as f64;
            let mut height = 10.0 * MB;
            while (at as usize) < n {
                trace[at as usize..]
                    .iter_mut()
                    .for_each(|bytes| *bytes += height);
                height *= 0.6;
                at *= between(1.3, 1.8, random);
            }
            trace
        },
    },
    Family {
        name: "long memory, 3 MB",
        beyond: false,
        make: |n, random| autoregressive(n, 0.999, 3.0 * MB, random),
    },
];

/// Shapes that were written after the first hold-out had led to a change.
pub(crate) const SECOND_HOLD_OUT: &[Family] = &[
    Family {
        name: "ramp, then level",
        beyond: false,
        make: |n, random| {
            let end = between(0.05, 0.3, random) * n as f64;
            let mut trace = noise(n, 0.1 * MB, random);
            for (i, bytes) in trace.iter_mut().enumerate() {
                *bytes += 50.0 * MB * (i as f64 / end).min(1.0);
            }
            trace
        },
    },
    Family {
        name: "sigmoid load",
        beyond: false,
        make: |n, random| {
            let middle = between(0.1, 0.3, random) * n as f64;
            let width = 0.03 * n as f64;
            let mut trace = noise(n, 0.1 * MB, random);
            for (i, bytes) in trace.iter_mut().enumerate() {
                *bytes += 40.0 * MB / (1.0 + (-(i as f64 - middle) / width).exp());
            }
            trace
        },
    },
    Family {
        name: "saw-tooth of growing length",
        beyond: false,
        make: |n, random| {
            let mut trace = Vec::with_capacity(n);
            let mut length = 20.0 + random.below(20) as f64;
            while trace.len() < n {
                trace.extend((0..length as usize).map(|i| 6.0 * MB * i as f64 / length));
                length *= 1.03;
            }
            trace.truncate(n);
            trace
        },
    },
    Family {
        name: "warm-up, cycles and lazy allocations",
        beyond: false,
        make: |n, random| {
            let decay = between(0.01, 0.06, random) * n as f64;
            let period = 30 + random.below(100);
            let mut trace = noise(n, 0.1 * MB, random);
            for (i, bytes) in trace.iter_mut().enumerate() {
                *bytes += 25.0 * MB * (1.0 - (-(i as f64) / decay).exp());
                *bytes += 5.0 * MB * (i % period) as f64 / period as f64;
            }
            for _ in 0..3 {
                let at = random.below(n);
                let height = between(2.0, 15.0, random) * MB;
                trace[at..].iter_mut().for_each(|bytes| *bytes += height);
            }
            trace
        },
    },
    Family {
        name: "pool of power-of-two blocks",
        beyond: false,
        make: |n, random| {
            let load = autoregressive(n, 0.995, 1.0, random);
            load.iter()
                .map(|x| MB * (5.0 + 1.2 * x).round().exp2() / 8.0)
                .collect()
        },
    },
];

/// Shapes that were written after the second hold-out. The detector was changed on all before the fourth.
pub(crate) const THIRD_HOLD_OUT: &[Family] = &[
    Family {
        name: "buffer in 2 MiB steps, flushed",
        beyond: false,
        make: |n, random| {
            let mut filled = 0.0f64;
            let mut limit = between(10.0, 30.0, random) * MB;
            (0..n)
                .map(|_| {
                    filled += between(0.02, 0.12, random) * MB;
                    if filled > limit {
                        filled = 0.0;
                        limit = between(10.0, 30.0, random) * MB;
                    }
                    (filled / (2.0 * MB)).ceil() * 2.0 * MB
                })
                .collect()
        },
    },
    Family {
        name: "arena that doubles and shrinks",
        beyond: true,
        make: |n, random| {
            let mut arena = 8.0 * MB;
            let chance = 12.0 / n as f64;
            (0..n)
                .map(|_| {
                    if random.unit() < chance {
                        let doubles = random.unit() < 0.5 && arena < 64.0 * MB || arena <= 4.0 * MB;
                        arena *= if doubles { 2.0 } else { 0.5 };
                    }
                    arena + 0.05 * MB * random.normal()
                })
                .collect()
        },
    },
    Family {
        name: "quiet and busy phases",
        beyond: false,
        make: |n, random| {
            let length = n / (6 + random.below(6));
            (0..n)
                .map(|i| {
                    let busy = (i / length).is_multiple_of(2);
                    let spread = if busy { 1.5 * MB } else { 0.05 * MB };
                    spread * random.normal().abs()
                })
                .collect()
        },
    },
    Family {
        name: "fragmentation that saturates",
        beyond: false,
        make: |n, random| {
            let scale = between(0.002, 0.01, random) * n as f64;
            let mut trace = noise(n, 0.1 * MB, random);
            for (i, bytes) in trace.iter_mut().enumerate() {
                *bytes += 30.0 * MB * (1.0 - (-(i as f64 / scale).sqrt()).exp());
            }
            trace
        },
    },
    Family {
        name: "set replaced while the old one lives",
        beyond: false,
        make: |n, random| {
            let mut trace = noise(n, 0.1 * MB, random);
            let mut at = random.below(500);
            while at < n {
                let overlap = 10 + random.below(30);
                let end = (at + overlap).min(n);
                trace[at..end]
                    .iter_mut()
                    .for_each(|bytes| *bytes += 48.0 * MB);
                at += 300 + random.below(400);
            }
            trace
        },
    },
    Family {
        name: "readings that fail to zero",
        beyond: false,
        make: |n, random| {
            let mut trace = autoregressive(n, 0.9, 0.4 * MB, random);
            for bytes in &mut trace {
                *bytes += 80.0 * MB;
                if random.unit() < 0.01 {
                    *bytes = 0.0;
                }
            }
            trace
        },
    },
    Family {
        name: "fast, then slow warm-up",
        beyond: false,
        make: |n, random| {
            let (first, second) = (0.02 * n as f64, between(0.1, 0.25, random) * n as f64);
            let mut trace = noise(n, 0.1 * MB, random);
            for (i, bytes) in trace.iter_mut().enumerate() {
                *bytes += 30.0 * MB * (i as f64 / first).min(1.0);
                *bytes += 6.0 * MB * (i as f64 / second).min(1.0);
            }
            trace
        },
    },
    Family {
        name: "three regimes of correlated load",
        beyond: true,
        make: |n, random| {
            let ends = [between(0.2, 0.4, random), between(0.5, 0.8, random), 1.0];
            let levels = [
                0.0,
                between(-12.0, 12.0, random),
                between(-12.0, 12.0, random),
            ];
            let mut trace = autoregressive(n, 0.97, 0.8 * MB, random);
            for (i, bytes) in trace.iter_mut().enumerate() {
                let share = i as f64 / n as f64;
                let regime = ends.iter().position(|end| share < *end).unwrap_or(2);
                *bytes += levels[regime] * MB;
            }
            trace
        },
    },
];

/// Shapes that were written after marks had got their places, cycles their swing, and resets had ceased
/// to be shifts; the detector is unchanged since.
pub(crate) const FOURTH_HOLD_OUT: &[Family] = &[
    Family {
        name: "spikes that are paid back slowly",
        beyond: false,
        make: |n, random| {
            let mut debt = 0.0;
            (0..n)
                .map(|_| {
                    debt *= 0.995;
                    if random.unit() < 0.01 {
                        debt += between(1.0, 6.0, random) * MB;
                    }
                    debt + 0.02 * MB * random.normal()
                })
                .collect()
        },
    },
    Family {
        name: "kernels compiled on first use",
        beyond: true,
        make: |n, random| {
            let mut trace = noise(n, 0.02 * MB, random);
            for _ in 0..40 {
                let at = (random.unit().powi(4) * 0.9 * n as f64) as usize;
                let size = between(0.2, 1.2, random) * MB;
                trace[at..].iter_mut().for_each(|bytes| *bytes += size);
            }
            trace
        },
    },
    Family {
        name: "cache at its limit with evictions",
        beyond: false,
        make: |n, random| {
            let rate = 60.0 * MB / (between(0.03, 0.12, random) * n as f64);
            let mut held = 0.0f64;
            (0..n)
                .map(|_| {
                    held += rate * 2.0 * random.unit();
                    if held > 60.0 * MB {
                        held -= between(0.5, 4.0, random) * MB;
                    }
                    held
                })
                .collect()
        },
    },
    Family {
        name: "log flushed by the clock",
        beyond: false,
        make: |n, random| {
            let period = 150 + random.below(500);
            let (mut rate, mut written) = (0.02 * MB, 0.0);
            (0..n)
                .map(|i| {
                    if i % period == 0 {
                        written = 0.0;
                        rate = between(0.005, 0.04, random) * MB;
                    }
                    written += rate * random.unit();
                    written
                })
                .collect()
        },
    },
    Family {
        name: "square wave of two tenants",
        beyond: false,
        make: |n, random| {
            let (period, phase) = (600 + random.below(1500), random.below(2000));
            let mut trace = autoregressive(n, 0.7, 0.3 * MB, random);
            for (i, bytes) in trace.iter_mut().enumerate() {
                let second = (i + phase) % period < period / 3;
                *bytes += if second { 25.0 * MB } else { 0.0 };
            }
            trace
        },
    },
    Family {
        name: "free list with hysteresis",
        beyond: false,
        make: |n, random| {
            let need = autoregressive(n, 0.99, 6.0 * MB, random);
            let (mut held, mut idle) = (0.0f64, 0);
            need.iter()
                .map(|bytes| {
                    let chunks = (bytes.max(0.0) / (4.0 * MB)).ceil() * 4.0 * MB;
                    idle = if chunks < held { idle + 1 } else { 0 };
                    if chunks > held || idle > 200 {
                        (held, idle) = (chunks, 0);
                    }
                    held
                })
                .collect()
        },
    },
    Family {
        name: "set-up freed, then cycles",
        beyond: false,
        make: |n, random| {
            let end = (between(0.1, 0.25, random) * n as f64) as usize;
            let period = 40 + random.below(120);
            (0..n)
                .map(|i| {
                    let set_up = if i < end { 90.0 * MB } else { 0.0 };
                    let cycle = 3.0 * MB * (i % period) as f64 / period as f64;
                    set_up + cycle + 0.05 * MB * random.normal()
                })
                .collect()
        },
    },
    Family {
        name: "requests of Pareto size and life",
        beyond: false,
        make: |n, random| {
            let mut trace = vec![0.0; n];
            for at in 0..n {
                if random.unit() < 0.05 {
                    let size = 0.1 * MB * (1.0 - random.unit()).powf(-0.5);
                    let life = 20.0 * (1.0 - random.unit()).powf(-0.6);
                    let end = (at + life as usize).min(n);
                    trace[at..end].iter_mut().for_each(|bytes| *bytes += size);
                }
            }
            trace
        },
    },
];
