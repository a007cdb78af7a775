//! Connections, counted by address.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

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
    in_all: usize,
    by_address: HashMap<IpAddr, usize>,
}

/// Counts connections.
#[derive(Debug, Default)]
pub struct Doors(Mutex<Open>);

/// A place in the count, given back when dropped.
#[derive(Debug)]
pub(crate) struct Door {
    doors: Arc<Doors>,
    address: IpAddr,
}

impl Doors {
    fn open(&self) -> MutexGuard<'_, Open> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A place for a connection from `address`, or which limit keeps it out.
    pub(crate) fn enter(self: &Arc<Self>, address: IpAddr, limits: &Limits) -> Result<Door, Full> {
        // A listener for both families sees 127.0.0.1 as ::ffff:127.0.0.1.
        let address = address.to_canonical();
        let mut open = self.open();
        if open.in_all >= limits.connections {
            return Err(Full::InAll);
        }
        let mine = open.by_address.get(&address).copied().unwrap_or(0);
        if mine >= limits.per_client && !address.is_loopback() {
            return Err(Full::PerClient);
        }
        open.by_address.insert(address, mine + 1);
        open.in_all += 1;
        Ok(Door {
            doors: Arc::clone(self),
            address,
        })
    }

    /// Open connections.
    pub fn count(&self) -> usize {
        self.open().in_all
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        let mut open = self.doors.open();
        open.in_all -= 1;
        if let Some(mine) = open.by_address.get_mut(&self.address) {
            *mine -= 1;
            if *mine == 0 {
                open.by_address.remove(&self.address);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn doors_are_counted_by_address() {
        let doors = Arc::new(Doors::default());
        let limits = Limits {
            connections: 5,
            per_client: 2,
            head_bytes: 0,
            body_bytes: 0,
            head: Duration::ZERO,
            body: Duration::ZERO,
            idle: Duration::ZERO,
            write: Duration::ZERO,
        };
        let [far, near]: [IpAddr; 2] = [[10, 0, 0, 1].into(), [127, 0, 0, 1].into()];
        let open: Vec<_> = (0..2).map(|_| doors.enter(far, &limits).unwrap()).collect();
        assert_eq!(doors.enter(far, &limits).unwrap_err(), Full::PerClient);
        let local: Vec<_> = (0..3)
            .map(|_| doors.enter(near, &limits).unwrap())
            .collect();
        assert_eq!(doors.enter(near, &limits).unwrap_err(), Full::InAll);
        drop((open, local));
        assert_eq!(doors.count(), 0);
        assert!(doors.open().by_address.is_empty());
    }
}
