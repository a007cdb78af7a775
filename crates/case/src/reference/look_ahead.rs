//! Answers of a Python function before they are needed: several workers, a bounded queue, one order.
//!
//! Invariants: answers are handed out in the order in which they were wanted; what is computed and not
//! yet taken holds at most [`MOST_AHEAD`] elements, or is one answer; every worker ends with this value, and
//! not before: most of what a short answer takes is the start of its interpreter.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::answer::Answer;
use super::python_function::{Detail, PythonFunction};
use crate::instance::{Contents, Instance};
use crate::program::Fault;
use crate::watched::Watched;

/// Elements of all arrays that may wait to be taken.
const MOST_AHEAD: usize = 1 << 26;
/// More workers than this wait for memory, not for processors.
const MOST_WORKERS: usize = 6;

/// The inputs with the answer to them, or why there is none.
pub(crate) type Answered = Result<(Contents, Answer), Fault>;

/// One check whose answer is wanted.
#[derive(Clone)]
pub(crate) struct Wanted {
    pub(crate) instance: Instance,
    pub(crate) seed: u64,
    pub(crate) round: usize,
    pub(crate) special: bool,
    /// Whether to find out how many inputs decide an output.
    pub(crate) probe: bool,
}

impl Wanted {
    fn elements(&self) -> usize {
        let arguments = self.instance.arguments.iter();
        arguments.map(|argument| argument.elements()).sum()
    }

    /// The inputs.
    pub(crate) fn contents(&self) -> Result<Contents, Fault> {
        self.instance
            .contents(self.seed, self.round, self.special)
            .map_err(Fault::Unsupported)
    }

    /// What the function has to say: special values overflow where the type does, not where float64 does.
    pub(crate) fn detail(&self) -> Detail {
        match (self.special, self.probe) {
            (true, _) => Detail::OwnType,
            (false, true) => Detail::Float64AndFanIn,
            (false, false) => Detail::Float64,
        }
    }

    /// Whether it is the same check: a tunable may decide an argument, and with it the answer.
    fn is(&self, other: &Self) -> bool {
        let arguments = |one: &Self| format!("{:?}", one.instance.arguments);
        self.instance.size == other.instance.size
            && arguments(self) == arguments(other)
            && (self.seed, self.round, self.special) == (other.seed, other.round, other.special)
    }
}

/// Contents and answers that are being prepared.
pub(crate) struct LookAhead {
    shared: Arc<Watched<State>>,
    threads: Vec<JoinHandle<()>>,
    /// Answers that were taken.
    taken: usize,
}

#[derive(Default)]
struct State {
    wanted: Vec<Arc<Wanted>>,
    /// The next one that a worker begins.
    next: usize,
    /// Elements of what was begun and not yet taken.
    ahead: usize,
    done: BTreeMap<usize, Answered>,
    stop: bool,
}

impl LookAhead {
    /// Begins; `start` makes a worker that uses so many threads, in a thread of its own.
    pub(crate) fn begin(
        wanted: Vec<Wanted>,
        start: impl Fn(usize) -> Result<PythonFunction, Fault> + Clone + Send + 'static,
    ) -> Self {
        let processors = thread::available_parallelism().map_or(1, usize::from);
        let workers = (processors / 2).clamp(1, MOST_WORKERS).min(wanted.len());
        let share = (processors / workers.max(1)).max(1);
        let shared = Arc::new(Watched::default());
        let threads = (0..workers)
            .map(|_| {
                let (shared, start) = (Arc::clone(&shared), start.clone());
                thread::spawn(move || work(&shared, start(share)))
            })
            .collect();
        let begun = Self {
            shared,
            threads,
            taken: 0,
        };
        begun.want(wanted);
        begun
    }

    /// Prepares these behind what was wanted before, with the same workers.
    pub(crate) fn want(&self, wanted: Vec<Wanted>) {
        let further = wanted.into_iter().map(Arc::new);
        self.shared.lock().wanted.extend(further);
        self.shared.tell();
    }

    /// Whether everything that was wanted is taken, and workers wait for more.
    pub(crate) fn is_free(&self) -> bool {
        !self.threads.is_empty() && self.next().is_none()
    }

    /// The first that is not yet taken.
    fn next(&self) -> Option<Arc<Wanted>> {
        self.shared.lock().wanted.get(self.taken).cloned()
    }

    /// The next one in order with its contents and answer; nothing at the end.
    pub(crate) fn take_next(&mut self) -> Option<(Arc<Wanted>, Answered)> {
        let next = self.next()?;
        let answered = self.take(&next)?;
        Some((next, answered))
    }

    /// Whether this is the next one in order, and can be taken without waiting.
    pub(crate) fn is_ready(&self, wanted: &Wanted) -> bool {
        self.next().is_some_and(|next| next.is(wanted))
            && self.shared.lock().done.contains_key(&self.taken)
    }

    /// The contents and the answer, where this is the next one in order.
    pub(crate) fn take(&mut self, wanted: &Wanted) -> Option<Answered> {
        let next = self.next()?;
        if !next.is(wanted) {
            return None;
        }
        let mut state = self.shared.lock();
        let result = loop {
            if let Some(result) = state.done.remove(&self.taken) {
                break result;
            }
            // A worker that is gone answers no more; the caller then asks for itself.
            if self.threads.iter().all(JoinHandle::is_finished) {
                return None;
            }
            state = self.shared.wait_for(state, Duration::from_millis(200));
        };
        state.ahead -= next.elements();
        drop(state);
        self.shared.tell();
        self.taken += 1;
        Some(result)
    }
}

impl Drop for LookAhead {
    fn drop(&mut self) {
        self.shared.lock().stop = true;
        self.shared.tell();
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

fn work(shared: &Watched<State>, mut function: Result<PythonFunction, Fault>) {
    while let Some((at, wanted)) = begin_next(shared) {
        let result = match &mut function {
            Ok(function) => wanted.contents().and_then(|contents| {
                let answer = function.answer(&wanted.instance, &contents, wanted.detail())?;
                Ok((contents, answer))
            }),
            // Why it did not start is said once, and that ends the verification.
            Err(fault) => Err(std::mem::replace(
                fault,
                Fault::Unsupported("the reference did not start".into()),
            )),
        };
        shared.lock().done.insert(at, result);
        shared.tell();
    }
}

/// Waits until there is a next one, and room for it; nothing at the end of all.
fn begin_next(shared: &Watched<State>) -> Option<(usize, Arc<Wanted>)> {
    let mut state = shared.lock();
    loop {
        if state.stop {
            return None;
        }
        if let Some(wanted) = state.wanted.get(state.next).cloned() {
            let elements = wanted.elements();
            if state.ahead == 0 || state.ahead + elements <= MOST_AHEAD {
                state.ahead += elements;
                state.next += 1;
                return Some((state.next - 1, wanted));
            }
        }
        state = shared.wait(state);
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::description::{Case, TunableValue};

    #[test]
    fn an_answer_belongs_to_the_arguments_that_it_was_computed_with() {
        let text = "source = \"a.cu\"\n[sizes]\nn = [64]\n[[arguments]]\nname = \"k\"\ntype = \"f32\"\nvalue = \"K\"\n\
                    [launch]\ngrid = 1\nblock = 32\n[tunables]\nK = [2, 3]\n";
        let case = Case::parse(Path::new("a.toml"), text).unwrap();
        let wanted = |value: i64, seed: u64| Wanted {
            instance: case
                .instance(
                    &case.sizes.listed[0],
                    &[("K".to_owned(), TunableValue::Whole(value))],
                )
                .unwrap(),
            seed,
            round: 0,
            special: false,
            probe: false,
        };
        assert!(wanted(2, 1).is(&wanted(2, 1)));
        assert!(!wanted(2, 1).is(&wanted(3, 1)));
        assert!(!wanted(2, 1).is(&wanted(2, 2)));
    }
}
