//! The Lennard-Jones potential with its truncations.
//!
//! `u(r) = 4·(r⁻¹² − r⁻⁶)` below the cut-off. What happens at the cut-off is the [`Truncation`].

use std::f64::consts::PI;

use crate::error::{MdError, Result};

/// What is done about the step of the energy at the cut-off.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Truncation {
    /// Nothing: the energy steps at the cut-off. What LAMMPS `lj/cut` and NIST's tables have.
    #[default]
    Cut,
    /// The energy is shifted to zero at the cut-off; forces are those of `Cut`.
    Shift,
    /// Energy and force are shifted to zero at the cut-off: the one that conserves energy best.
    ForceShift,
}

impl Truncation {
    /// All of them with their names.
    pub const NAMES: [(&'static str, Self); 3] = [
        ("cut", Self::Cut),
        ("shift", Self::Shift),
        ("force-shift", Self::ForceShift),
    ];

    /// The name in options and files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Cut => "cut",
            Self::Shift => "shift",
            Self::ForceShift => "force-shift",
        }
    }
}

/// A truncated Lennard-Jones potential.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct LennardJones {
    /// Pairs beyond this distance do not see each other.
    pub cutoff: f64,
    /// What is done at the cut-off.
    pub truncation: Truncation,
}

impl LennardJones {
    /// A potential; the cut-off must lie beyond the potential's minimum at 2^(1/6).
    pub fn new(cutoff: f64, truncation: Truncation) -> Result<Self> {
        if !(cutoff.is_finite() && cutoff > 2f64.powf(1.0 / 6.0)) {
            let reason = "the cut-off lies beyond the potential's minimum at 1.1225 σ";
            return Err(MdError::setting("cut-off", cutoff, reason));
        }
        Ok(Self { cutoff, truncation })
    }

    /// What is added to each pair's energy, and to each pair's `−du/dr`, below the cut-off.
    pub fn shifts(&self) -> (f64, f64) {
        let (energy, slope) = untruncated(self.cutoff);
        match self.truncation {
            Truncation::Cut => (0.0, 0.0),
            Truncation::Shift => (-energy, 0.0),
            // u(r) − u(rc) − (r − rc)·u′(rc): the part with rc is constant, the part with r is not.
            Truncation::ForceShift => (-energy + self.cutoff * slope, slope),
        }
    }

    /// Energy of a pair at `distance`, and `−du/dr`.
    pub fn pair(&self, distance: f64) -> (f64, f64) {
        if distance >= self.cutoff {
            return (0.0, 0.0);
        }
        let (energy, slope) = untruncated(distance);
        let (energy_shift, force_shift) = self.shifts();
        (
            energy + energy_shift - force_shift * distance,
            force_shift - slope,
        )
    }

    /// The energy per atom that the cut-off leaves out of a uniform fluid of this density.
    pub fn tail_energy(&self, density: f64) -> f64 {
        let third = self.cutoff.powi(-3);
        8.0 / 3.0 * PI * density * (third.powi(3) / 3.0 - third)
    }

    /// The pressure that the cut-off leaves out of a uniform fluid of this density.
    pub fn tail_pressure(&self, density: f64) -> f64 {
        let third = self.cutoff.powi(-3);
        16.0 / 3.0 * PI * density * density * (2.0 / 3.0 * third.powi(3) - third)
    }
}

/// `u` and `du/dr` of the whole potential.
fn untruncated(distance: f64) -> (f64, f64) {
    let sixth = distance.powi(-6);
    (
        4.0 * sixth * (sixth - 1.0),
        -24.0 * sixth * (2.0 * sixth - 1.0) / distance,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn potential(truncation: Truncation) -> LennardJones {
        LennardJones::new(2.5, truncation).unwrap()
    }

    #[test]
    fn the_force_is_the_slope_of_the_energy() {
        for (_, truncation) in Truncation::NAMES {
            let potential = potential(truncation);
            for step in 0..80 {
                let (r, h) = (0.85 + 0.02 * f64::from(step), 1e-5);
                let slope = (potential.pair(r + h).0 - potential.pair(r - h).0) / (2.0 * h);
                let force = potential.pair(r).1;
                assert!(
                    (force + slope).abs() <= 1e-7 * force.abs().max(1.0),
                    "{r}: {force} {slope}"
                );
            }
        }
    }

    #[test]
    fn shifts_take_the_step_away() {
        let near = 2.5 - 1e-9;
        assert!((potential(Truncation::Cut).pair(near).0 + 0.0163169).abs() < 1e-6);
        assert!(potential(Truncation::Shift).pair(near).0.abs() < 1e-9);
        let (energy, force) = potential(Truncation::ForceShift).pair(near);
        assert!(energy.abs() < 1e-9 && force.abs() < 1e-8);
        assert_eq!(potential(Truncation::Cut).pair(2.5), (0.0, 0.0));
    }

    #[test]
    fn tails_are_those_of_nist() {
        // NIST's four reference configurations: atoms, side, tail at cut-off 3 and at 4.
        for (atoms, side, at_3, at_4) in [
            (800.0, 10.0, -198.49, -83.769),
            (200.0, 8.0, -24.230, -10.226),
            (400.0, 10.0, -49.622, -20.942),
            (30.0, 8.0, -0.54517, -0.23008),
        ] {
            let density = atoms / f64::powi(side, 3);
            for (cutoff, expected) in [(3.0, at_3), (4.0, at_4)] {
                let tail = atoms
                    * LennardJones::new(cutoff, Truncation::Cut)
                        .unwrap()
                        .tail_energy(density);
                assert!(
                    (tail / expected - 1.0_f64).abs() < 1e-4,
                    "{tail} {expected}"
                );
            }
        }
    }

    #[test]
    fn a_cutoff_inside_the_core_is_refused() {
        for cutoff in [0.0, -1.0, 1.0, f64::NAN] {
            assert!(LennardJones::new(cutoff, Truncation::Cut).is_err());
        }
    }
}
