//! The texture: noise that is always there, in long swells that overlap.

use warpsmith_workload::random::Random;

use crate::note::{Note, Voice};
use crate::params::{Params, Patch};

/// Seconds from the beginning of one swell to that of the next, and how long each lasts.
const APART_SECONDS: f64 = 7.0;
const LONG_SECONDS: f64 = 18.0;

/// The swells to come.
#[derive(Clone, Debug)]
pub(crate) struct Texture {
    random: Random,
    /// Where the next one begins.
    next: f64,
    right: bool,
}

impl Texture {
    pub(crate) fn new(random: Random) -> Self {
        Self {
            random,
            next: 0.0,
            right: false,
        }
    }

    /// Adds what begins in the bar `from..to`, at the section's `level`.
    pub(crate) fn play(
        &mut self,
        (from, to): (f64, f64),
        level: f64,
        params: &Params,
        sample_rate: f64,
        add: &mut dyn FnMut(Note),
    ) {
        while self.next < to {
            let wide = 0.3 + 0.5 * self.random.unit() as f32;
            let loudness = 0.35 * f64::from(params.texture) * level;
            let seed = self.random.bits() as u32;
            if params.texture > 0.0 && params.parts.swells {
                add(Note {
                    voice: Voice::Swell,
                    start: self.next.max(from) as u64,
                    length: (LONG_SECONDS * sample_rate) as u32,
                    pitch: 0.0,
                    velocity: loudness as f32,
                    pan: if self.right { wide } else { -wide },
                    seed,
                    patch: Patch::Usual,
                });
            }
            self.right = !self.right;
            self.next += APART_SECONDS * sample_rate;
        }
    }
}
