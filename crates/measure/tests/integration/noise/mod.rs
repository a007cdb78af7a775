//! Noise of benchmark samples, as factors around 1 with a known median.

use warpsmith_workload::random::Random;

pub(crate) struct Noise {
    pub(crate) name: &'static str,
    /// The true median of the factors.
    pub(crate) median: f64,
    /// Part of the comparison's table of six.
    pub(crate) for_comparison: bool,
    shape: Shape,
}

#[derive(Clone, Copy)]
enum Shape {
    Normal(f64),
    LogNormal(f64),
    Spikes {
        sigma: f64,
        share: f64,
    },
    Autoregressive {
        rho: f64,
        sigma: f64,
    },
    /// A level that changes after geometrically distributed stays.
    Levels {
        sigma: f64,
        stay: f64,
    },
    /// A wave, so that the median is known whatever the run's length.
    Wave {
        period: f64,
        height: f64,
    },
    Quantised {
        sigma: f64,
        step: f64,
    },
}

const fn noise(name: &'static str, for_comparison: bool, shape: Shape) -> Noise {
    Noise {
        name,
        median: 1.0,
        for_comparison,
        shape,
    }
}

pub(crate) const NOISES: &[Noise] = &[
    noise("normal 1 %", false, Shape::Normal(0.01)),
    noise("normal 2 %", true, Shape::Normal(0.02)),
    noise("normal 3 %", false, Shape::Normal(0.03)),
    noise("log-normal 5 %", true, Shape::LogNormal(0.05)),
    noise(
        "1 % spikes",
        false,
        Shape::Spikes {
            sigma: 0.01,
            share: 0.01,
        },
    ),
    noise(
        "2 % spikes",
        true,
        Shape::Spikes {
            sigma: 0.02,
            share: 0.02,
        },
    ),
    noise(
        "AR 0.9",
        true,
        Shape::Autoregressive {
            rho: 0.9,
            sigma: 0.02,
        },
    ),
    noise(
        "AR 0.95",
        false,
        Shape::Autoregressive {
            rho: 0.95,
            sigma: 0.01,
        },
    ),
    noise(
        "levels 1 %",
        true,
        Shape::Levels {
            sigma: 0.01,
            stay: 15.0,
        },
    ),
    noise(
        "slow wave 3 %",
        true,
        Shape::Wave {
            period: 97.0,
            height: 0.03,
        },
    ),
    noise(
        "quantised",
        false,
        Shape::Quantised {
            sigma: 0.01,
            step: 0.0032,
        },
    ),
];

pub(crate) struct Source {
    shape: Shape,
    random: Random,
    state: f64,
    time: f64,
}

impl Noise {
    pub(crate) fn start(&self, seed: u64) -> Source {
        let mut random = Random::seeded(seed.wrapping_mul(0x9e37_79b9) ^ 0x00c0_ffee);
        let state = random.normal();
        let time = 97.0 * random.unit();
        Source {
            shape: self.shape,
            random,
            state,
            time,
        }
    }
}

impl Source {
    pub(crate) fn next(&mut self) -> f64 {
        let random = &mut self.random;
        self.time += 1.0;
        match self.shape {
            Shape::Normal(sigma) => 1.0 + sigma * random.normal(),
            Shape::LogNormal(sigma) => (sigma * random.normal()).exp(),
            Shape::Spikes { sigma, share } => {
                // Spikes are slow samples; below the median nothing changes, so that it stays 1
                // to within the share of spikes times the spread.
                let factor = 1.0 + sigma * random.normal();
                let spike = random.unit() < share && factor > 1.0;
                if spike {
                    factor * (2.0 + 8.0 * random.unit())
                } else {
                    factor
                }
            }
            Shape::Autoregressive { rho, sigma } => {
                self.state = rho * self.state + (1.0 - rho * rho).sqrt() * random.normal();
                1.0 + sigma * self.state
            }
            Shape::Levels { sigma, stay } => {
                if random.unit() < 1.0 / stay {
                    self.state = random.normal();
                }
                1.0 + sigma * self.state + 0.005 * random.normal()
            }
            Shape::Wave { period, height } => {
                let wave = (std::f64::consts::TAU * self.time / period).sin();
                1.0 + height * wave + 0.01 * random.normal()
            }
            Shape::Quantised { sigma, step } => {
                let exact = 1.0 + sigma * random.normal();
                ((exact - 1.0) / step).round() * step + 1.0
            }
        }
    }
}
