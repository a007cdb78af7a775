//! Who listens now, for those who ask and for those who steer from outside the connection.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use serde_json::{Value, json};
use tokio::sync::Notify;
use warpsmith_synth::Params;

use crate::protocol::{Codec, Welcome};

/// A listener as others see it.
#[derive(Debug)]
pub(crate) struct Seat {
    pub(crate) stream: u32,
    pub(crate) key: String,
    pub(crate) peer: SocketAddr,
    pub(crate) seed: u64,
    pub(crate) rate: u32,
    pub(crate) codec: &'static str,
    pub(crate) shared: bool,
    pub(crate) since: Instant,
    params: Mutex<Params>,
    wish: Mutex<Option<Params>>,
    evicted: AtomicBool,
    /// Something waits for the connection: a wish, or its end.
    pub(crate) woken: Notify,
    pub(crate) sent: AtomicU64,
    pub(crate) depth: AtomicU64,
    pub(crate) underruns: AtomicU64,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Seat {
    pub(crate) fn new(welcome: &Welcome, codec: Codec, peer: SocketAddr) -> Self {
        Self {
            stream: welcome.stream,
            key: welcome.key.clone(),
            peer,
            seed: welcome.seed,
            rate: welcome.rate,
            codec: codec.name(),
            shared: welcome.shared,
            since: Instant::now(),
            params: Mutex::new(welcome.params),
            wish: Mutex::new(None),
            evicted: AtomicBool::new(false),
            woken: Notify::new(),
            sent: AtomicU64::new(welcome.position),
            depth: AtomicU64::new(0),
            underruns: AtomicU64::new(0),
        }
    }

    pub(crate) fn params(&self) -> Params {
        *locked(&self.params)
    }

    pub(crate) fn note_params(&self, params: Params) {
        *locked(&self.params) = params;
    }

    /// Asks the connection for other parameters, which are known to be valid.
    pub(crate) fn wish(&self, params: Params) {
        *locked(&self.wish) = Some(params);
        self.woken.notify_one();
    }

    pub(crate) fn take_wish(&self) -> Option<Params> {
        locked(&self.wish).take()
    }

    /// Asks the connection to give its stream up to another.
    pub(crate) fn evict(&self) {
        self.evicted.store(true, Ordering::Release);
        self.woken.notify_one();
    }

    pub(crate) fn is_evicted(&self) -> bool {
        self.evicted.load(Ordering::Acquire)
    }

    fn json(&self) -> Value {
        json!({
            "stream": self.stream,
            "peer": self.peer.ip().to_string(),
            "seed": self.seed,
            "rate": self.rate,
            "codec": self.codec,
            "shared": self.shared,
            "seconds": self.since.elapsed().as_secs_f64(),
            "sent": self.sent.load(Ordering::Relaxed),
            "depth": self.depth.load(Ordering::Relaxed),
            "underruns": self.underruns.load(Ordering::Relaxed),
        })
    }
}

/// All seats.
#[derive(Debug, Default)]
pub(crate) struct Seats {
    taken: Mutex<BTreeMap<u32, Arc<Seat>>>,
    last: AtomicU32,
    /// The most seats since somebody last wanted to know.
    most: AtomicUsize,
}

impl Seats {
    pub(crate) fn next_stream(&self) -> u32 {
        self.last.fetch_add(1, Ordering::Relaxed).wrapping_add(1)
    }

    pub(crate) fn take(&self, seat: Arc<Seat>) {
        let mut taken = locked(&self.taken);
        taken.insert(seat.stream, seat);
        self.most.fetch_max(taken.len(), Ordering::Relaxed);
    }

    /// Frees the seat, unless another connection has it by now.
    pub(crate) fn leave(&self, seat: &Arc<Seat>) {
        let mut taken = locked(&self.taken);
        if taken
            .get(&seat.stream)
            .is_some_and(|now| Arc::ptr_eq(now, seat))
        {
            taken.remove(&seat.stream);
        }
    }

    /// The seat of a stream, for who has its key.
    pub(crate) fn find(&self, stream: u32, key: &str) -> Option<Arc<Seat>> {
        let taken = locked(&self.taken);
        taken.get(&stream).filter(|seat| seat.key == key).cloned()
    }

    pub(crate) fn count(&self) -> usize {
        locked(&self.taken).len()
    }

    /// The most seats that were taken at once since this was last called: a crowd may come and go
    /// between two looks.
    pub(crate) fn most_since(&self) -> usize {
        let now = self.count();
        self.most.swap(now, Ordering::Relaxed).max(now)
    }

    /// The first `most` seats.
    pub(crate) fn json(&self, most: usize) -> Vec<Value> {
        let taken = locked(&self.taken);
        taken.values().take(most).map(|seat| seat.json()).collect()
    }
}
