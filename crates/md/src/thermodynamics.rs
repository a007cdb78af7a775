//! What is reported about a state: energies, temperature, pressure, momentum.

use crate::periodic_box::PeriodicBox;
use crate::reference::PairSums;

/// A state's figures; energies are per atom.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Thermodynamics {
    /// Which step of the trajectory.
    pub step: u64,
    /// Time since the start.
    pub time: f64,
    /// Temperature, from 3N − 3 degrees of freedom: the total momentum is zero.
    pub temperature: f64,
    /// Potential energy per atom.
    pub potential: f64,
    /// Kinetic energy per atom.
    pub kinetic: f64,
    /// Total energy per atom.
    pub total: f64,
    /// Pressure, without the tail.
    pub pressure: f64,
    /// Length of the total momentum.
    pub momentum: f64,
}

impl Thermodynamics {
    /// The figures of `velocities` and `sums`.
    pub(crate) fn of(
        step: u64,
        time: f64,
        velocities: impl Iterator<Item = [f64; 3]>,
        sums: PairSums,
        cell: &PeriodicBox,
    ) -> Self {
        let mut motion = Motion::default();
        for velocity in velocities {
            motion.atoms += 1;
            for (momentum, v) in motion.momentum.iter_mut().zip(velocity) {
                motion.twice_kinetic += v * v;
                *momentum += v;
            }
        }
        Self::from_sums(step, time, &motion, sums, cell)
    }

    /// The figures of sums that were taken elsewhere.
    pub(crate) fn from_sums(
        step: u64,
        time: f64,
        motion: &Motion,
        sums: PairSums,
        cell: &PeriodicBox,
    ) -> Self {
        let count = motion.atoms.max(1) as f64;
        let potential = sums.energy / count;
        let kinetic = 0.5 * motion.twice_kinetic / count;
        Self {
            step,
            time,
            temperature: motion.twice_kinetic / degrees_of_freedom(motion.atoms),
            potential,
            kinetic,
            total: potential + kinetic,
            pressure: (motion.twice_kinetic + sums.virial) / (3.0 * cell.volume()),
            momentum: motion.momentum.iter().map(|p| p * p).sum::<f64>().sqrt(),
        }
    }
}

/// Sums over velocities.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Motion {
    pub(crate) atoms: usize,
    pub(crate) twice_kinetic: f64,
    pub(crate) momentum: [f64; 3],
}

/// Three for each atom, less three for the total momentum.
pub(crate) fn degrees_of_freedom(atoms: usize) -> f64 {
    (3 * atoms.max(2) - 3) as f64
}
