//! Rebuilding neighbour lists: atoms into the box, into the order of their cells, and their lists.

use rayon::prelude::*;

use super::trajectory::Simulation;
use crate::neighbour_list::{BLOCK, ListBlock, ListTask};
use crate::real::Real;

impl<R: Real> Simulation<R> {
    /// Puts atoms into the box and into the order of their cells, and makes their lists.
    pub(super) fn rebuild(&mut self) {
        let atoms = self.identities.len();
        self.wrap();
        for atom in 0..atoms {
            self.columns.cells[atom] = self.grid.cell_of(self.position(atom)) as u32;
        }
        let order = &mut self.columns.order;
        order.fill(&self.columns.cells, self.grid.len());
        if self.settings.sort {
            permute(
                &order.atoms,
                &mut self.positions[..4 * atoms],
                &mut self.spare,
            );
            permute(&order.atoms, &mut self.losses, &mut self.spare);
            permute(&order.atoms, &mut self.velocities, &mut self.spare);
            for (slot, &atom) in order.atoms.iter().enumerate() {
                self.spare_identities[slot] = self.identities[atom as usize];
            }
            std::mem::swap(&mut self.identities, &mut self.spare_identities);
            for cell in 0..self.grid.len() {
                let (low, high) = (order.starts[cell] as usize, order.starts[cell + 1] as usize);
                self.columns.cells[low..high].fill(cell as u32);
            }
        }
        let sorted = self.settings.sort;
        for (axis, column) in self.columns.axes.iter_mut().enumerate() {
            for (slot, (value, &atom)) in column.iter_mut().zip(&order.atoms).enumerate() {
                let atom = if sorted { slot } else { atom as usize };
                *value = self.positions[4 * atom + axis];
            }
        }
        let mut slots = std::mem::take(&mut self.spare_identities);
        if !sorted {
            for (slot, &atom) in order.atoms.iter().enumerate() {
                slots[atom as usize] = slot as u32;
            }
        }
        self.references
            .copy_from_slice(&self.positions[..4 * atoms]);
        self.make_lists((!sorted).then_some(&slots));
        self.spare_identities = slots;
        self.rebuilds += 1;
    }

    fn wrap(&mut self) {
        let atoms = self.identities.len();
        let sides = self.constants.sides;
        let inverse = sides.map(R::reciprocal);
        for position in self.positions[..4 * atoms].chunks_exact_mut(4) {
            for axis in 0..3 {
                let (x, side, zero) = (position[axis], sides[axis], R::default());
                // What is inside stays as it is, so that wrapping twice changes nothing.
                if zero <= x && x < side {
                    continue;
                }
                let inside = x - side * (x * inverse[axis]).below();
                // Rounding can leave a coordinate at the side or just below zero; both are at 0.
                position[axis] = if zero <= inside && inside < side {
                    inside
                } else {
                    zero
                };
            }
        }
    }

    fn make_lists(&mut self, slots: Option<&Vec<u32>>) {
        let atoms = self.identities.len();
        let (columns, grid) = (&self.columns, &self.grid);
        let (sides, reach) = (self.constants.sides, R::of(self.settings.reach()));
        let instructions = self.settings.instructions;
        let work = |(index, block): (usize, &mut ListBlock)| {
            let first = index * BLOCK;
            R::with_vectors(
                instructions,
                ListTask {
                    block,
                    atoms: (first, (first + BLOCK).min(atoms)),
                    columns,
                    grid,
                    slots: slots.map(|slots| &slots[..]),
                    sides,
                    reach,
                    nobody: 4 * atoms as u32,
                },
            );
        };
        if self.cpu.threads() == 1 {
            self.lists.iter_mut().enumerate().for_each(work);
            return;
        }
        let lists = &mut self.lists;
        self.cpu
            .run(|| lists.par_iter_mut().enumerate().for_each(work));
    }
}

/// Puts `values`, four to an atom, into the order of `atoms`.
fn permute<R: Real>(atoms: &[u32], values: &mut [R], spare: &mut [R]) {
    for (slot, &atom) in spare.chunks_exact_mut(4).zip(atoms) {
        slot.copy_from_slice(&values[4 * atom as usize..][..4]);
    }
    values.copy_from_slice(spare);
}
