//! A sinc under a Kaiser window, and the filters that it is at places between two inputs.

use std::f64::consts::PI;

use warpsmith_lanes::{Task, with_widest};

/// The sinc under its window, as a function of the distance from its centre.
pub(super) struct Prototype {
    /// Inputs before the position that the first tap looks at.
    before: usize,
    /// Inputs from the centre to where the window ends.
    half: f64,
    /// Half turns of the sinc to an input.
    cutoff: f64,
    /// Sine and cosine of the sinc's angle at each tap, the centre where no offset is.
    turns: Vec<[f64; 2]>,
    /// Coefficients of `I₀(β√u)`, the highest power of `u` first.
    window: Vec<f64>,
}

impl Prototype {
    /// For filters of so many taps, a multiple of [`TAPS`], under a Kaiser window of shape `beta`.
    pub(super) fn new(taps: usize, before: usize, half: f64, cutoff: f64, beta: f64) -> Self {
        let turns = (0..taps)
            .map(|tap| {
                let (sin, cos) = (PI * cutoff * (tap as f64 - before as f64)).sin_cos();
                [sin, cos]
            })
            .collect();
        // Of I₀(x) = Σ (x²/4)ᵏ/(k!)²; terms are positive, and those too small to count are left out.
        let mut window = vec![1.0f64];
        let mut sum = 1.0;
        loop {
            let k = window.len() as f64;
            let term = window[window.len() - 1] * beta * beta / (4.0 * k * k);
            sum += term;
            if term < 1e-17 * sum {
                break;
            }
            window.push(term);
        }
        window.reverse();
        Self {
            before,
            half,
            cutoff,
            turns,
            window,
        }
    }

    /// The filters of `phases` places between two inputs, `[phase, tap]`, all of them `shift` inputs later, each
    /// with a sum of one.
    pub(super) fn filters(&self, phases: usize, shift: f64) -> Vec<f32> {
        let taps = self.turns.len();
        let mut filters = vec![0.0; phases * taps];
        let mut filter = vec![0.0f64; taps];
        // Where nothing is shifted, the later filters are the earlier ones, the last tap first.
        let computed = if shift == 0.0 { phases / 2 + 1 } else { phases };
        for (phase, slots) in filters.chunks_exact_mut(taps).enumerate().take(computed) {
            with_widest(PhaseTask {
                prototype: self,
                offset: phase as f64 / phases as f64 + shift,
                filter: &mut filter,
            });
            let sum: f64 = filter.iter().sum();
            for (slot, x) in slots.iter_mut().zip(&filter) {
                *slot = (x / sum) as f32;
            }
        }
        for phase in computed..phases {
            let (earlier, slots) = filters.split_at_mut(phase * taps);
            let twin = &earlier[(phases - phase) * taps..][..2 * self.before + 2];
            for (slot, x) in slots.iter_mut().zip(twin.iter().rev()) {
                *slot = *x;
            }
        }
        filters
    }
}

/// The filter whose outputs lie `offset` inputs after a whole one, not yet normalised.
struct PhaseTask<'a> {
    prototype: &'a Prototype,
    offset: f64,
    filter: &'a mut [f64],
}

impl Task for PhaseTask<'_> {
    #[inline(always)]
    fn run(self) {
        let Prototype {
            before,
            half,
            cutoff,
            ref turns,
            ref window,
        } = *self.prototype;
        let (sin, cos) = (PI * cutoff * self.offset).sin_cos();
        // The number of taps is a multiple of these.
        let filter = self.filter.as_chunks_mut::<TAPS>().0.iter_mut();
        for (first, (filter, turns)) in filter.zip(turns.as_chunks::<TAPS>().0).enumerate() {
            let (mut distance, mut u) = ([0.0f64; TAPS], [0.0f64; TAPS]);
            for n in 0..TAPS {
                distance[n] = (first * TAPS + n) as f64 - before as f64 - self.offset;
                u[n] = 1.0 - (distance[n] / half).powi(2);
            }
            let mut weight = [0.0f64; TAPS];
            for coefficient in window {
                for n in 0..TAPS {
                    weight[n] = weight[n] * u[n] + coefficient;
                }
            }
            for n in 0..TAPS {
                let angle = PI * cutoff * distance[n];
                let sine = turns[n][0] * cos - turns[n][1] * sin;
                // Next to the centre the quotient of two small numbers is left to the series.
                let sinc = if angle.abs() < 1e-4 {
                    1.0 - angle * angle / 6.0
                } else {
                    sine / angle
                };
                filter[n] = if u[n] > 0.0 { sinc * weight[n] } else { 0.0 };
            }
        }
    }
}

/// Sincs of 50 values a side under a raised cosine that ends one value further, `[phase, tap]`, not normalised:
/// how values between samples are found in [`BrickWall`](super::BrickWall).
pub(super) fn raised_cosine_filters(
    phases: usize,
    taps: usize,
    before: usize,
    shift: f64,
) -> Vec<f32> {
    const DEPTH: f64 = 50.0;
    let mut filters = vec![0.0; phases * taps];
    for (phase, filter) in filters.chunks_exact_mut(taps).enumerate() {
        let offset = phase as f64 / phases as f64 + shift;
        let fraction = offset - offset.floor();
        for (tap, slot) in filter.iter_mut().enumerate() {
            let distance = tap as f64 - before as f64 - offset;
            let nearest = if distance <= 0.0 {
                fraction
            } else {
                1.0 - fraction
            };
            let span = nearest + DEPTH;
            if distance == 0.0 {
                *slot = 1.0;
            } else if fraction > 0.0 && distance.abs() < span - 1e-9 {
                let sinc = (PI * distance).sin() / (PI * distance);
                *slot = (sinc * (0.5 + 0.5 * (PI * distance / span).cos())) as f32;
            }
        }
    }
    filters
}

/// Taps that are computed side by side.
pub(super) const TAPS: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copied_filters_are_what_would_be_computed() {
        let prototype = Prototype::new(48, 20, 19.7, 0.9, 8.0);
        for phases in [1, 2, 7, 8] {
            let filters = prototype.filters(phases, 0.0);
            // So small a shift changes nothing but that all are computed.
            let computed = prototype.filters(phases, 1e-14);
            for (n, (a, b)) in filters.iter().zip(&computed).enumerate() {
                assert!((a - b).abs() < 1e-7, "{phases} phases, {n}: {a} and {b}");
            }
        }
    }
}
