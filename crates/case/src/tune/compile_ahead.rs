//! Compiles candidates on every core, ahead of the GPU, in the order in which the search wants them.
//!
//! Nothing else is compiled: a core that works on what nobody wants is late for what the search wants next.
//! Every thread ends with this value; a compilation that has begun is finished.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use warpsmith_device::{Nvrtc, Target};

use super::space::Point;
use crate::description::Case;
use crate::program::compile_cuda;
use crate::watched::Watched;

/// Beyond this, memory is what the compiler lacks: 213 kernels that nothing has cached take 58 s with one thread,
/// 7.1 s with 8 and 5.1 s with 16 on 16 cores.
const MOST_THREADS: usize = 16;

/// Compiles in the background; what it makes lies in the cache.
pub struct CompileAhead {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

struct Shared {
    compile: Box<dyn Fn(usize) -> Option<String> + Send + Sync>,
    state: Watched<State>,
}

#[derive(Default)]
struct State {
    wanted: VecDeque<usize>,
    begun: BTreeSet<usize>,
    /// What the compiler said against a point; `None` where it compiles.
    done: BTreeMap<usize, Option<String>>,
    stop: bool,
}

impl CompileAhead {
    /// Compiles points of a case for a target.
    pub fn begin(case: &Case, nvrtc: Arc<Nvrtc>, target: Target, points: Vec<Point>) -> Self {
        let case = case.clone();
        let compile = move |at: usize| {
            let compiled = compile_cuda(&case, &points[at], &nvrtc, target, &[]);
            compiled.err().map(|fault| fault.to_string())
        };
        let processors = thread::available_parallelism().map_or(1, usize::from);
        // One core is the search's own.
        let threads = processors.saturating_sub(1).clamp(1, MOST_THREADS);
        Self::with(threads, compile)
    }

    fn with(
        threads: usize,
        compile: impl Fn(usize) -> Option<String> + Send + Sync + 'static,
    ) -> Self {
        let shared = Arc::new(Shared {
            compile: Box::new(compile),
            state: Watched::default(),
        });
        let threads = (0..threads).map(|_| {
            let shared = Arc::clone(&shared);
            thread::spawn(move || shared.work())
        });
        Self {
            threads: threads.collect(),
            shared,
        }
    }

    /// How many are compiled at once.
    pub fn width(&self) -> usize {
        self.threads.len()
    }

    /// These come next.
    pub fn want(&self, points: &[usize]) {
        let mut state = self.shared.state.lock();
        let begun =
            |state: &State, at: &usize| state.begun.contains(at) || state.wanted.contains(at);
        let fresh: Vec<usize> = points
            .iter()
            .copied()
            .filter(|at| !begun(&state, at))
            .collect();
        state.wanted.extend(fresh);
        drop(state);
        self.shared.state.tell();
    }

    /// Waits for the first of these points that is compiled, and what the compiler says against it. Points
    /// that were not wanted before are now.
    pub fn wait_any(&self, points: &[usize]) -> Option<(usize, Option<String>)> {
        if points.is_empty() {
            return None;
        }
        self.want(points);
        let mut state = self.shared.state.lock();
        loop {
            let done = points
                .iter()
                .find_map(|at| Some((*at, state.done.get(at)?)));
            if let Some((at, said)) = done {
                return Some((at, said.clone()));
            }
            state = self.shared.state.wait(state);
        }
    }

    /// Points that are compiled.
    pub fn compiled(&self) -> usize {
        self.shared.state.lock().done.len()
    }
}

impl Drop for CompileAhead {
    fn drop(&mut self) {
        self.shared.state.lock().stop = true;
        self.shared.state.tell();
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn work(&self) {
        let mut state = self.state.lock();
        loop {
            if state.stop {
                return;
            }
            match state.wanted.pop_front() {
                Some(at) if state.begun.insert(at) => {
                    drop(state);
                    let said = (self.compile)(at);
                    state = self.state.lock();
                    state.done.insert(at, said);
                    self.state.tell();
                }
                Some(_) => {}
                None => state = self.state.wait(state),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn every_point_is_compiled_once_and_errors_come_back() {
        let count = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&count);
        let ahead = CompileAhead::with(3, move |at| {
            counted.fetch_add(1, Ordering::Relaxed);
            (at % 7 == 3).then(|| format!("point {at}"))
        });
        ahead.want(&[19, 3, 3]);
        assert_eq!(
            ahead.wait_any(&[3]).unwrap(),
            (3, Some("point 3".to_owned()))
        );
        assert_eq!(ahead.wait_any(&[]), None);
        let mut open: Vec<usize> = (0..20).collect();
        while let Some((at, said)) = ahead.wait_any(&open) {
            assert_eq!(said.is_some(), at % 7 == 3);
            open.retain(|one| *one != at);
        }
        assert_eq!((ahead.compiled(), count.load(Ordering::Relaxed)), (20, 20));
        assert_eq!(ahead.width(), 3);
    }

    #[test]
    fn what_nobody_wants_is_not_compiled() {
        let count = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&count);
        let ahead = CompileAhead::with(2, move |_| {
            counted.fetch_add(1, Ordering::Relaxed);
            None
        });
        assert_eq!(ahead.wait_any(&[5]), Some((5, None)));
        drop(ahead);
        assert_eq!(count.load(Ordering::Relaxed), 1);
    }
}
