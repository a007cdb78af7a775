//! Streams whose listeners are gone and may come back.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::OwnStream;

/// How long a stream waits for its listener.
const PATIENCE: Duration = Duration::from_secs(30);
/// Streams that wait at most; each has the memory of a listener.
const MOST: usize = 256;

struct Parked {
    stream: u32,
    key: String,
    since: Instant,
    own: Box<OwnStream>,
}

/// Where streams wait.
#[derive(Default)]
pub(crate) struct Parking(Mutex<VecDeque<Parked>>);

impl Parking {
    /// Keeps a stream for a while; the one that waits longest goes where there is no room.
    pub(crate) fn keep(&self, stream: u32, key: String, own: Box<OwnStream>) {
        self.sweep();
        let mut parked = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if parked.len() == MOST {
            parked.pop_front();
        }
        parked.push_back(Parked {
            stream,
            key,
            since: Instant::now(),
            own,
        });
    }

    /// The stream, if it is here and the key is right.
    pub(crate) fn take(&self, stream: u32, key: &str) -> Option<Box<OwnStream>> {
        self.sweep();
        let mut parked = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let index = parked
            .iter()
            .position(|parked| parked.stream == stream && parked.key == key)?;
        parked.remove(index).map(|parked| parked.own)
    }

    /// Drops those that waited long enough; gives how many wait.
    pub(crate) fn sweep(&self) -> usize {
        let mut parked = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        while parked
            .front()
            .is_some_and(|parked| parked.since.elapsed() > PATIENCE)
        {
            parked.pop_front();
        }
        parked.len()
    }
}

#[cfg(test)]
mod tests {
    use warpsmith_synth::Params;

    use super::*;
    use crate::protocol::Hello;

    #[test]
    fn a_stream_is_given_once_and_only_for_its_key() {
        let parking = Parking::default();
        let own = OwnStream::new(&Hello::default(), 1, Params::default()).unwrap();
        parking.keep(7, "secret".into(), Box::new(own));
        assert!(parking.take(7, "guess").is_none());
        assert!(parking.take(8, "secret").is_none());
        assert!(parking.take(7, "secret").is_some());
        assert!(parking.take(7, "secret").is_none());
    }

    #[test]
    fn there_is_room_for_so_many() {
        let parking = Parking::default();
        let hello = Hello {
            codecs: vec!["tag".into()],
            ..Hello::default()
        };
        for stream in 0..300 {
            let own = OwnStream::new(&hello, 1, Params::default()).unwrap();
            parking.keep(stream, String::new(), Box::new(own));
        }
        assert_eq!(parking.sweep(), MOST);
        assert!(parking.take(0, "").is_none() && parking.take(299, "").is_some());
    }
}
