//! The part of a step before the forces: half a kick, the drift, the thermostat, and how far atoms
//! have moved since their lists were made.

use warpsmith_lanes::{Masked, VectorTask};

use crate::random_kick::normals;
use crate::real::Real;

/// Velocity damping and noise of one step.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bath<R> {
    /// What is left of a velocity after a step of friction.
    pub(crate) damping: R,
    /// Width of the noise that takes its place.
    pub(crate) noise: f64,
    pub(crate) seed: u64,
    pub(crate) step: u64,
}

/// Adds `by` to `x`. What rounding takes off is kept in `lost` and given back the next time
/// (Kahan): steps are a thousandth of positions, and their lost ends would heat the system.
#[inline(always)]
fn creep<R: Real>(x: &mut R, lost: &mut R, by: R) {
    let by = by - *lost;
    let there = *x + by;
    *lost = (there - *x) - by;
    *x = there;
}

/// Moves a block of atoms. All slices have four numbers to an atom.
pub(crate) struct DriftTask<'a, R> {
    pub(crate) positions: &'a mut [R],
    /// By how much positions are too large.
    pub(crate) losses: &'a mut [R],
    pub(crate) velocities: &'a mut [R],
    pub(crate) forces: &'a [R],
    /// Where atoms were when their lists were made.
    pub(crate) references: &'a [R],
    pub(crate) identities: &'a [u32],
    /// Time step.
    pub(crate) step: R,
    pub(crate) bath: Option<Bath<R>>,
}

impl<R: Real> VectorTask<R> for DriftTask<'_, R> {
    /// Bits of the largest square of a displacement; those of NaN lie above all others.
    type Output = u64;

    #[inline(always)]
    fn run<L: Masked<Scalar = R>>(self) -> u64 {
        let half = self.step * R::of(0.5);
        let drift = if self.bath.is_some() { half } else { self.step };
        for (((x, lost), v), f) in self
            .positions
            .iter_mut()
            .zip(&mut *self.losses)
            .zip(&mut *self.velocities)
            .zip(self.forces)
        {
            *v += half * *f;
            creep(x, lost, drift * *v);
        }
        if let Some(bath) = self.bath {
            // Between two half drifts (BAOAB): the error of averages over positions is of fourth
            // order where the potential is harmonic.
            for (atom, &identity) in self.identities.iter().enumerate() {
                let noise = normals(bath.seed, bath.step, identity);
                for (axis, noise) in noise.into_iter().enumerate() {
                    let at = 4 * atom + axis;
                    let v = &mut self.velocities[at];
                    *v = bath.damping * *v + R::of(bath.noise * noise);
                    creep(&mut self.positions[at], &mut self.losses[at], half * *v);
                }
            }
        }
        let mut largest = 0;
        for (x, reference) in self
            .positions
            .chunks_exact(4)
            .zip(self.references.chunks_exact(4))
        {
            let moved = [
                x[0] - reference[0],
                x[1] - reference[1],
                x[2] - reference[2],
            ];
            let square = moved[0] * moved[0] + moved[1] * moved[1] + moved[2] * moved[2];
            largest = square.rising_bits().max(largest);
        }
        largest
    }
}
