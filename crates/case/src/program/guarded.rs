//! Arrays on the GPU between guard zones that show a write outside.

use warpsmith_device::{CudaDevice, DeviceBuffer, DeviceError, Stream};

use super::ran::{Ran, TouchedGuard};
use crate::instance::Instance;

/// What guard zones hold: no float that a kernel would write, and odd as an integer.
const PATTERN: u8 = 0xA9;
/// A guard zone is at least this long, and at least as long as a row, up to the most.
const LEAST: usize = 4096;
const MOST: usize = 1 << 20;

/// One array on the GPU.
pub(super) struct GuardedArray {
    buffer: DeviceBuffer<u8>,
    guard: usize,
    bytes: usize,
}

impl GuardedArray {
    /// Uploads `content` between guard zones that hold at least a row of `row` bytes; without guards
    /// the allocation ends where the array does.
    pub(super) fn upload(
        gpu: &CudaDevice,
        content: &[u8],
        row: usize,
        guards: bool,
    ) -> Result<Self, DeviceError> {
        // A multiple of 512 keeps the alignment that an allocation of its own would have.
        let guard = match guards {
            true => row.clamp(LEAST, MOST).next_multiple_of(512),
            false => 0,
        };
        let mut bytes = vec![PATTERN; guard];
        bytes.extend_from_slice(content);
        bytes.resize(content.len() + 2 * guard, PATTERN);
        Ok(Self {
            buffer: gpu.upload(&bytes)?,
            guard,
            bytes: content.len(),
        })
    }

    /// Overwrites all of it, guard zones included.
    pub(super) fn fill(&mut self, stream: &Stream, byte: u8) -> Result<(), DeviceError> {
        self.buffer.fill_bytes(stream, byte)
    }

    /// The address of the first element.
    pub(super) fn address(&self) -> u64 {
        self.buffer.pointer() + self.guard as u64
    }

    /// The contents, and whether a guard zone was written.
    pub(super) fn download(
        &self,
        stream: &Stream,
        name: &str,
    ) -> Result<(Vec<u8>, Option<TouchedGuard>), DeviceError> {
        let mut all = self.buffer.download(stream)?;
        let touched = touched(&all, self.guard, self.bytes, name);
        all.truncate(self.guard + self.bytes);
        all.drain(..self.guard);
        Ok((all, touched))
    }
}

/// The arrays of all arguments after a run, and the guard zones that were written.
pub(super) fn download(
    stream: &Stream,
    instance: &Instance,
    arrays: &[Option<GuardedArray>],
) -> Result<Ran, DeviceError> {
    let mut ran = Ran::default();
    for (argument, array) in instance.arguments.iter().zip(arrays) {
        ran.arrays.push(match array {
            None => None,
            Some(array) => {
                let (bytes, touched) = array.download(stream, &argument.name)?;
                ran.guards.extend(touched);
                Some(bytes)
            }
        });
    }
    Ok(ran)
}

/// What was written outside of the array in the middle of `all`.
fn touched(all: &[u8], guard: usize, bytes: usize, name: &str) -> Option<TouchedGuard> {
    // Almost always; guard zones are as long as the array.
    let intact = |zone: &[u8]| zone.iter().all(|byte| *byte == PATTERN);
    if intact(&all[..guard]) && intact(&all[guard + bytes..]) {
        return None;
    }
    let changed = |(at, byte): (usize, &u8)| (*byte != PATTERN).then_some(at);
    let before: Vec<usize> = all[..guard]
        .iter()
        .enumerate()
        .filter_map(changed)
        .collect();
    let after: Vec<usize> = all[guard + bytes..]
        .iter()
        .enumerate()
        .filter_map(changed)
        .collect();
    let offset = match (after.first(), before.last()) {
        (Some(first), _) => *first as i64,
        (None, Some(last)) => *last as i64 - guard as i64,
        (None, None) => return None,
    };
    Some(TouchedGuard {
        argument: name.to_owned(),
        offset,
        bytes: before.len() + after.len(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_outside_are_seen_on_both_sides() {
        let mut all = vec![PATTERN; 100];
        all[40..60].fill(0);
        assert_eq!(touched(&all, 40, 20, "x"), None);
        all[60] = 1;
        all[63] = 1;
        let seen = touched(&all, 40, 20, "x").unwrap();
        assert_eq!((seen.offset, seen.bytes), (0, 2));
        all[60..].fill(PATTERN);
        all[38] = 7;
        assert_eq!(touched(&all, 40, 20, "x").unwrap().offset, -2);
    }
}
