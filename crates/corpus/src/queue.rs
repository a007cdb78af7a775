//! Jobs that workers take: the urgent ones first, the others in the order in which they came.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Jobs that nobody has taken yet.
#[derive(Debug)]
pub(crate) struct Queue<T> {
    waiting: Mutex<Waiting<T>>,
    changed: Condvar,
}

#[derive(Debug)]
struct Waiting<T> {
    urgent: VecDeque<T>,
    others: VecDeque<T>,
    closed: bool,
}

/// Closes a queue when it goes, however that comes about.
pub(crate) struct Closing<'q, T>(pub(crate) &'q Queue<T>);

impl<T> Drop for Closing<'_, T> {
    fn drop(&mut self) {
        self.0.waiting().closed = true;
        self.0.changed.notify_all();
    }
}

impl<T> Queue<T> {
    /// A queue without jobs.
    pub(crate) fn new() -> Self {
        Self {
            waiting: Mutex::new(Waiting {
                urgent: VecDeque::new(),
                others: VecDeque::new(),
                closed: false,
            }),
            changed: Condvar::new(),
        }
    }

    /// What waits; whoever panicked left it whole.
    fn waiting(&self) -> MutexGuard<'_, Waiting<T>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a job behind the others.
    pub(crate) fn push(&self, job: T) {
        self.waiting().others.push_back(job);
        self.changed.notify_one();
    }

    /// Adds a job that is taken before others that came earlier.
    pub(crate) fn push_urgent(&self, job: T) {
        self.waiting().urgent.push_back(job);
        self.changed.notify_one();
    }

    /// The next job, once there is one; nothing where the queue is closed.
    pub(crate) fn take(&self) -> Option<T> {
        let mut waiting = self.waiting();
        loop {
            if waiting.closed {
                return None;
            }
            let first = waiting.urgent.pop_front();
            if let Some(job) = first.or_else(|| waiting.others.pop_front()) {
                return Some(job);
            }
            waiting = self
                .changed
                .wait(waiting)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urgent_jobs_come_first_and_none_after_the_end() {
        let queue = Queue::new();
        for job in [1, 2] {
            queue.push(job);
        }
        queue.push_urgent(3);
        queue.push_urgent(4);
        let taken: Vec<Option<i32>> = (0..3).map(|_| queue.take()).collect();
        assert_eq!(taken, [Some(3), Some(4), Some(1)]);
        drop(Closing(&queue));
        assert_eq!(queue.take(), None);
    }

    #[test]
    fn who_waits_is_told_of_jobs_and_of_the_end() {
        let queue = Queue::new();
        std::thread::scope(|scope| {
            let worker = scope.spawn(|| std::iter::from_fn(|| queue.take()).sum::<i32>());
            let closing = Closing(&queue);
            queue.push(5);
            queue.push_urgent(6);
            while !(queue.waiting().urgent.is_empty() && queue.waiting().others.is_empty()) {
                std::thread::yield_now();
            }
            drop(closing);
            assert_eq!(worker.join().unwrap(), 11);
        });
    }
}
