//! A Lennard-Jones trajectory on the CPU: velocity Verlet over neighbour lists that are remade when
//! an atom has moved half the skin.
//!
//! Invariants: atoms are kept in the order of their cells, and `identities` says who each is; after
//! every step forces are those of the positions; memory is taken when the first list is made, later
//! ones fit into it.

use rayon::prelude::*;
use warpsmith_device::{CpuDevice, ensure_host_room};
use warpsmith_lanes::WIDEST;

use crate::cell_grid::CellGrid;
use crate::checkpoint::State;
use crate::error::{MdError, Result};
use crate::neighbour_list::{BLOCK, Columns, ListBlock};
use crate::overlap::check_overlap;
use crate::pair_force::{ForceTask, PairConstants};
use crate::periodic_box::PeriodicBox;
use crate::real::Real;
use crate::reference::PairSums;
use crate::settings::Settings;
use crate::start::Atoms;
use crate::verlet::DriftTask;

/// A trajectory in progress.
pub struct Simulation<R: Real> {
    pub(super) cpu: CpuDevice,
    pub(super) settings: Settings,
    pub(super) cell: PeriodicBox,
    pub(super) constants: PairConstants<R>,
    pub(super) step: u64,
    pub(super) rebuilds: u64,
    pub(super) identities: Vec<u32>,
    /// Four numbers to an atom, and a last position that is not a number.
    pub(super) positions: Vec<R>,
    /// By how much rounding has left positions too large, four numbers to an atom.
    pub(super) losses: Vec<R>,
    pub(super) velocities: Vec<R>,
    pub(super) forces: Vec<R>,
    pub(super) references: Vec<R>,
    pub(super) grid: CellGrid,
    pub(super) columns: Columns<R>,
    pub(super) lists: Vec<ListBlock>,
    pub(super) largest: Vec<u64>,
    pub(super) sums: Vec<PairSums>,
    pub(super) spare: Vec<R>,
    pub(super) spare_identities: Vec<u32>,
}

impl<R: Real> Simulation<R> {
    /// Starts at step zero from `atoms`, whose images inside the box are taken.
    pub fn new(cpu: &CpuDevice, atoms: &Atoms, settings: Settings) -> Result<Self> {
        settings.check(&atoms.cell, atoms.len())?;
        atoms.check_finite()?;
        check_overlap(atoms)?;
        let identities = (0..atoms.len() as u32).collect();
        let mut simulation = Self::empty(cpu, atoms.cell, settings, identities)?;
        fill(&mut simulation.positions, &atoms.positions);
        fill(&mut simulation.velocities, &atoms.velocities);
        simulation.rebuild();
        simulation.compute_forces(R::default(), false);
        Ok(simulation)
    }

    /// Continues from a checkpoint.
    pub fn resume(cpu: &CpuDevice, state: &State) -> Result<Self> {
        let count = state.identities.len();
        state.settings.check(&state.cell, count)?;
        let mut simulation =
            Self::empty(cpu, state.cell, state.settings, state.identities.clone())?;
        // The list that was in use is made again from the positions it was made from; they are in
        // cell order already, and ordering keeps the order.
        fill(&mut simulation.positions, &state.references);
        fill(&mut simulation.losses, &state.losses);
        fill(&mut simulation.velocities, &state.velocities);
        simulation.rebuild();
        fill(&mut simulation.positions, &state.positions);
        simulation.step = state.step;
        simulation.rebuilds = state.rebuilds;
        simulation.compute_forces(R::default(), false);
        Ok(simulation)
    }

    fn empty(
        cpu: &CpuDevice,
        cell: PeriodicBox,
        settings: Settings,
        identities: Vec<u32>,
    ) -> Result<Self> {
        let atoms = identities.len();
        let neighbours = settings.expected_neighbours(&cell, atoms);
        let per_atom = 6 * 4 * size_of::<R>() as u64 + 4 * (neighbours as u64 + 16);
        ensure_host_room(per_atom.saturating_mul(atoms as u64))?;
        let mut positions = vec![R::default(); 4 * atoms + 4];
        positions[4 * atoms..].fill(R::of(f64::NAN));
        let grid = CellGrid::new(&cell, settings.reach());
        let blocks = atoms.div_ceil(BLOCK);
        let lists = (0..blocks)
            .map(|_| ListBlock {
                // A block in a dense corner still fits, so that memory does not grow later.
                entries: vec![0; BLOCK * (neighbours * 5 / 4 + 2 * WIDEST)],
                ends: Vec::with_capacity(BLOCK),
                inside: Vec::with_capacity(BLOCK),
                pairs: 0,
            })
            .collect();
        Ok(Self {
            cpu: cpu.clone(),
            constants: PairConstants::new(&settings.potential, cell.sides),
            settings,
            cell,
            step: 0,
            rebuilds: 0,
            positions,
            losses: vec![R::default(); 4 * atoms],
            velocities: vec![R::default(); 4 * atoms],
            forces: vec![R::default(); 4 * atoms],
            references: vec![R::default(); 4 * atoms],
            grid,
            columns: Columns {
                axes: std::array::from_fn(|_| vec![R::default(); atoms + WIDEST]),
                cells: vec![0; atoms],
                ..Columns::default()
            },
            lists,
            largest: vec![0; blocks],
            sums: vec![PairSums::default(); blocks],
            spare: vec![R::default(); 4 * atoms],
            spare_identities: identities.clone(),
            identities,
        })
    }

    /// How often the lists were made.
    pub fn rebuilds(&self) -> u64 {
        self.rebuilds
    }

    /// Neighbours within cut-off and skin, over all atoms; each pair counts twice.
    pub fn listed(&self) -> usize {
        self.lists.iter().map(|block| block.pairs).sum()
    }

    /// The force on each atom, in the user's order.
    pub fn forces(&self) -> Vec<[f64; 3]> {
        self.in_user_order(&self.forces)
    }

    /// One step.
    pub fn step_once(&mut self) -> Result<()> {
        self.drift();
        let largest = self.largest.iter().copied().max().unwrap_or(0);
        let skin = self.settings.skin;
        if !self.settings.reuse_list || largest > R::of(0.25 * skin * skin).rising_bits() {
            self.check_motion(largest)?;
            self.rebuild();
        }
        let kick = R::of(0.5 * self.settings.time_step);
        self.compute_forces(kick, false);
        self.step += 1;
        Ok(())
    }

    /// Refuses displacements that are no motion of atoms.
    fn check_motion(&self, largest: u64) -> Result<()> {
        let limit = 0.5 * self.settings.potential.cutoff;
        if largest <= R::of(limit * limit).rising_bits() {
            return Ok(());
        }
        let moved = (0..self.identities.len())
            .map(|atom| {
                let apart: [f64; 3] = std::array::from_fn(|axis| {
                    (self.positions[4 * atom + axis] - self.references[4 * atom + axis]).wide()
                });
                apart.iter().map(|x| x * x).sum::<f64>().sqrt()
            })
            .fold(0.0, |a: f64, b| if a >= b { a } else { b });
        Err(MdError::BlowUp {
            step: self.step + 1,
            moved,
        })
    }

    fn drift(&mut self) {
        let atoms = self.identities.len();
        let (settings, step) = (&self.settings, self.step);
        let time_step = R::of(settings.time_step);
        let bath = settings.thermostat.bath(settings, step);
        let instructions = settings.instructions;
        let work = |(((((((x, lost), v), f), r), ids), largest),): (Drifting<'_, R>,)| {
            *largest = R::with_vectors(
                instructions,
                DriftTask {
                    positions: x,
                    losses: lost,
                    velocities: v,
                    forces: f,
                    references: r,
                    identities: ids,
                    step: time_step,
                    bath,
                },
            );
        };
        let positions = &mut self.positions[..4 * atoms];
        if self.cpu.threads() == 1 {
            positions
                .chunks_mut(4 * BLOCK)
                .zip(self.losses.chunks_mut(4 * BLOCK))
                .zip(self.velocities.chunks_mut(4 * BLOCK))
                .zip(self.forces.chunks(4 * BLOCK))
                .zip(self.references.chunks(4 * BLOCK))
                .zip(self.identities.chunks(BLOCK))
                .zip(&mut self.largest)
                .for_each(|block| work((block,)));
            return;
        }
        let (losses, velocities, forces) = (&mut self.losses, &mut self.velocities, &self.forces);
        let (references, identities) = (&self.references, &self.identities);
        let largest = &mut self.largest;
        self.cpu.run(|| {
            positions
                .par_chunks_mut(4 * BLOCK)
                .zip(losses.par_chunks_mut(4 * BLOCK))
                .zip(velocities.par_chunks_mut(4 * BLOCK))
                .zip(forces.par_chunks(4 * BLOCK))
                .zip(references.par_chunks(4 * BLOCK))
                .zip(identities.par_chunks(BLOCK))
                .zip(largest)
                .with_min_len(4)
                .for_each(|block| work((block,)));
        });
    }

    /// Forces of all atoms, with half a kick where `kick` is not zero.
    pub(super) fn compute_forces(&mut self, kick: R, sums: bool) {
        let (positions, constants) = (&self.positions, &self.constants);
        let instructions = self.settings.instructions;
        let work = |index: usize, list: &ListBlock, forces: &mut [R], velocities: &mut [R]| {
            R::with_vectors(
                instructions,
                ForceTask {
                    positions,
                    list,
                    first_atom: index * BLOCK,
                    forces,
                    velocities,
                    kick,
                    constants,
                    sums,
                },
            )
        };
        let lists = &self.lists;
        let (forces, velocities) = (&mut self.forces, &mut self.velocities);
        let totals = &mut self.sums;
        if self.cpu.threads() == 1 {
            let chunks = forces
                .chunks_mut(4 * BLOCK)
                .zip(velocities.chunks_mut(4 * BLOCK));
            for (index, ((f, v), total)) in chunks.zip(totals).enumerate() {
                *total = work(index, &lists[index], f, v);
            }
            return;
        }
        self.cpu.run(|| {
            forces
                .par_chunks_mut(4 * BLOCK)
                .zip(velocities.par_chunks_mut(4 * BLOCK))
                .zip(totals)
                .enumerate()
                .for_each(|(index, ((f, v), total))| *total = work(index, &lists[index], f, v));
        });
    }

    pub(super) fn position(&self, atom: usize) -> [f64; 3] {
        std::array::from_fn(|axis| self.positions[4 * atom + axis].wide())
    }

    pub(super) fn in_user_order(&self, values: &[R]) -> Vec<[f64; 3]> {
        let mut ordered = vec![[0.0; 3]; self.identities.len()];
        for (vector, &identity) in values.chunks_exact(4).zip(&self.identities) {
            ordered[identity as usize] = [vector[0].wide(), vector[1].wide(), vector[2].wide()];
        }
        ordered
    }
}

/// One block's part of everything that a drift touches.
type Drifting<'a, R> = (
    (
        (
            (((&'a mut [R], &'a mut [R]), &'a mut [R]), &'a [R]),
            &'a [R],
        ),
        &'a [u32],
    ),
    &'a mut u64,
);

/// Four numbers to an atom from three.
fn fill<R: Real>(to: &mut [R], from: &[[f64; 3]]) {
    for (slot, vector) in to.chunks_exact_mut(4).zip(from) {
        for axis in 0..3 {
            slot[axis] = R::of(vector[axis]);
        }
    }
}
