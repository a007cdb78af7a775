//! One core's state: the interpreter's machine, and pointers into what the steps touch.

use warpsmith_lanes::InstructionSet;

use super::code::NativeCode;
use super::memory::{Base, Region};
use super::place::Place;
use super::step::Step;
use crate::binding::Bindings;
use crate::lanes::{LANES, Mask, Word, spread};
use crate::machine::Machine;
use crate::plan::Program;

/// An array that indices name, for [`super::address`].
#[derive(Clone, Copy, Debug)]
pub(super) struct Indexed {
    pub(super) param: u16,
    pub(super) rank: u8,
    /// Rows of the indices.
    pub(super) rows: [u32; 4],
}

/// What is known of a row that only indices of one array parameter are written to.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Known {
    /// The lanes, active or not, whose number is that of an element.
    pub(super) within: Mask,
    /// Whether those are all lanes, and their elements follow one another.
    pub(super) successive: bool,
}

/// What all workers of a launch share.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shared<'p> {
    pub(super) places: &'p [Place],
    /// Where each place lies, if it is in an array parameter.
    pub(super) bases: &'p [Base],
    /// The steps that a group of them stands for.
    pub(super) grouped: &'p [Step],
    pub(super) indexed: &'p [Indexed],
    pub(super) regions: &'p [Region],
    /// Whether other workers use the memory at the same time.
    pub(super) parallel: bool,
}

/// One worker.
pub(super) struct Worker<'p> {
    pub(super) machine: Machine<'p>,
    pub(super) shared: Shared<'p>,
    narrow: *mut [u32; LANES],
    wide: *mut [u64; LANES],
    pub(super) mask: Mask,
    /// The mask, all ones for an active lane.
    pub(super) spread: [u32; LANES],
    /// A row that results are written to where some lanes keep what they have.
    pub(super) spare: Spare,
    /// The elements' numbers of the active lanes, and 0 for others.
    pub(super) numbers: [u32; LANES],
    /// What is known of rows of indices, by the number that the code gives them.
    pub(super) known: Vec<Known>,
    pub(super) set: InstructionSet,
}

/// Room for a row of 64-bit words.
#[repr(C, align(64))]
pub(super) struct Spare(pub(super) [u64; LANES]);

impl<'p> Worker<'p> {
    /// A worker for the code.
    pub(super) fn new(
        program: &'p Program,
        bindings: &'p Bindings,
        shared: Shared<'p>,
        code: &NativeCode,
    ) -> Self {
        let mut machine = Machine::new(program, bindings);
        if code.wide {
            machine.registers.need_wide();
        }
        let (narrow, wide) = machine.registers.pointers();
        Self {
            machine,
            shared,
            narrow,
            wide,
            mask: 0,
            spread: [0; LANES],
            spare: Spare([0; LANES]),
            numbers: [0; LANES],
            known: vec![Known::default(); code.known],
            set: InstructionSet::widest(),
        }
    }

    /// Looks up again what the machine may have changed: the active lanes and the registers.
    #[inline]
    pub(super) fn refresh(&mut self) {
        (self.narrow, self.wide) = self.machine.registers.pointers();
        let mask = self.machine.active();
        if mask != self.mask {
            self.mask = mask;
            self.spread = spread(mask);
        }
    }

    /// The lanes of a row of 32-bit or 64-bit words.
    #[inline(always)]
    pub(super) fn row<T: Word>(&self, row: u32) -> *mut T {
        // Rows of a program lie inside its registers, so the sums do not overflow.
        if size_of::<T>() == 8 {
            self.wide.wrapping_add(row as usize).cast()
        } else {
            self.narrow.wrapping_add(row as usize).cast()
        }
    }
}
