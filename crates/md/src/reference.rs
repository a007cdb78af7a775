//! Forces by looking at every pair: the specification that everything faster is compared with.

use crate::error::{MdError, Result};
use crate::periodic_box::PeriodicBox;
use crate::potential::LennardJones;

/// Sums over pairs.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize)]
pub struct PairSums {
    /// Potential energy.
    pub energy: f64,
    /// Σ r·f, from which the pressure follows.
    pub virial: f64,
}

/// The force on each atom, and the sums. Takes the square of the number of atoms.
pub fn reference_forces(
    potential: &LennardJones,
    cell: &PeriodicBox,
    positions: &[[f64; 3]],
) -> Result<(Vec<[f64; 3]>, PairSums)> {
    if 2.0 * potential.cutoff > cell.shortest() * (1.0 + 1e-12) {
        let reason = format!(
            "at most half the shortest side of the box, {}",
            cell.shortest()
        );
        return Err(MdError::setting("cut-off", potential.cutoff, reason));
    }
    let mut forces = vec![[0.0; 3]; positions.len()];
    let mut sums = PairSums::default();
    for first in 0..positions.len() {
        for second in first + 1..positions.len() {
            let apart = cell.shortest_vector(positions[first], positions[second]);
            let distance = apart.iter().map(|x| x * x).sum::<f64>().sqrt();
            let (energy, force) = potential.pair(distance);
            sums.energy += energy;
            sums.virial += force * distance;
            for axis in 0..3 {
                let part = force * apart[axis] / distance;
                if force != 0.0 {
                    forces[first][axis] += part;
                    forces[second][axis] -= part;
                }
            }
        }
    }
    Ok((forces, sums))
}
