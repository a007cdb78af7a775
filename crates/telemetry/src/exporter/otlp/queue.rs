//! Batches that wait for the receiver: bounded, the oldest goes first.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use warpsmith_http::Bytes;

/// Ten minutes at the usual interval.
const MOST_BATCHES: usize = 60;
const MOST_BYTES: usize = 8 << 20;

/// What happened to batches so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) sent: u64,
    pub(super) refused: u64,
    pub(super) dropped: u64,
    /// Attempts that brought no answer, or one that asks for another attempt.
    pub(super) failures: u64,
}

#[derive(Default)]
struct Waiting {
    batches: VecDeque<Bytes>,
    bytes: usize,
    counts: Counts,
    stopping: bool,
    /// Nothing will be added any more.
    complete: bool,
}

/// The queue between the thread that reads the board and the one that sends.
#[derive(Default)]
pub(super) struct Queue {
    waiting: Mutex<Waiting>,
    changed: Condvar,
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a batch; the oldest make room.
    pub(super) fn add(&self, batch: Bytes) {
        let mut waiting = self.lock();
        waiting.bytes += batch.len();
        waiting.batches.push_back(batch);
        while waiting.batches.len() > 1
            && (waiting.batches.len() > MOST_BATCHES || waiting.bytes > MOST_BYTES)
        {
            let oldest = waiting.batches.pop_front().map_or(0, |batch| batch.len());
            waiting.bytes -= oldest;
            waiting.counts.dropped += 1;
        }
        self.changed.notify_all();
    }

    /// Waits for the oldest batch, which stays until it is settled; `None` when there will be none.
    pub(super) fn oldest(&self) -> Option<Bytes> {
        let mut waiting = self.lock();
        loop {
            if let Some(batch) = waiting.batches.front() {
                return Some(batch.clone());
            }
            if waiting.complete {
                return None;
            }
            waiting = wait(&self.changed, waiting, Duration::from_secs(3600));
        }
    }

    /// Takes a batch out, where it has not been dropped meanwhile, and counts what became of it.
    pub(super) fn settle(&self, batch: &Bytes, count: fn(&mut Counts)) {
        let mut waiting = self.lock();
        count(&mut waiting.counts);
        // The same bytes in memory: two batches may say the same.
        let same = |one: &Bytes| one.as_ptr() == batch.as_ptr();
        if waiting.batches.front().is_some_and(same) {
            waiting.batches.pop_front();
            waiting.bytes -= batch.len();
        }
    }

    /// Counts without taking anything out.
    pub(super) fn count(&self, count: fn(&mut Counts)) {
        count(&mut self.lock().counts);
    }

    /// Waits for this long, or until it stops; whether it stops.
    pub(super) fn pause(&self, pause: Duration) -> bool {
        let until = Instant::now() + pause;
        let mut waiting = self.lock();
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if waiting.stopping || left.is_zero() {
                return waiting.stopping;
            }
            waiting = wait(&self.changed, waiting, left);
        }
    }

    /// Ends every pause.
    pub(super) fn stop(&self) {
        self.lock().stopping = true;
        self.changed.notify_all();
    }

    /// Whether it stops.
    pub(super) fn is_stopping(&self) -> bool {
        self.lock().stopping
    }

    /// Says that nothing will be added any more.
    pub(super) fn complete(&self) {
        self.lock().complete = true;
        self.changed.notify_all();
    }

    /// Batches that wait, and what became of the others.
    pub(super) fn now(&self) -> (usize, Counts) {
        let waiting = self.lock();
        (waiting.batches.len(), waiting.counts)
    }
}

fn wait<'a>(
    changed: &Condvar,
    waiting: MutexGuard<'a, Waiting>,
    limit: Duration,
) -> MutexGuard<'a, Waiting> {
    changed
        .wait_timeout(waiting, limit)
        .unwrap_or_else(PoisonError::into_inner)
        .0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_make_room_and_are_counted() {
        let queue = Queue::default();
        for nth in 0..MOST_BATCHES + 3 {
            queue.add(vec![nth as u8; 10].into());
        }
        assert_eq!(queue.now().0, MOST_BATCHES);
        assert_eq!(queue.now().1.dropped, 3);
        assert_eq!(queue.oldest().expect("a batch")[0], 3);
        queue.add(vec![0; MOST_BYTES].into());
        assert_eq!(queue.now().0, 1, "by bytes as well, but never the only one");
    }

    #[test]
    fn a_batch_that_was_dropped_while_it_was_sent_takes_no_other_with_it() {
        let queue = Queue::default();
        queue.add(vec![1; 4].into());
        let sent = queue.oldest().expect("a batch");
        for _ in 0..MOST_BATCHES {
            queue.add(vec![2; 4].into());
        }
        queue.settle(&sent, |counts| counts.sent += 1);
        assert_eq!(queue.now().0, MOST_BATCHES);
        assert_eq!((queue.now().1.sent, queue.now().1.dropped), (1, 1));
        queue.complete();
        queue.stop();
        assert!(queue.pause(Duration::from_secs(1000)), "it stops at once");
    }
}
