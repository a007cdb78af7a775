//! One stream for all who want to hear the same: rendered and encoded once, on its own schedule.
//!
//! Invariants: block n is due at start + n · length, and a late one is followed at once by the next,
//! so that the stream keeps the time; nobody who listens can delay it; without listeners it stands
//! still.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, broadcast};
use tokio::time::{Instant, sleep_until};
use warpsmith_synth::{DryRequest, Note, ParamError, Params, Stream};

use super::desk::Desk;
use crate::metrics::Metrics;

/// Frames a second.
pub(crate) const RATE: u32 = 48_000;
/// Frames of a block: 20 ms.
pub(crate) const BLOCK: u32 = 960;
/// Blocks that a listener may be behind: half a second.
const BEHIND: usize = 25;
/// Blocks kept for those who join: as many as the largest buffer, and what may be on its way.
const KEPT: usize = 128;

/// Twenty milliseconds for everybody.
#[derive(Debug)]
pub(crate) struct Block {
    pub(crate) first: u64,
    pub(crate) render_us: u32,
    /// 16-bit stereo.
    pub(crate) bytes: Vec<u8>,
    /// Parameters that hold from here on, where they are new.
    pub(crate) params: Option<Params>,
    /// Where the next bar begins, and its notes, where they are new.
    pub(crate) score: Option<(u64, Vec<Note>)>,
}

/// What listeners are told with a block: parameters, and the notes of the next bar.
type News = (Option<Params>, Option<(u64, Vec<Note>)>);

/// The stream and those who hear it.
pub(crate) struct Broadcast {
    seed: u64,
    params: Mutex<Params>,
    /// Parameters that the next block takes over.
    wish: Mutex<Option<Params>>,
    recent: Mutex<VecDeque<Arc<Block>>>,
    sender: broadcast::Sender<Arc<Block>>,
    joined: Notify,
    position: AtomicU64,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Broadcast {
    /// The broadcast of `seed`, and the stream to [`Broadcast::run`] it with.
    pub(crate) fn new(seed: u64, params: Params) -> Result<(Self, Stream), ParamError> {
        let stream = Stream::new(seed, params)?;
        let broadcast = Self {
            seed,
            params: Mutex::new(params),
            wish: Mutex::new(None),
            recent: Mutex::new(VecDeque::with_capacity(KEPT)),
            sender: broadcast::channel(BEHIND).0,
            joined: Notify::new(),
            position: AtomicU64::new(0),
        };
        Ok((broadcast, stream))
    }

    pub(crate) fn seed(&self) -> u64 {
        self.seed
    }

    pub(crate) fn params(&self) -> Params {
        *locked(&self.params)
    }

    pub(crate) fn listeners(&self) -> usize {
        self.sender.receiver_count()
    }

    pub(crate) fn position(&self) -> u64 {
        self.position.load(Ordering::Relaxed)
    }

    /// Asks for other parameters, which are known to be valid.
    pub(crate) fn set_params(&self, params: Params) {
        *locked(&self.params) = params;
        *locked(&self.wish) = Some(params);
    }

    /// The last blocks of at least `frames`, and everything that comes after them.
    pub(crate) fn join(&self, frames: u64) -> (Vec<Arc<Block>>, broadcast::Receiver<Arc<Block>>) {
        let blocks = frames.div_ceil(u64::from(BLOCK)) as usize;
        // Blocks are sent under this lock, so none is missing or twice.
        let recent = locked(&self.recent);
        let skipped = recent.len().saturating_sub(blocks);
        let before = recent.iter().skip(skipped).cloned().collect();
        let receiver = self.sender.subscribe();
        drop(recent);
        self.joined.notify_one();
        (before, receiver)
    }

    /// Renders on schedule until the task is dropped; the voices are `desk`'s while it answers.
    pub(crate) async fn run(
        self: Arc<Self>,
        mut stream: Stream,
        desk: Option<Desk>,
        metrics: Arc<Metrics>,
    ) {
        let length = Duration::from_secs(u64::from(BLOCK)) / RATE;
        let mut desk = desk.filter(|desk| desk.loss().is_none() && stream.send_away());
        let mut request = DryRequest::default();
        let mut samples = vec![0i16; 2 * BLOCK as usize];
        let (mut due, mut told) = (Instant::now(), u64::MAX);
        loop {
            if self.sender.receiver_count() == 0 {
                self.joined.notified().await;
                due = Instant::now();
                continue;
            }
            sleep_until(due).await;
            metrics.broadcast_lateness.note(due.elapsed());
            due += length;
            let begun = std::time::Instant::now();
            let params = self.take_wish(&mut stream);
            if let Some(engine) = &desk {
                stream.ask(BLOCK as usize, &mut request);
                match engine.ask(std::mem::take(&mut request)).await {
                    Ok(answer) => request = answer,
                    // An engine that fails is not asked again: the stream goes on by itself.
                    Err(_) => desk = None,
                }
            }
            let first = stream.position();
            let bar = stream.next_bar();
            let score = (told != bar || params.is_some()).then(|| (bar, stream.next_notes()));
            told = bar;
            if desk.is_some() {
                stream.render_dry_into(&request, &mut samples);
            } else {
                stream.render_into(&mut samples);
            }
            metrics.render.note(begun.elapsed());
            self.publish(first, &samples, begun.elapsed(), (params, score));
            self.position.store(stream.position(), Ordering::Relaxed);
        }
    }

    /// Gives the stream the parameters that were requested, if any were.
    fn take_wish(&self, stream: &mut Stream) -> Option<Params> {
        let wish = locked(&self.wish).take();
        wish.filter(|params| stream.set_params(*params).is_ok())
    }

    /// Hands a block to everybody.
    fn publish(&self, first: u64, samples: &[i16], elapsed: Duration, (params, score): News) {
        let mut recent = locked(&self.recent);
        let oldest = if recent.len() == KEPT {
            recent.pop_front().and_then(Arc::into_inner)
        } else {
            None
        };
        // Memory of a block that nobody holds any more.
        let mut bytes = oldest.map_or_else(Vec::new, |block| block.bytes);
        bytes.clear();
        bytes.extend_from_slice(bytemuck::cast_slice(samples));
        let block = Arc::new(Block {
            first,
            render_us: u32::try_from(elapsed.as_micros()).unwrap_or(u32::MAX),
            bytes,
            params,
            score,
        });
        recent.push_back(Arc::clone(&block));
        // Nobody may be there to hear it.
        let _ = self.sender.send(block);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_joins_gets_the_past_and_the_future_without_a_seam() {
        let (broadcast, mut stream) = Broadcast::new(4, Params::default()).unwrap();
        let mut samples = vec![0i16; 2 * BLOCK as usize];
        let mut block = || {
            let first = stream.position();
            stream.render_into(&mut samples);
            broadcast.publish(first, &samples, Duration::ZERO, (None, None));
        };
        let first = broadcast.join(0).1;
        for _ in 0..10 {
            block();
        }
        let (past, mut future) = broadcast.join(5_000);
        let begins: Vec<u64> = past.iter().map(|block| block.first).collect();
        assert_eq!(begins, [3840, 4800, 5760, 6720, 7680, 8640]);
        block();
        assert_eq!(future.try_recv().unwrap().first, 9600);
        assert_eq!(broadcast.listeners(), 2);
        drop(first);
    }
}
