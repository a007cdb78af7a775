//! What went wrong in lanes, gathered so that a million threads make one finding.

use std::collections::BTreeMap;

use warpsmith_core::{Finding, Severity, Span};

use crate::ir::Module;

/// What stops a lane, or is reported of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Fault {
    OutOfBounds,
    Unassigned(u32),
    Expectation(u32),
    ZeroDivisor,
    Endless,
}

/// The threads that a fault struck: the first, what it saw, and how many there were.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Struck {
    thread: usize,
    detail: String,
    count: u64,
}

/// Faults by kind and source line.
#[derive(Clone, Debug, Default)]
pub(super) struct Faults {
    by_place: BTreeMap<(u32, Fault), Struck>,
}

impl Faults {
    /// Adds a fault of one thread; `detail` is asked for only if it is the first.
    pub(super) fn add(
        &mut self,
        line: u32,
        fault: Fault,
        thread: usize,
        detail: impl FnOnce() -> String,
    ) {
        match self.by_place.get_mut(&(line, fault)) {
            Some(struck) => {
                struck.count += 1;
                if thread < struck.thread {
                    struck.thread = thread;
                    struck.detail = detail();
                }
            }
            None => {
                let struck = Struck {
                    thread,
                    detail: detail(),
                    count: 1,
                };
                self.by_place.insert((line, fault), struck);
            }
        }
    }

    /// Adds the faults of another worker; which of two came first does not show.
    pub(super) fn merge(&mut self, other: Self) {
        for (place, theirs) in other.by_place {
            match self.by_place.get_mut(&place) {
                Some(ours) => {
                    ours.count += theirs.count;
                    if theirs.thread < ours.thread {
                        ours.thread = theirs.thread;
                        ours.detail = theirs.detail;
                    }
                }
                None => {
                    self.by_place.insert(place, theirs);
                }
            }
        }
    }

    /// The findings, in the order of the source.
    pub(super) fn into_findings(
        self,
        module: &Module,
        marks: &[String],
        messages: &[String],
    ) -> Vec<Finding> {
        let name = |names: &[String], n: u32| names.get(n as usize).cloned().unwrap_or_default();
        self.by_place
            .into_iter()
            .map(|((line, fault), struck)| {
                let (code, message, hint) = match fault {
                    Fault::OutOfBounds => (
                        "K101",
                        "an index is out of range".to_owned(),
                        "guard the access, or launch fewer threads",
                    ),
                    Fault::Unassigned(n) => (
                        "K102",
                        format!("{} is read before it has a value", name(marks, n)),
                        "give it a value on every path that leads here",
                    ),
                    Fault::Expectation(n) => (
                        "K104",
                        name(messages, n),
                        "look at the values that the thread below computed",
                    ),
                    Fault::ZeroDivisor => (
                        "K106",
                        "an integer is divided by zero".to_owned(),
                        "guard the division",
                    ),
                    Fault::Endless => (
                        "K107",
                        "a loop did not end".to_owned(),
                        "see that its condition becomes false",
                    ),
                };
                let mut finding = Finding::new(code, Severity::Error, message).hint(hint);
                let threads = match struck.count {
                    1 => format!("thread {}: {}", struck.thread, struck.detail),
                    n => format!("{n} threads, first {}: {}", struck.thread, struck.detail),
                };
                finding = finding.because("execution", threads);
                at_line(finding, module, line)
            })
            .collect()
    }
}

/// Points a finding at a line of the module's source.
pub(super) fn at_line(finding: Finding, module: &Module, line: u32) -> Finding {
    match module.lines.get(line as usize) {
        Some(line) => finding.at(Span::line(module.names.get(module.file), line.number)),
        None => finding,
    }
}
