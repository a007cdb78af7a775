//! Reverberation by a feedback delay network: eight delay lines whose outputs are mixed by a
//! Householder reflection and fed back, with losses that make the sound decay in a set time.
//!
//! Invariant: every line loses `60 dB · delay / decay` in a round, so that all frequencies below the
//! damping fall by 60 dB in the decay time, whatever the lines' lengths.

use crate::error::{Result, SignalError};

/// Lines of the network.
const LINES: usize = 8;
/// Their lengths in a middle-sized room, seconds: no two have a small common multiple.
const DELAYS: [f64; LINES] = [
    0.0297, 0.0371, 0.0411, 0.0437, 0.0503, 0.0571, 0.0617, 0.0683,
];

/// A room.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReverbSettings {
    /// Seconds in which the sound falls by 60 dB.
    pub decay_seconds: f64,
    /// Length of the room's paths over those of a middle-sized room.
    pub size: f64,
    /// How much high frequencies fade faster: 0 not at all, towards 1 at once.
    pub damping: f64,
    /// Share of the reverberation in the result; the rest is the sound itself.
    pub wet: f64,
}

impl Default for ReverbSettings {
    fn default() -> Self {
        Self {
            decay_seconds: 1.2,
            size: 1.0,
            damping: 0.3,
            wet: 0.3,
        }
    }
}

#[derive(Clone, Debug)]
struct Line {
    samples: Vec<f32>,
    at: usize,
    /// What a round leaves.
    loss: f32,
    /// The low-pass filter's memory.
    damped: f32,
}

/// A room with the sound that is in it.
#[derive(Clone, Debug)]
pub struct Reverb {
    lines: Vec<Line>,
    damping: f32,
    wet: f32,
    settings: ReverbSettings,
    sample_rate: u32,
}

impl Reverb {
    /// A silent room.
    pub fn new(sample_rate: u32, settings: ReverbSettings) -> Result<Self> {
        let ReverbSettings {
            decay_seconds,
            size,
            damping,
            wet,
        } = settings;
        for (name, value, fits) in [
            (
                "decay",
                decay_seconds,
                (0.01..=60.0).contains(&decay_seconds),
            ),
            ("size", size, (0.05..=20.0).contains(&size)),
            ("damping", damping, (0.0..1.0).contains(&damping)),
            ("wet", wet, (0.0..=1.0).contains(&wet)),
        ] {
            if !fits {
                return Err(SignalError::parameter(
                    name,
                    value,
                    "decay from 0.01 to 60 s, size from 0.05 to 20, damping from 0 to below 1 and \
                     wet from 0 to 1 make sense",
                ));
            }
        }
        let rate = f64::from(sample_rate);
        let lines = DELAYS
            .iter()
            .map(|delay| {
                let length = ((delay * size * rate).round() as usize).max(1);
                let seconds = length as f64 / rate;
                Line {
                    samples: vec![0.0; length],
                    at: 0,
                    loss: 10f64.powf(-3.0 * seconds / decay_seconds) as f32,
                    damped: 0.0,
                }
            })
            .collect();
        Ok(Self {
            lines,
            damping: damping as f32,
            wet: wet as f32,
            settings,
            sample_rate,
        })
    }

    /// Samples that ring on after the sound has ended, until 60 dB below it.
    pub fn tail(&self) -> usize {
        (self.settings.decay_seconds * f64::from(self.sample_rate)) as usize
    }

    /// The next samples of the sound, in place.
    pub fn process(&mut self, signal: &mut [f32]) {
        let scale = 1.0 / (LINES as f32).sqrt();
        for x in signal {
            let mut heard = [0.0f32; LINES];
            for (line, heard) in self.lines.iter_mut().zip(&mut heard) {
                let sample = line.samples[line.at] * line.loss;
                line.damped = self.damping.mul_add(line.damped - sample, sample);
                *heard = line.damped;
            }
            let sum: f32 = heard.iter().sum();
            let mut wet = 0.0;
            for (index, (line, heard)) in self.lines.iter_mut().zip(heard).enumerate() {
                // Alternating signs keep the lines' outputs from adding up to a comb.
                wet += if index % 2 == 0 { heard } else { -heard };
                // The Householder reflection is orthogonal: mixing neither adds nor takes energy.
                line.samples[line.at] = *x * scale + heard - sum * (2.0 / LINES as f32);
                line.at = if line.at + 1 == line.samples.len() {
                    0
                } else {
                    line.at + 1
                };
            }
            *x = (1.0 - self.wet).mul_add(*x, self.wet * wet);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn response(settings: ReverbSettings, seconds: f64) -> Vec<f32> {
        let mut reverb = Reverb::new(16_000, settings).unwrap();
        let mut signal = vec![0.0f32; (16_000.0 * seconds) as usize];
        signal[0] = 1.0;
        reverb.process(&mut signal);
        signal
    }

    #[test]
    fn the_sound_falls_by_60_db_in_the_decay_time() {
        for decay in [0.4, 1.0, 2.5] {
            let settings = ReverbSettings {
                decay_seconds: decay,
                damping: 0.0,
                wet: 1.0,
                ..ReverbSettings::default()
            };
            let impulse = response(settings, 2.0 * decay);
            // Schroeder's backward integral; the slope between −5 and −35 dB, as ISO 3382 reads it.
            let mut energy: Vec<f64> = impulse.iter().map(|x| f64::from(*x).powi(2)).collect();
            for n in (0..energy.len() - 1).rev() {
                energy[n] += energy[n + 1];
            }
            let falls = |db: f64| {
                let bound = energy[0] * 10f64.powf(-db / 10.0);
                energy.iter().position(|e| *e < bound).unwrap() as f64 / 16_000.0
            };
            let measured = 2.0 * (falls(35.0) - falls(5.0));
            assert!((measured / decay - 1.0).abs() < 0.1, "{decay}: {measured}");
        }
    }

    #[test]
    fn damping_darkens_and_a_dry_room_is_silent() {
        let dry = ReverbSettings {
            wet: 0.0,
            ..ReverbSettings::default()
        };
        assert!(response(dry, 0.5)[1..].iter().all(|x| *x == 0.0));
        let crossings = |damping: f64| {
            let settings = ReverbSettings {
                damping,
                wet: 1.0,
                ..ReverbSettings::default()
            };
            let tail = response(settings, 0.8)[8000..].to_vec();
            tail.windows(2).filter(|w| w[0] * w[1] < 0.0).count()
        };
        assert!(crossings(0.7) < crossings(0.0) / 2);
        let chunks = {
            let mut reverb = Reverb::new(16_000, ReverbSettings::default()).unwrap();
            let mut signal = vec![0.0f32; 8000];
            signal[0] = 1.0;
            for chunk in signal.chunks_mut(113) {
                reverb.process(chunk);
            }
            signal
        };
        assert_eq!(chunks, response(ReverbSettings::default(), 0.5));
        assert!(
            Reverb::new(
                16_000,
                ReverbSettings {
                    damping: 1.0,
                    ..ReverbSettings::default()
                }
            )
            .is_err()
        );
    }
}
