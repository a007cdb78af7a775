//! The programme: run, read, undo, change one word, run, read, undo, change it back.

use rayon::prelude::*;
use warpsmith_device::CpuDevice;

use super::obstacles::Obstacles;
use super::stencil;
use crate::error::LatticeError;
use crate::shape::{Cell, Shape};
use warpsmith_lanes::InstructionSet;

/// What is counted: weighted walks from `source` to `tap`.
#[derive(Clone, Debug)]
pub struct Walks {
    /// The lattice.
    pub shape: Shape,
    /// T.
    pub steps: u32,
    /// Where walks start.
    pub source: Cell,
    /// Where they end.
    pub tap: Cell,
    /// Cells that no walk enters; `None` where all are open.
    pub obstacles: Option<Obstacles>,
}

/// Which way a run goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    Forward,
    Undo,
}

impl Direction {
    /// As the stencil takes it.
    pub(super) fn sign(self) -> u32 {
        match self {
            Self::Forward => 0,
            Self::Undo => u32::MAX,
        }
    }
}

impl Walks {
    /// Refuses cells outside the lattice and a number of steps that never ends.
    pub fn check(&self) -> Result<(), LatticeError> {
        for cell in [self.source, self.tap] {
            if !self.shape.contains(cell) {
                return Err(LatticeError::Cell {
                    text: cell.to_string(),
                    shape: self.shape.to_string(),
                    problem: "it lies outside".to_owned(),
                });
            }
        }
        Ok(())
    }

    /// As [`Walks::check`], and refuses halves of memory that are not the lattice's.
    pub(super) fn check_halves(&self, a: &[u32], b: &[u32]) -> Result<(), LatticeError> {
        self.check()?;
        let expected = self.shape.cells();
        for half in [a, b] {
            if half.len() != expected {
                return Err(LatticeError::Length {
                    what: "the borrowed memory",
                    found: half.len(),
                    expected,
                });
            }
        }
        Ok(())
    }

    /// Whether step `step` changes B (else A).
    pub(super) fn changes_b(step: u32) -> bool {
        step.is_multiple_of(2)
    }

    /// Whether the result of all steps is read from B.
    pub(super) fn read_from_b(&self) -> bool {
        self.steps % 2 == 1
    }
}

/// The programme on the CPU, in memory that the caller lends.
#[derive(Clone, Debug)]
pub struct CpuBorrow {
    device: CpuDevice,
    set: InstructionSet,
    threads: bool,
    zeros: Vec<u32>,
}

/// Cells of a task: as for reaction-diffusion.
const TASK_CELLS: usize = 1 << 15;

impl CpuBorrow {
    /// On one thread or all of the device's.
    pub fn new(device: &CpuDevice, set: InstructionSet, threads: bool, shape: Shape) -> Self {
        Self {
            device: device.clone(),
            set,
            threads: threads && device.threads() > 1,
            zeros: vec![0; shape.row()],
        }
    }

    /// Counts the walks in the words of `a` and `b`, which are the same before and after.
    pub fn count(&self, walks: &Walks, a: &mut [u32], b: &mut [u32]) -> Result<u32, LatticeError> {
        walks.check_halves(a, b)?;
        let source = walks.shape.index(walks.source);
        let before = self.reading(walks, a, b);
        a[source] = a[source].wrapping_add(1);
        let after = self.reading(walks, a, b);
        a[source] = a[source].wrapping_sub(1);
        Ok(after.wrapping_sub(before))
    }

    /// Runs, reads the tap, undoes.
    fn reading(&self, walks: &Walks, a: &mut [u32], b: &mut [u32]) -> u32 {
        let tap = walks.shape.index(walks.tap);
        self.run(walks, Direction::Forward, a, b);
        let value = if walks.read_from_b() { b[tap] } else { a[tap] };
        self.run(walks, Direction::Undo, a, b);
        value
    }

    /// All steps, in order or back.
    pub(super) fn run(&self, walks: &Walks, direction: Direction, a: &mut [u32], b: &mut [u32]) {
        for number in 0..walks.steps {
            let step = match direction {
                Direction::Forward => number,
                Direction::Undo => walks.steps - 1 - number,
            };
            if Walks::changes_b(step) {
                self.pass(walks, direction, a, b);
            } else {
                self.pass(walks, direction, b, a);
            }
        }
    }

    /// One step from `source` into `target`.
    pub fn pass_forward(&self, walks: &Walks, source: &[u32], target: &mut [u32]) {
        self.pass(walks, Direction::Forward, source, target);
    }

    fn pass(&self, walks: &Walks, direction: Direction, source: &[u32], target: &mut [u32]) {
        let (shape, sign) = (walks.shape, direction.sign());
        let obstacles = walks.obstacles.as_ref();
        // One task is no work to share.
        if !self.threads || shape.cells() <= TASK_CELLS {
            stencil::rows(
                self.set,
                shape,
                0,
                source,
                target,
                obstacles,
                sign,
                &self.zeros,
            );
            return;
        }
        let rows = (TASK_CELLS / shape.row()).max(1);
        self.device.run(|| {
            target
                .par_chunks_mut(rows * shape.row())
                .enumerate()
                .for_each(|(task, target)| {
                    let first = task * rows;
                    stencil::rows(
                        self.set,
                        shape,
                        first,
                        source,
                        target,
                        obstacles,
                        sign,
                        &self.zeros,
                    );
                });
        });
    }
}

#[cfg(test)]
mod tests {
    use warpsmith_workload::random::Random;

    use super::*;

    /// Applies F_{T+1} of the masked adjacency to the source's unit vector, in one clean vector
    /// pair, with neighbours looked up by coordinates.
    fn oracle(walks: &Walks, open: &dyn Fn(usize) -> bool) -> u32 {
        let shape = walks.shape;
        let sums = |vector: &[u32]| -> Vec<u32> {
            (0..shape.cells())
                .map(|index| {
                    let around = shape.neighbours(shape.cell(index));
                    let sum = around.fold(0u32, |sum, cell| {
                        sum.wrapping_add(vector[shape.index(cell)])
                    });
                    if open(index) { sum } else { 0 }
                })
                .collect()
        };
        let (mut previous, mut current) = (vec![0u32; shape.cells()], vec![0u32; shape.cells()]);
        current[shape.index(walks.source)] = 1;
        for _ in 0..walks.steps {
            // F_{n+1} = x·F_n + F_{n−1}
            let next = sums(&current)
                .iter()
                .zip(&previous)
                .map(|(a, b)| a.wrapping_add(*b))
                .collect();
            previous = std::mem::replace(&mut current, next);
        }
        current[shape.index(walks.tap)]
    }

    fn open_of(walks: &Walks) -> impl Fn(usize) -> bool {
        let (nx, obstacles) = (walks.shape.row(), walks.obstacles.clone());
        move |index| {
            obstacles.as_ref().is_none_or(|obstacles| {
                obstacles.row(index / nx)[index % nx / 32] >> (index % nx % 32) & 1 == 1
            })
        }
    }

    fn random_walks(random: &mut Random, most: usize) -> Walks {
        let extents: Vec<usize> = (0..1 + random.below(3))
            .map(|_| 1 + random.below(most))
            .collect();
        let shape = Shape::new(&extents).unwrap();
        let (source, tap) = (
            shape.cell(random.below(shape.cells())),
            shape.cell(random.below(shape.cells())),
        );
        let obstacles = (random.below(2) == 1).then(|| {
            let share = 60.0 * random.unit();
            Obstacles::random(shape, share, random.bits(), &[source, tap]).unwrap()
        });
        Walks {
            shape,
            steps: random.below(8) as u32,
            source,
            tap,
            obstacles,
        }
    }

    fn contents(random: &mut Random, cells: usize) -> Vec<u32> {
        match random.below(4) {
            0 => vec![0; cells],
            1 => vec![u32::MAX; cells],
            _ => (0..cells).map(|_| random.bits() as u32).collect(),
        }
    }

    #[test]
    fn a_hundred_thousand_trials_leave_every_bit_as_it_was() {
        let mut random = Random::seeded(11);
        let cpu = CpuDevice::with_threads(2).unwrap();
        let sets: Vec<_> = InstructionSet::present().collect();
        for trial in 0..100_000 {
            let walks = random_walks(&mut random, 5);
            let cells = walks.shape.cells();
            let (a, b) = (contents(&mut random, cells), contents(&mut random, cells));
            let (mut lent_a, mut lent_b) = (a.clone(), b.clone());
            let borrow = CpuBorrow::new(&cpu, sets[trial % sets.len()], false, walks.shape);
            let count = borrow.count(&walks, &mut lent_a, &mut lent_b).unwrap();
            assert!(a == lent_a && b == lent_b, "trial {trial}: {walks:?}");
            if trial % 16 == 0 {
                assert_eq!(count, oracle(&walks, &open_of(&walks)), "{walks:?}");
            }
        }
    }

    #[test]
    fn long_rows_threads_and_every_instruction_set_count_the_same() {
        let mut random = Random::seeded(12);
        let cpu = CpuDevice::with_threads(3).unwrap();
        for _ in 0..60 {
            let mut walks = random_walks(&mut random, 3);
            let x = 1 + random.below(150);
            walks.shape = Shape::new(&[1 + random.below(4), 1 + random.below(4), x]).unwrap();
            (walks.source, walks.tap) = (Cell([0, 0, 0]), walks.shape.cell(x / 2));
            walks.obstacles =
                Some(Obstacles::random(walks.shape, 20.0, random.bits(), &[walks.source]).unwrap());
            let cells = walks.shape.cells();
            let (mut a, mut b) = (contents(&mut random, cells), contents(&mut random, cells));
            let expected = oracle(&walks, &open_of(&walks));
            for set in InstructionSet::present() {
                for threads in [false, true] {
                    let borrow = CpuBorrow::new(&cpu, set, threads, walks.shape);
                    assert_eq!(borrow.count(&walks, &mut a, &mut b).unwrap(), expected);
                }
            }
        }
    }

    #[test]
    fn a_pass_in_several_tasks_changes_the_same_bits() {
        let mut random = Random::seeded(13);
        let cpu = CpuDevice::with_threads(3).unwrap();
        let shape = Shape::new(&[9, 70, 150]).unwrap();
        let walks = Walks {
            shape,
            steps: 3,
            source: Cell([4, 35, 70]),
            tap: Cell([4, 35, 71]),
            obstacles: None,
        };
        let source = contents(&mut random, shape.cells());
        let lent = contents(&mut random, shape.cells());
        let [alone, shared] = [false, true].map(|threads| {
            let mut target = lent.clone();
            CpuBorrow::new(&cpu, InstructionSet::widest(), threads, shape).pass_forward(
                &walks,
                &source,
                &mut target,
            );
            target
        });
        assert!(shape.cells() > 2 * TASK_CELLS && alone != lent && alone == shared);
    }

    #[test]
    fn on_a_line_the_counts_are_the_closed_form() {
        // Walks of length k on the integers from 0 to d: binomial(k, (k+d)/2).
        let shape = Shape::new(&[101]).unwrap();
        let cpu = CpuDevice::with_threads(1).unwrap();
        let (mut a, mut b) = (vec![3; 101], vec![u32::MAX; 101]);
        // F_5 = x⁴ + 3x² + 1 from the middle to itself: 6 + 3·2 + 1.
        let walks = Walks {
            shape,
            steps: 4,
            source: Cell([0, 0, 50]),
            tap: Cell([0, 0, 50]),
            obstacles: None,
        };
        let borrow = CpuBorrow::new(&cpu, InstructionSet::widest(), false, shape);
        assert_eq!(borrow.count(&walks, &mut a, &mut b).unwrap(), 13);
        assert!(a.iter().all(|&word| word == 3) && b.iter().all(|&word| word == u32::MAX));
    }
}
