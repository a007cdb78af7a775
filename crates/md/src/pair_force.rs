//! Forces from neighbour lists, a vector of neighbours at a time.
//!
//! Every atom has all its neighbours in its list, so a pair is looked at twice. That is twice the
//! arithmetic of a list with each pair once, and no scattered writes: threads share nothing, sums
//! have one order, and the force on a neighbour is never gathered, added to and scattered again.

use warpsmith_lanes::{Masked, VectorTask};

use crate::neighbour_list::ListBlock;
use crate::potential::LennardJones;
use crate::real::Real;
use crate::reference::PairSums;

/// The potential's numbers in a simulation's precision.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PairConstants<R> {
    pub(crate) cutoff_square: R,
    pub(crate) energy_shift: R,
    pub(crate) force_shift: R,
    pub(crate) sides: [R; 3],
}

impl<R: Real> PairConstants<R> {
    pub(crate) fn new(potential: &LennardJones, sides: [f64; 3]) -> Self {
        let (energy_shift, force_shift) = potential.shifts();
        Self {
            cutoff_square: R::of(potential.cutoff * potential.cutoff),
            energy_shift: R::of(energy_shift),
            force_shift: R::of(force_shift),
            sides: sides.map(R::of),
        }
    }
}

/// Computes the forces on a block of atoms, and adds half a kick to their velocities where `kick`
/// is not zero.
pub(crate) struct ForceTask<'a, R> {
    /// All positions, four numbers to an atom, and a last one that is not a number.
    pub(crate) positions: &'a [R],
    pub(crate) list: &'a ListBlock,
    pub(crate) first_atom: usize,
    /// Four numbers to an atom of the block.
    pub(crate) forces: &'a mut [R],
    pub(crate) velocities: &'a mut [R],
    pub(crate) kick: R,
    pub(crate) constants: &'a PairConstants<R>,
    /// Whether energy and virial are requested.
    pub(crate) sums: bool,
}

/// What the vectors of one atom add up to.
struct Row<R> {
    force: [R; 3],
    energy: R,
    virial: R,
}

impl<R: Real> VectorTask<R> for ForceTask<'_, R> {
    type Output = PairSums;

    #[inline(always)]
    fn run<L: Masked<Scalar = R>>(self) -> PairSums {
        match (self.sums, self.constants.force_shift != R::default()) {
            (false, false) => self.rows::<L, false, false>(),
            (false, true) => self.rows::<L, false, true>(),
            (true, false) => self.rows::<L, true, false>(),
            (true, true) => self.rows::<L, true, true>(),
        }
    }
}

impl<R: Real> ForceTask<'_, R> {
    #[inline(always)]
    fn rows<L: Masked<Scalar = R>, const SUMS: bool, const SHIFT: bool>(self) -> PairSums {
        let mut sums = PairSums::default();
        let mut begin = 0;
        for (index, (&end, &inside)) in self.list.ends.iter().zip(&self.list.inside).enumerate() {
            let entries = &self.list.entries[begin..end as usize];
            begin = end as usize;
            let at = 4 * (self.first_atom + index);
            let home = [
                self.positions[at],
                self.positions[at + 1],
                self.positions[at + 2],
            ];
            let row = if inside {
                row::<R, L, false, SUMS, SHIFT>(self.positions, entries, home, self.constants)
            } else {
                row::<R, L, true, SUMS, SHIFT>(self.positions, entries, home, self.constants)
            };
            for axis in 0..3 {
                self.forces[4 * index + axis] = row.force[axis];
                self.velocities[4 * index + axis] += self.kick * row.force[axis];
            }
            if SUMS {
                // Each pair is seen from both of its atoms.
                sums.energy += 0.5 * row.energy.wide();
                sums.virial += 0.5 * row.virial.wide();
            }
        }
        sums
    }
}

#[inline(always)]
fn row<R: Real, L: Masked<Scalar = R>, const WRAP: bool, const SUMS: bool, const SHIFT: bool>(
    positions: &[R],
    entries: &[u32],
    home: [R; 3],
    constants: &PairConstants<R>,
) -> Row<R> {
    let number = |value: f64| L::splat(R::of(value));
    let zero = number(0.0);
    let side = constants.sides.map(L::splat);
    let inverse = constants.sides.map(|side| L::splat(side.reciprocal()));
    let cutoff_square = L::splat(constants.cutoff_square);
    let here = home.map(L::splat);
    let (mut force, mut energy, mut virial) = ([zero; 3], zero, zero);
    for places in entries.chunks_exact(L::WIDTH) {
        let (mut apart, mut square) = ([zero; 3], zero);
        // SAFETY: an entry is four times an atom's index, and the positions have four numbers to an
        // atom and to the one that pads; `places` is one vector.
        let there = unsafe { L::gather_vectors(positions.as_ptr(), places.as_ptr()) };
        for axis in 0..3 {
            apart[axis] = here[axis].sub(there[axis]);
            if WRAP {
                let images = apart[axis].mul(inverse[axis]).nearest();
                apart[axis] = images.neg_mul_add(side[axis], apart[axis]);
            }
            square = apart[axis].mul_add(apart[axis], square);
        }
        let near = square.where_less(cutoff_square);
        let inverse_square = square.reciprocal();
        let sixth = inverse_square.mul(inverse_square).mul(inverse_square);
        let mut over_distance = sixth
            .mul_add(number(48.0), number(-24.0))
            .mul(sixth.mul(inverse_square));
        let mut distance = zero;
        if SHIFT {
            distance = square.sqrt();
            over_distance = distance
                .mul(inverse_square)
                .mul_add(L::splat(constants.force_shift), over_distance);
        }
        for axis in 0..3 {
            force[axis] = over_distance.mul_add_where(apart[axis], force[axis], near);
        }
        if SUMS {
            let four = number(4.0);
            let mut pair = sixth
                .mul_add(sixth, zero.sub(sixth))
                .mul_add(four, L::splat(constants.energy_shift));
            if SHIFT {
                pair = distance.neg_mul_add(L::splat(constants.force_shift), pair);
            }
            energy = energy.add(pair.keep(near));
            virial = over_distance.mul_add_where(square, virial, near);
        }
    }
    Row {
        force: force.map(L::sum),
        energy: energy.sum(),
        virial: virial.sum(),
    }
}
