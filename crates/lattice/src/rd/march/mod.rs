//! Several steps in one pass over memory on Vulkan: `march` of `rd.cu`, written as SPIR-V.
//!
//! A workgroup of 32 by [`March::lines`] threads owns a column of 128 by twice as many cells and marches
//! along z; a thread has four cells of two rows. When plane t is read, step s is taken by plane t − s: the
//! planes of each step flow through registers, and what lies beside a thread's cells comes from memory that
//! the workgroup shares. The outermost ring of what a step yields is wrong, because its neighbours belong to
//! another workgroup, so only the inner 120 by 2·lines − 2·steps cells are written.
//!
//! The rule needs a multiply-add that rounds once, which Vulkan does not promise: [`multiply_add`] tries what
//! the device's does. Where that takes subnormal numbers for 0, a pass is two launches: a quick one, whose
//! workgroups note that they met small numbers ([`notes`]), and one that repeats those with care.

mod assembler;
mod cell;
mod kernel;
mod notes;
mod probe;

use bytemuck::cast_slice;
use warpsmith_device::VulkanFloats;

pub(super) use kernel::words;
pub(super) use notes::never_subnormal;
pub(super) use probe::multiply_add;

use super::rule::Rule;

/// Rows of a thread.
const ROWS: u32 = 2;
/// Threads side by side, each with four cells.
const WIDTH: u32 = 32;
/// How a multiply-add is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MultiplyAdd {
    /// By the device, which was found to round once.
    Own,
    /// By the device where no number is small, and wide elsewhere: the device takes numbers below 2⁻¹²⁶ for 0.
    Guarded,
    /// In `float64`, rounded to odd and once more.
    Wide,
}

/// How a launch makes its steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Way {
    pub(super) how: MultiplyAdd,
    pub(super) notes: NoteUse,
}

/// What a launch does with the notes of workgroups that met small numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NoteUse {
    /// Nothing.
    Nothing,
    /// Writes them.
    Writes,
    /// Makes the steps of those workgroups alone.
    Reads,
}

/// A kernel's shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct March {
    /// Steps of a pass.
    pub(super) steps: u32,
    /// Lines of 32 threads.
    pub(super) lines: u32,
    /// Whether a line is a subgroup, whose threads see their neighbours' numbers without shared memory.
    pub(super) subgroups: bool,
}

/// A pass over a lattice: what its workgroups are, and the numbers that they read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pass {
    pub(super) march: March,
    /// Cells along z, y and x; rows are whole groups of four.
    pub(super) extents: [u32; 3],
    /// Planes of a workgroup.
    pub(super) chunk: u32,
    pub(super) rule: Rule,
}

impl March {
    /// The kernel with the most steps to a pass that workgroups of so many threads and bytes can run.
    pub(super) fn largest(threads: u32, bytes: u32, subgroups: bool) -> Option<Self> {
        let shapes = [(3, 16), (2, 16), (2, 8)].map(|(steps, lines)| Self {
            steps,
            lines,
            subgroups,
        });
        let mut shapes = shapes.into_iter();
        shapes.find(|shape| shape.threads() <= threads && shape.shared_bytes() <= bytes)
    }

    fn tile_rows(self) -> u32 {
        self.lines * ROWS
    }

    pub(super) fn threads(self) -> u32 {
        WIDTH * self.lines
    }

    pub(super) fn shared_bytes(self) -> u32 {
        16 * self.steps * self.tile_rows() * WIDTH
    }
}

impl Pass {
    /// Passes over a lattice whose planes are dealt out so that so many multiprocessors end together.
    pub(super) fn new(march: March, extents: [u32; 3], multiprocessors: u32, rule: Rule) -> Self {
        let of = |chunk: u32| Self {
            march,
            extents,
            chunk,
            rule,
        };
        let planes = extents[0];
        let chunks = (1..=planes.div_ceil(8)).map(|count| planes.div_ceil(count));
        // A pass also goes over the planes on both sides of a chunk.
        let cost = |chunk: &u32| {
            let rounds = of(*chunk).groups().div_ceil(multiprocessors);
            u64::from(rounds) * u64::from(chunk + 2 * march.steps)
        };
        of(chunks.min_by_key(cost).unwrap_or(planes))
    }

    fn tiles(&self) -> [u32; 3] {
        let [nz, ny, nx] = self.extents;
        let March { steps, .. } = self.march;
        [
            (nx / 4).div_ceil(WIDTH - 2),
            ny.div_ceil(self.march.tile_rows() - 2 * steps),
            nz.div_ceil(self.chunk),
        ]
    }

    pub(super) fn groups(&self) -> u32 {
        self.tiles().iter().product()
    }

    /// What the kernel reads: addresses of medium and memory, before and after, then sizes, the rule and the
    /// address of the notes, a word to a workgroup.
    pub(super) fn block(&self, addresses: [u64; 4], notes: u64) -> Vec<u8> {
        let [nz, ny, nx] = self.extents;
        let [across, down, _] = self.tiles();
        let sizes = [nx / 4, ny, nz, self.chunk, across, down, self.groups()];
        let rule = &self.rule;
        let rule = [
            rule.centre,
            rule.diffusion,
            rule.reaction,
            rule.damped,
            rule.threshold,
        ];
        let addresses: &[u8] = cast_slice(&addresses);
        let notes = notes.to_le_bytes();
        [addresses, cast_slice(&sizes), cast_slice(&rule), &notes].concat()
    }
}

/// Every module that runs may use, to be checked by a validator.
#[doc(hidden)]
pub fn every_module() -> Vec<Vec<u32>> {
    let all = VulkanFloats {
        denormals: true,
        nearest: true,
        special: true,
    };
    let mut modules = vec![probe::probe([all; 2])];
    let mut ways = Vec::new();
    for how in [MultiplyAdd::Own, MultiplyAdd::Guarded, MultiplyAdd::Wide] {
        for notes in [NoteUse::Nothing, NoteUse::Writes, NoteUse::Reads] {
            ways.extend([false, true].map(|subgroups| (Way { how, notes }, subgroups)));
        }
    }
    for (steps, lines) in [(1, 16), (2, 8), (2, 16), (3, 16)] {
        for (way, subgroups) in &ways {
            let march = March {
                steps,
                lines,
                subgroups: *subgroups,
            };
            modules.push(words(march, *way, [all; 2]));
        }
    }
    modules
}
