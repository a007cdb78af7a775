//! Which lanes run: masks for branches, loops and returns.
//!
//! Invariant: a lane is active if every open branch chose it (`structural`) and it has not left
//! (`gone`): by `break` or `continue` until the loop ends or goes on, by `return` until the function
//! ends, by a fault for good.

use std::time::Instant;

use crate::binding::Bindings;
use crate::findings::{Fault, Observations};
use crate::lanes::{Mask, Registers, each};
use crate::plan::Program;
use crate::races::Touched;

/// Lanes that have left an open loop.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct OpenLoop {
    structural: Mask,
    left: Mask,
    continued: Mask,
}

/// Lanes that have returned from an open function.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct OpenFunction {
    returned: Mask,
    /// How many branches were open when it began.
    branches: usize,
}

/// Touches of the arrays' values and of their gradients.
#[derive(Debug, Default)]
pub(super) struct RaceWatch {
    pub(super) values: Touched,
    pub(super) gradients: Touched,
}

/// The state of one worker.
pub(crate) struct Machine<'p> {
    pub(crate) program: &'p Program,
    pub(crate) bindings: &'p Bindings,
    pub(crate) registers: Registers,
    pub(super) structural: Mask,
    gone: Mask,
    faulted: Mask,
    branches: Vec<Mask>,
    loops: Vec<OpenLoop>,
    functions: Vec<OpenFunction>,
    labels: Vec<Mask>,
    pub(super) marks: Vec<Mask>,
    /// The first thread of the block.
    pub(crate) first_thread: usize,
    pub(super) iterations: u64,
    /// Whether the launch has taken all its time.
    over: bool,
    pub(crate) seen: Observations,
    /// Who touched which memory, where races are looked for.
    pub(super) watch: Option<Box<RaceWatch>>,
}

/// How often loops look at the clock; it takes less than a thousandth of the time of so many iterations.
const ITERATIONS_BETWEEN_LOOKS: u64 = 1 << 12;

impl<'p> Machine<'p> {
    /// A machine with the program's constants and the launch's parameters in its registers.
    pub(crate) fn new(program: &'p Program, bindings: &'p Bindings) -> Self {
        let mut registers = Registers::new(program.first_cell, program.cells);
        for (cell, scalar, bits) in program.constants.iter().chain(&bindings.parameters) {
            registers.broadcast(*cell, *scalar, *bits);
        }
        Self {
            program,
            bindings,
            registers,
            structural: 0,
            gone: 0,
            faulted: 0,
            branches: Vec::new(),
            loops: Vec::new(),
            functions: Vec::new(),
            labels: vec![0; program.labels as usize],
            marks: vec![0; program.marks.len()],
            first_thread: 0,
            iterations: 0,
            over: false,
            seen: Observations::default(),
            watch: bindings.watches_races.then(Box::default),
        }
    }

    pub(crate) fn begin(&mut self, first_thread: usize, lanes: Mask) {
        self.first_thread = first_thread;
        self.structural = lanes;
        self.gone = 0;
        self.faulted = 0;
        self.branches.clear();
        self.loops.clear();
        self.functions.clear();
        // An empty list has no address, and a store of nothing there is masked by the processor at the
        // price of some fifty steps.
        for list in [&mut self.labels, &mut self.marks] {
            if !list.is_empty() {
                list.fill(0);
            }
        }
        self.iterations = 0;
        if self.bindings.deadline.is_some() {
            self.look_at_clock();
            if self.over {
                self.stop_late(lanes, 0);
            }
        }
    }

    /// Whether the launch has taken all its time: blocks that have not begun need not.
    pub(crate) fn is_over(&self) -> bool {
        self.over
    }

    /// Stops the active lanes at a loop once the launch has taken all its time.
    #[inline]
    pub(super) fn stop_if_late(&mut self, at: usize) {
        if self.bindings.deadline.is_none() {
            return;
        }
        if self.iterations.is_multiple_of(ITERATIONS_BETWEEN_LOOKS) {
            self.look_at_clock();
        }
        if self.over {
            self.stop_late(self.active(), at);
        }
    }

    fn look_at_clock(&mut self) {
        let late = |deadline: Instant| Instant::now() >= deadline;
        self.over |= self.bindings.deadline.is_some_and(late);
    }

    fn stop_late(&mut self, lanes: Mask, at: usize) {
        self.stop(lanes, at, Fault::OutOfTime, |_, _| {
            "stopped here".to_owned()
        });
    }

    #[inline]
    pub(crate) fn active(&self) -> Mask {
        self.structural & !self.gone
    }

    /// Brings lanes back that had left something which is over.
    fn rejoin(&mut self, lanes: Mask) {
        self.gone = (self.gone & !lanes) | self.faulted;
    }

    /// Stops lanes for good and says why.
    pub(crate) fn stop(
        &mut self,
        lanes: Mask,
        at: usize,
        fault: Fault,
        detail: impl Fn(&Self, usize) -> String,
    ) {
        self.report(lanes, at, fault, detail);
        self.faulted |= lanes;
        self.gone |= lanes;
    }

    /// Reports something about lanes that go on.
    pub(super) fn report(
        &mut self,
        lanes: Mask,
        at: usize,
        fault: Fault,
        detail: impl Fn(&Self, usize) -> String,
    ) {
        let line = self.program.lines.get(at).copied().unwrap_or(u32::MAX);
        let mut faults = std::mem::take(&mut self.seen.faults);
        for lane in each(lanes) {
            faults.add(line, fault, self.first_thread + lane, || detail(self, lane));
        }
        self.seen.faults = faults;
    }

    pub(super) fn open_branch(&mut self, chosen: Mask) {
        self.branches.push(self.structural);
        self.structural &= chosen;
    }

    pub(super) fn close_branch(&mut self) {
        if let Some(outer) = self.branches.pop() {
            self.structural = outer;
        }
    }

    pub(super) fn open_loop(&mut self) {
        self.loops.push(OpenLoop {
            structural: self.structural,
            ..OpenLoop::default()
        });
    }

    /// The loop `depth` loops out of the innermost one.
    fn loop_at(&mut self, depth: usize) -> Option<&mut OpenLoop> {
        let at = self.loops.len().checked_sub(depth + 1)?;
        self.loops.get_mut(at)
    }

    /// Lanes leave the loop `depth` loops out for good.
    pub(super) fn leave_loop(&mut self, depth: usize, lanes: Mask) {
        if let Some(open) = self.loop_at(depth) {
            open.left |= lanes;
            self.gone |= lanes;
        }
    }

    /// Lanes wait for the next iteration of the loop `depth` loops out.
    pub(super) fn continue_loop(&mut self, depth: usize, lanes: Mask) {
        if let Some(open) = self.loop_at(depth) {
            open.continued |= lanes;
            self.gone |= lanes;
        }
    }

    /// An iteration is over; gives whether any lane wants another.
    pub(super) fn next_iteration(&mut self) -> bool {
        let Some(open) = self.loops.last_mut() else {
            return false;
        };
        let continued = std::mem::take(&mut open.continued);
        self.structural = open.structural;
        self.rejoin(continued);
        self.iterations += 1;
        self.active() != 0
    }

    pub(super) fn close_loop(&mut self) {
        if let Some(open) = self.loops.pop() {
            self.structural = open.structural;
            self.rejoin(open.left | open.continued);
        }
    }

    pub(super) fn open_function(&mut self) {
        self.functions.push(OpenFunction {
            returned: 0,
            branches: self.branches.len(),
        });
    }

    pub(super) fn close_function(&mut self) {
        if let Some(open) = self.functions.pop() {
            self.rejoin(open.returned);
        }
    }

    pub(super) fn give_back(&mut self) {
        let lanes = self.active();
        if let Some(open) = self.functions.last_mut() {
            open.returned |= lanes;
        }
        self.gone |= lanes;
    }

    /// Lanes jump to a label further on.
    pub(super) fn wait_for(&mut self, label: usize) {
        let lanes = self.active();
        self.labels[label] |= lanes;
        self.gone |= lanes;
    }

    /// The label: lanes that jumped here go on, whatever the branches around it chose.
    pub(super) fn arrive(&mut self, label: usize) {
        let lanes = std::mem::take(&mut self.labels[label]);
        if lanes == 0 {
            return;
        }
        self.rejoin(lanes);
        let base = self.functions.last().map_or(0, |open| open.branches);
        for outer in &mut self.branches[base..] {
            *outer |= lanes;
        }
        self.structural |= lanes;
    }
}
