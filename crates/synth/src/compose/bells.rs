//! Bells: four loops of one note each whose lengths have no common measure, so that what they play
//! together does not return.

use warpsmith_workload::random::Random;

use super::humanise::velocity;
use super::melody::Ground;
use crate::note::{Note, Voice};

const LOOPS: usize = 4;
/// Seconds of the shortest loop; each other is the fourth root of two longer.
const SHORTEST_SECONDS: f64 = 17.3;
/// Cents above the melody's C4 at which bells lie, about.
const CENTRE: i32 = 1_200;

/// A note that returns.
#[derive(Clone, Copy, Debug, Default)]
struct Loop {
    /// Seconds from one to the next, and samples until the next.
    seconds: f64,
    next: f64,
    step: i32,
    pan: f32,
}

/// The loops.
#[derive(Clone, Debug)]
pub(crate) struct Bells {
    random: Random,
    loops: [Loop; LOOPS],
}

impl Bells {
    pub(crate) fn new(mut random: Random, sample_rate: f64) -> Self {
        let mut loops = [Loop::default(); LOOPS];
        for (index, bell) in loops.iter_mut().enumerate() {
            let near = 1.0 + 0.06 * (random.unit() - 0.5);
            bell.seconds = SHORTEST_SECONDS * (index as f64 / 4.0).exp2() * near;
            bell.next = random.unit() * bell.seconds * sample_rate;
            // Root, third, fifth and their neighbours, each its own.
            bell.step = 2 * index as i32 + random.below(2) as i32;
            bell.pan = 0.9 * (random.unit() as f32 - 0.5) + if index % 2 == 0 { 0.3 } else { -0.3 };
        }
        Self { random, loops }
    }

    /// Adds what falls into the bar `from..to`, on the scale of `ground`, transposed by `key` cents.
    pub(crate) fn play(
        &mut self,
        (from, to): (f64, f64),
        key: i32,
        sample_rate: f64,
        ground: &Ground<'_>,
        add: &mut dyn FnMut(Note),
    ) {
        let random = &mut self.random;
        let section = ground.section;
        for bell in &mut self.loops {
            while bell.next < to {
                let sounds = random.unit() < 0.35 + 0.5 * section.density;
                let velocity = velocity(0.3 * section.level, random);
                if sounds && ground.params.parts.bells {
                    add(Note {
                        voice: Voice::Bell,
                        start: bell.next.max(from) as u64,
                        length: sample_rate as u32,
                        pitch: (ground.cents(bell.step) + CENTRE + key) as f32 / 100.0,
                        velocity,
                        pan: bell.pan,
                        seed: 0,
                        patch: ground.params.instruments.bells,
                    });
                }
                bell.next += bell.seconds * sample_rate;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loops_are_of_different_lengths_and_none_is_short() {
        for seed in 0..100 {
            let bells = Bells::new(Random::seeded(seed), 48_000.0);
            for pair in bells.loops.windows(2) {
                assert!(pair[1].seconds > 1.1 * pair[0].seconds);
                assert!(pair[1].step > pair[0].step);
            }
            // So no bar, six seconds at most, hears a bell twice.
            assert!(bells.loops.iter().all(|bell| bell.seconds > 16.0));
        }
    }
}
