//! What went wrong in lanes, gathered so that a million threads make one finding.

use std::collections::BTreeMap;

use warpsmith_core::{Finding, Severity, Span};

use warpsmith_ir::Module;

/// What stops a lane, or is reported of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Fault {
    OutOfBounds,
    Unassigned(u32),
    Expectation(u32),
    ZeroDivisor,
    Endless,
    /// The launch took longer than it may.
    OutOfTime,
    /// The sine, cosine or tangent of more than a device's own function takes.
    LargeAngle,
    /// Two threads store different values to one scalar.
    RacingStores,
    /// A thread reads what another writes, or writes what another updates.
    RacingAccess,
    /// Threads look at the old value of an atomic update, which depends on their order.
    ObservedOrder,
}

impl Fault {
    /// Whether it is about the order of threads rather than about what one thread does.
    pub(super) fn is_race(self) -> bool {
        matches!(
            self,
            Self::RacingStores | Self::RacingAccess | Self::ObservedOrder
        )
    }
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
    /// Adds a fault of one thread; `detail` is requested only if it is the first.
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

    /// Adds a fault of which it is not known which threads it struck.
    pub(super) fn add_unnamed(&mut self, line: u32, fault: Fault) {
        let struck = Struck {
            thread: 0,
            detail: "in some thread on the device".to_owned(),
            count: 0,
        };
        self.by_place.insert((line, fault), struck);
    }

    /// Whether threads were stopped because the launch took too long.
    pub(super) fn out_of_time(&self) -> bool {
        let mut places = self.by_place.keys();
        places.any(|(_, fault)| *fault == Fault::OutOfTime)
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

    /// What single threads did wrong, then the races between threads, each in the order of the source.
    pub(super) fn into_findings(
        self,
        module: &Module,
        marks: &[String],
        messages: &[String],
    ) -> (Vec<Finding>, Vec<Finding>) {
        let (races, own): (BTreeMap<_, _>, BTreeMap<_, _>) = self
            .by_place
            .into_iter()
            .partition(|((_, fault), _)| fault.is_race());
        let describe = |by_place| Self { by_place }.describe(module, marks, messages);
        (describe(own), describe(races))
    }

    fn describe(self, module: &Module, marks: &[String], messages: &[String]) -> Vec<Finding> {
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
                    Fault::OutOfTime => (
                        "K107",
                        "the kernel did not end within the time limit".to_owned(),
                        "see that its loops end, or allow more time",
                    ),
                    Fault::LargeAngle => (
                        "K103",
                        "an angle is larger than 2^30, which Vulkan kernels do not support"
                            .to_owned(),
                        "reduce the angle, or run with `--device cpu`",
                    ),
                    Fault::RacingStores => (
                        "K108",
                        "threads store different values to one element".to_owned(),
                        "let one thread store it, or combine the values with an atomic operation",
                    ),
                    Fault::RacingAccess => (
                        "K108",
                        "a thread uses an element that another thread changes".to_owned(),
                        "write to another array, or launch twice",
                    ),
                    Fault::ObservedOrder => (
                        "K108",
                        "threads look at the old value of an atomic operation".to_owned(),
                        "results depend on the order of threads; sort or reduce them afterwards",
                    ),
                };
                let severity = if fault.is_race() {
                    Severity::Warning
                } else {
                    Severity::Error
                };
                let mut finding = Finding::new(code, severity, message).hint(hint);
                let threads = match struck.count {
                    0 => struck.detail,
                    1 => format!("thread {}: {}", struck.thread, struck.detail),
                    n => format!("{n} threads, first {}: {}", struck.thread, struck.detail),
                };
                finding = finding.because("execution", threads);
                at_line(finding, module, line)
            })
            .collect()
    }
}

/// What one worker saw of its threads.
#[derive(Debug, Default)]
pub(super) struct Observations {
    pub(super) faults: Faults,
    /// What threads print: thread, text.
    pub(super) printed: Vec<(usize, String)>,
    /// Instructions times the threads of the block that executed them.
    pub(super) lane_instructions: u64,
}

impl Observations {
    /// Both workers' observations; which of two is named first does not show.
    pub(super) fn merged(mut self, other: Self) -> Self {
        self.faults.merge(other.faults);
        self.printed.extend(other.printed);
        self.lane_instructions += other.lane_instructions;
        self
    }
}

/// Points a finding at a line of the module's source.
pub fn at_line(finding: Finding, module: &Module, line: u32) -> Finding {
    match module.lines.get(line as usize) {
        Some(line) => finding.at(Span::line(module.names.get(module.file), line.number)),
        None => finding,
    }
}
