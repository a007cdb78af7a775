//! Memory traces of known shape: what programs that do not leak look like. A leak is added on top.

use warpsmith_measure::random::Random;

const MB: f64 = 1e6;

pub(crate) struct Family {
    pub(crate) name: &'static str,
    pub(crate) make: fn(usize, &mut Random) -> Vec<f64>,
}

/// Bytes leaked per step are added to a trace of the family.
pub(crate) fn with_leak(family: &Family, steps: usize, seed: u64, bytes_per_step: f64) -> Vec<f64> {
    let mut random = Random::seeded(seed);
    let mut trace = (family.make)(steps, &mut random);
    for (step, bytes) in trace.iter_mut().enumerate() {
        *bytes += 500.0 * MB + bytes_per_step * step as f64;
    }
    trace
}

fn autoregressive(n: usize, rho: f64, sigma: f64, random: &mut Random) -> Vec<f64> {
    let mut state = sigma * random.normal();
    let fresh = sigma * (1.0 - rho * rho).sqrt();
    (0..n)
        .map(|_| {
            state = rho * state + fresh * random.normal();
            state
        })
        .collect()
}

fn noise(n: usize, sigma: f64, random: &mut Random) -> Vec<f64> {
    (0..n).map(|_| sigma * random.normal()).collect()
}

fn between(low: f64, high: f64, random: &mut Random) -> f64 {
    low + (high - low) * random.unit()
}

/// The shapes that the detector was written against.
pub(crate) const DEVELOPMENT: &[Family] = &[
    Family {
        name: "flat",
        make: |n, _| vec![0.0; n],
    },
    Family {
        name: "noise 0.25 MB",
        make: |n, random| noise(n, 0.25 * MB, random),
    },
    Family {
        name: "saw-tooth 8 MB",
        make: |n, random| {
            let period = between(80.0, 200.0, random).floor();
            let phase = random.below(80) as f64;
            (0..n)
                .map(|i| 8.0 * MB * (((i as f64 + phase) % period) / period))
                .collect()
        },
    },
    Family {
        name: "warm-up 40 MB",
        make: |n, random| {
            let decay = between(0.02, 0.10, random) * n as f64;
            let mut trace = noise(n, 0.05 * MB, random);
            for (i, bytes) in trace.iter_mut().enumerate() {
                *bytes += 40.0 * MB * (1.0 - (-(i as f64) / decay).exp());
            }
            trace
        },
    },
    Family {
        name: "one step of 20 MB",
        make: |n, random| {
            let at = between(0.1, 0.95, random) * n as f64;
            let mut trace = noise(n, 0.05 * MB, random);
            for (i, bytes) in trace.iter_mut().enumerate() {
                *bytes += if i as f64 >= at { 20.0 * MB } else { 0.0 };
            }
            trace
        },
    },
    Family {
        name: "AR 0.99, 1 MB",
        make: |n, random| autoregressive(n, 0.99, MB, random),
    },
    Family {
        name: "AR 0.9, 1 MB",
        make: |n, random| autoregressive(n, 0.9, MB, random),
    },
    Family {
        name: "bursts",
        make: |n, random| {
            let mut trace = noise(n, 0.05 * MB, random);
            let mut left = 0;
            let mut height = 0.0;
            for bytes in &mut trace {
                if left == 0 && random.unit() < 0.01 {
                    left = 5 + random.below(45);
                    height = between(5.0, 30.0, random) * MB;
                }
                if left > 0 {
                    left -= 1;
                    *bytes += height;
                }
            }
            trace
        },
    },
    Family {
        name: "random-interval saw-tooth",
        make: |n, random| {
            let mut trace = Vec::with_capacity(n);
            while trace.len() < n {
                let length = 50 + random.below(250);
                trace.extend((0..length).map(|i| 0.04 * MB * i as f64));
            }
            trace.truncate(n);
            trace
        },
    },
    Family {
        name: "two lazy allocations",
        make: |n, random| {
            let mut trace = noise(n, 0.05 * MB, random);
            for _ in 0..2 {
                let at = (between(0.05, 0.95, random) * n as f64) as usize;
                let height = between(5.0, 30.0, random) * MB;
                trace[at..].iter_mut().for_each(|bytes| *bytes += height);
            }
            trace
        },
    },
    Family {
        name: "two-period saw-tooth",
        make: |n, random| {
            let phase = random.below(400);
            (0..n)
                .map(|i| {
                    let short = ((i + phase) % 30) as f64 / 30.0;
                    let long = ((i + phase) % 400) as f64 / 400.0;
                    4.0 * MB * short + 8.0 * MB * long
                })
                .collect()
        },
    },
    Family {
        name: "logarithmic warm-up",
        make: |n, random| {
            let mut trace = noise(n, 0.05 * MB, random);
            for (i, bytes) in trace.iter_mut().enumerate() {
                *bytes += 10.0 * MB * (1.0 + i as f64 / 50.0).ln();
            }
            trace
        },
    },
    Family {
        name: "reflected random walk",
        make: |n, random| {
            let mut level = between(0.0, 30.0, random) * MB;
            (0..n)
                .map(|_| {
                    level = (level + 0.2 * MB * random.normal()).abs();
                    if level > 60.0 * MB {
                        level = 120.0 * MB - level;
                    }
                    level
                })
                .collect()
        },
    },
];

/// Shapes that were written after the detector was frozen: what it is judged on.
pub(crate) const HOLD_OUT: &[Family] = &[
    Family {
        name: "birth and death of objects",
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
        make: |n, random| {
            (0..n)
                .map(|_| 0.2 * MB * ((1.0 - random.unit()).powf(-0.7) - 1.0))
                .collect()
        },
    },
    Family {
        name: "slow wave",
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
        make: |n, random| {
            let at = (between(0.2, 0.9, random) * n as f64) as usize;
            let mut trace = autoregressive(n, 0.5, 0.2 * MB, random);
            trace[at..].iter_mut().for_each(|bytes| *bytes -= 60.0 * MB);
            trace
        },
    },
    Family {
        name: "staircase that settles",
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
        make: |n, random| autoregressive(n, 0.999, 3.0 * MB, random),
    },
];

/// Shapes that were written after the first hold-out had led to a change.
pub(crate) const SECOND_HOLD_OUT: &[Family] = &[
    Family {
        name: "ramp, then level",
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
        make: |n, random| {
            let load = autoregressive(n, 0.995, 1.0, random);
            load.iter()
                .map(|x| MB * (5.0 + 1.2 * x).round().exp2() / 8.0)
                .collect()
        },
    },
];
