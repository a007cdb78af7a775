//! Slows down whoever guesses passwords: after a few wrong ones an address waits, twice as long each
//! time. Headers that were found right before are not held up, so that nobody locks a scraper out by
//! guessing from the same address.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Wrong passwords in a row that cost nothing: people mistype.
const FREE: u32 = 3;
/// The longest wait.
const LONGEST: Duration = Duration::from_secs(60);
/// An address that was silent for so long begins again.
const FORGOTTEN: Duration = Duration::from_secs(600);
/// Addresses that are remembered; beyond them the one that may come back first is forgotten.
const MOST: usize = 1_024;

#[derive(Clone, Copy, Debug)]
struct Guesses {
    wrong: u32,
    /// When the next one may come.
    until: Instant,
}

/// Wrong passwords by address.
#[derive(Debug, Default)]
pub(super) struct LoginThrottle(Mutex<HashMap<IpAddr, Guesses>>);

impl LoginThrottle {
    /// How long this address has to wait; `None` where it need not.
    pub(super) fn wait(&self, address: IpAddr, now: Instant) -> Option<Duration> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let guesses = known.get(&address.to_canonical())?;
        guesses
            .until
            .checked_duration_since(now)
            .filter(|wait| !wait.is_zero())
    }

    /// Notes a password that was checked.
    pub(super) fn note(&self, address: IpAddr, right: bool, now: Instant) {
        let address = address.to_canonical();
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if right {
            known.remove(&address);
            return;
        }
        known.retain(|_, guesses| now < guesses.until + FORGOTTEN);
        if known.len() >= MOST
            && !known.contains_key(&address)
            && let Some(first) = known.iter().min_by_key(|(_, guesses)| guesses.until)
        {
            let first = *first.0;
            known.remove(&first);
        }
        let guesses = known.entry(address).or_insert(Guesses {
            wrong: 0,
            until: now,
        });
        guesses.wrong = guesses.wrong.saturating_add(1);
        let doublings = guesses.wrong.checked_sub(FREE + 1);
        let wait = doublings.map(|times| Duration::from_secs(1 << times.min(6)).min(LONGEST));
        guesses.until = now + wait.unwrap_or_default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 1));

    #[test]
    fn waits_double_up_to_a_minute_and_end_with_the_right_word() {
        let throttle = LoginThrottle::default();
        let start = Instant::now();
        let mut waits = Vec::new();
        for _ in 0..12 {
            throttle.note(ONE, false, start);
            waits.push(throttle.wait(ONE, start).unwrap_or_default().as_secs());
        }
        assert_eq!(waits, [0, 0, 0, 1, 2, 4, 8, 16, 32, 60, 60, 60]);
        assert_eq!(throttle.wait(ONE, start + LONGEST), None);
        let mapped = "::ffff:10.0.0.1".parse().unwrap();
        assert!(throttle.wait(mapped, start).is_some());
        assert_eq!(throttle.wait([10, 0, 0, 2].into(), start), None);
        throttle.note(ONE, true, start);
        assert_eq!(throttle.wait(ONE, start), None);
    }

    #[test]
    fn addresses_are_forgotten_in_time_and_beyond_a_number() {
        let throttle = LoginThrottle::default();
        let start = Instant::now();
        for _ in 0..=FREE {
            throttle.note(ONE, false, start);
        }
        for number in 0..2 * MOST as u32 {
            throttle.note(IpAddr::V4((0x0b00_0000 + number).into()), false, start);
        }
        assert_eq!(throttle.0.lock().unwrap().len(), MOST);
        assert!(throttle.wait(ONE, start).is_some(), "who waits is kept");
        throttle.note([10, 0, 0, 2].into(), false, start + LONGEST + FORGOTTEN);
        assert_eq!(throttle.0.lock().unwrap().len(), 1);
    }
}
