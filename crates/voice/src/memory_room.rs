//! Whether memory has room for a result, asked before it is allocated: an allocation that fails ends the
//! process, and Python's interpreter with it.

use warpsmith_core::Bytes;
use warpsmith_device::ensure_host_room;
use warpsmith_signal::{Result, SignalError};

/// What is taken without a question: asking costs more than a small result.
const SMALL: u64 = 64 << 20;

/// Fails where `values` values of `bytes_each` bytes would not fit into memory; `what` names them.
pub fn check_room(what: &'static str, values: usize, bytes_each: usize) -> Result<()> {
    let bytes = (values as u64).saturating_mul(bytes_each as u64);
    if bytes <= SMALL {
        return Ok(());
    }
    match is_room_for(bytes) {
        true => Ok(()),
        false => Err(SignalError::TooLarge {
            what,
            needed: Bytes(bytes),
        }),
    }
}

fn is_room_for(bytes: u64) -> bool {
    // What the machine has is one limit, what the process may address (`ulimit -v`) another.
    let mut probe = Vec::<u8>::new();
    let reserved = usize::try_from(bytes).is_ok_and(|bytes| probe.try_reserve_exact(bytes).is_ok());
    // Seen by nobody, the allocation could be left out and taken to succeed.
    let addressable = std::hint::black_box(&probe).capacity() > 0 && reserved;
    addressable && ensure_host_room(bytes).is_ok()
}

/// Room for what grows while nobody knows how long it becomes, such as the sound of an endless device. It is asked
/// for whenever a vector that doubles would double.
#[derive(Debug)]
pub struct GrowingRoom {
    what: &'static str,
    taken: u64,
    granted: u64,
}

impl GrowingRoom {
    /// For nothing yet; `what` names it.
    pub fn new(what: &'static str) -> Self {
        Self {
            what,
            taken: 0,
            granted: SMALL,
        }
    }

    /// Fails where so many more values of 32 bits would not fit into memory.
    pub fn grow(&mut self, values: usize) -> Result<()> {
        self.taken = self.taken.saturating_add(4 * values as u64);
        if self.taken > self.granted {
            let wanted = self.taken.max(self.granted.saturating_mul(2));
            if !is_room_for(wanted - self.granted) {
                return Err(SignalError::TooLarge {
                    what: self.what,
                    needed: Bytes(wanted),
                });
            }
            self.granted = wanted;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_of_sound_fits_and_a_century_does_not() {
        check_room("the signal", 16_000, 4).unwrap();
        let refused = check_room("the signal", 3_200_000_000 * 192_000, 4).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "the signal would take 2235 TiB of memory, more than is available"
        );
        assert!(check_room("the signal", usize::MAX, 8).is_err());
    }

    #[test]
    fn what_grows_is_refused_before_it_is_larger_than_memory() {
        let mut room = GrowingRoom::new("the sound");
        for _ in 0..100 {
            room.grow(1 << 20).unwrap();
        }
        let said = (0..64).find_map(|_| room.grow(1 << 40).err()).unwrap();
        let said = said.to_string();
        assert!(said.starts_with("the sound would take "), "{said}");
    }
}
