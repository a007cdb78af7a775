//! The CPU's trajectory as an engine: what users see of it.

use super::trajectory::Simulation;
use crate::checkpoint::{Precision, State};
use crate::engine::Engine;
use crate::error::Result;
use crate::instructions;
use crate::real::Real;
use crate::reference::PairSums;
use crate::start::Atoms;
use crate::thermodynamics::Thermodynamics;

impl<R: Real> Engine for Simulation<R> {
    fn advance(&mut self, steps: u64) -> Result<()> {
        (0..steps).try_for_each(|_| self.step_once())
    }

    fn step(&self) -> u64 {
        self.step
    }

    fn thermodynamics(&mut self) -> Result<Thermodynamics> {
        self.compute_forces(R::default(), true);
        let sums = self
            .sums
            .iter()
            .fold(PairSums::default(), |total, block| PairSums {
                energy: total.energy + block.energy,
                virial: total.virial + block.virial,
            });
        let velocities = self
            .velocities
            .chunks_exact(4)
            .map(|v| [v[0].wide(), v[1].wide(), v[2].wide()]);
        let time = self.step as f64 * self.settings.time_step;
        Ok(Thermodynamics::of(
            self.step, time, velocities, sums, &self.cell,
        ))
    }

    fn atoms(&mut self) -> Result<Atoms> {
        Ok(Atoms {
            cell: self.cell,
            positions: self.in_user_order(&self.positions),
            velocities: self.in_user_order(&self.velocities),
        })
    }

    fn state(&mut self) -> Result<State> {
        let three = |values: &[R]| {
            let vectors = values.chunks_exact(4).take(self.identities.len());
            vectors
                .map(|v| [v[0].wide(), v[1].wide(), v[2].wide()])
                .collect()
        };
        Ok(State {
            precision: Precision::of::<R>(),
            arithmetic: self.arithmetic(),
            step: self.step,
            rebuilds: self.rebuilds,
            settings: self.settings,
            cell: self.cell,
            identities: self.identities.clone(),
            positions: three(&self.positions),
            losses: three(&self.losses),
            velocities: three(&self.velocities),
            references: three(&self.references),
        })
    }

    fn arithmetic(&self) -> String {
        format!(
            "cpu {} {}",
            R::NAME,
            instructions::name(self.settings.instructions)
        )
    }

    fn memory_bytes(&self) -> u64 {
        let numbers = self.positions.capacity()
            + self.losses.capacity()
            + self.velocities.capacity()
            + self.forces.capacity()
            + self.references.capacity()
            + self.spare.capacity()
            + self.columns.axes.iter().map(Vec::capacity).sum::<usize>();
        let words = self.identities.capacity()
            + self.spare_identities.capacity()
            + self.columns.cells.capacity()
            + self.columns.order.atoms.capacity()
            + self.columns.order.starts.capacity();
        let lists: usize = self
            .lists
            .iter()
            .map(|block| {
                4 * (block.entries.capacity() + block.ends.capacity()) + block.inside.capacity()
            })
            .sum();
        (numbers * size_of::<R>() + 4 * words + lists) as u64
    }
}
