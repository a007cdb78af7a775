//! Connections, counted by address.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::guarded::Progress;
use crate::limits::Limits;

/// Which limit is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Full {
    /// Of all connections.
    InAll,
    /// Of this address.
    PerClient,
}

#[derive(Debug, Default)]
struct Open {
    /// Connections so far.
    last: u64,
    /// By number, the oldest first.
    connections: BTreeMap<u64, (IpAddr, Arc<Progress>)>,
    by_address: HashMap<IpAddr, usize>,
}

impl Open {
    fn remove(&mut self, number: u64) -> Option<Arc<Progress>> {
        let (address, progress) = self.connections.remove(&number)?;
        if let Some(count) = self.by_address.get_mut(&address) {
            *count -= 1;
            if *count == 0 {
                self.by_address.remove(&address);
            }
        }
        Some(progress)
    }

    /// The oldest connection without a request, of the address that has the most connections among
    /// those with one that could go.
    fn least_needed(&self) -> Option<u64> {
        let waiting = self.connections.iter();
        waiting
            .filter(|(_, (_, progress))| !progress.is_serving())
            .max_by_key(|(number, (address, _))| (self.by_address.get(address), Reverse(**number)))
            .map(|(number, _)| *number)
    }
}

/// Counts connections.
#[derive(Debug, Default)]
pub struct Doors(Mutex<Open>);

/// A place in the count, given back when dropped.
#[derive(Debug)]
pub(crate) struct Door {
    doors: Arc<Doors>,
    number: u64,
    progress: Arc<Progress>,
}

impl Door {
    /// Where its connection is.
    pub(crate) fn progress(&self) -> &Arc<Progress> {
        &self.progress
    }
}

impl Doors {
    fn open(&self) -> MutexGuard<'_, Open> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A place for a connection from `address`, or which limit keeps it out. Where all places are
    /// taken, a connection that only waits for a request loses its own: whoever opens connections and
    /// says nothing locks nobody out.
    pub(crate) fn enter(self: &Arc<Self>, address: IpAddr, limits: &Limits) -> Result<Door, Full> {
        // A listener for both families sees 127.0.0.1 as ::ffff:127.0.0.1.
        let address = address.to_canonical();
        let mut open = self.open();
        let mine = open.by_address.get(&address).copied().unwrap_or(0);
        if mine >= limits.per_client && !address.is_loopback() {
            return Err(Full::PerClient);
        }
        if open.connections.len() >= limits.connections {
            let number = open.least_needed().ok_or(Full::InAll)?;
            if let Some(progress) = open.remove(number) {
                progress.dismiss();
            }
        }
        open.last += 1;
        let (number, progress) = (open.last, Arc::new(Progress::new()));
        *open.by_address.entry(address).or_default() += 1;
        open.connections
            .insert(number, (address, Arc::clone(&progress)));
        Ok(Door {
            doors: Arc::clone(self),
            number,
            progress,
        })
    }

    /// Open connections.
    pub fn count(&self) -> usize {
        self.open().connections.len()
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        self.doors.open().remove(self.number);
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;
    use std::time::Duration;

    use super::*;
    use crate::guarded::Phase;

    const LIMITS: Limits = Limits {
        connections: 5,
        per_client: 2,
        head_bytes: 0,
        body_bytes: 0,
        head: Duration::ZERO,
        body: Duration::ZERO,
        idle: Duration::ZERO,
        write: Duration::ZERO,
    };
    const FAR: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1));
    const NEAR: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

    /// Connections that serve a request.
    fn busy(doors: &Arc<Doors>, address: IpAddr, count: usize) -> Vec<Door> {
        let enter = || {
            let door = doors.enter(address, &LIMITS).unwrap();
            door.progress().enter(Phase::Busy);
            door
        };
        std::iter::repeat_with(enter).take(count).collect()
    }

    #[test]
    fn doors_are_counted_by_address() {
        let doors = Arc::new(Doors::default());
        let open = busy(&doors, FAR, 2);
        assert_eq!(doors.enter(FAR, &LIMITS).unwrap_err(), Full::PerClient);
        let local = busy(&doors, NEAR, 3);
        assert_eq!(doors.enter(NEAR, &LIMITS).unwrap_err(), Full::InAll);
        drop((open, local));
        assert_eq!(doors.count(), 0);
        assert!(doors.open().by_address.is_empty());
    }

    #[test]
    fn who_waits_makes_room_for_who_comes() {
        let doors = Arc::new(Doors::default());
        let far = doors.enter(FAR, &LIMITS).unwrap();
        let silent: Vec<_> = (0..3)
            .map(|_| doors.enter(NEAR, &LIMITS).unwrap())
            .collect();
        silent[0].progress().enter(Phase::Busy);
        let served = busy(&doors, NEAR, 1);
        // The oldest that waits, of the address with the most.
        let other = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2));
        let came = doors.enter(other, &LIMITS).unwrap();
        let left = |door: &Door| !doors.open().connections.contains_key(&door.number);
        assert!(left(&silent[1]));
        assert!(
            ![&far, &silent[0], &silent[2], &served[0], &came]
                .into_iter()
                .any(left)
        );
        assert_eq!(doors.count(), LIMITS.connections);
        // Its door closes later, and gives no place back a second time.
        drop(silent);
        assert_eq!(doors.count(), 3);
    }
}
