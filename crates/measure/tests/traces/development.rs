//! Traces that the leak detector was written against.

use super::{Family, MB, autoregressive, between, noise};

/// The shapes that the detector was written against.
pub(crate) const DEVELOPMENT: &[Family] = &[
    Family {
        name: "flat",
        beyond: false,
        make: |n, _| vec![0.0; n],
    },
    Family {
        name: "noise 0.25 MB",
        beyond: false,
        make: |n, random| noise(n, 0.25 * MB, random),
    },
    Family {
        name: "saw-tooth 8 MB",
        beyond: false,
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
        beyond: false,
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
        beyond: false,
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
        beyond: false,
        make: |n, random| autoregressive(n, 0.99, MB, random),
    },
    Family {
        name: "AR 0.9, 1 MB",
        beyond: false,
        make: |n, random| autoregressive(n, 0.9, MB, random),
    },
    Family {
        name: "bursts",
        beyond: false,
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
        beyond: false,
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
        beyond: false,
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
        beyond: false,
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
        beyond: false,
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
        beyond: false,
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
