//! The key, and applying it on the CPU.

use rayon::prelude::*;
use warpsmith_device::CpuDevice;

use crate::error::LatticeError;
use warpsmith_lanes::{InstructionSet, for_each_set};

/// A key of at least one byte, with a pattern of whole periods that loops can run along.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    bytes: usize,
    pattern: Vec<u8>,
}

/// Long enough that a loop over it is not all overhead, short enough for a first-level cache.
const PATTERN_BYTES: usize = 8192;
/// Sixteen bytes are what a GPU thread takes at once.
const GROUP: usize = 16;
/// A pattern has at most this many bytes, so that 32-bit arithmetic holds on the GPU.
const LONGEST: usize = 1 << 27;
/// Bytes of a task.
const TASK: usize = 1 << 20;

impl Key {
    /// A key of these bytes.
    pub fn new(key: &[u8]) -> Result<Self, LatticeError> {
        if key.is_empty() || key.len() > LONGEST {
            return Err(LatticeError::Parameter {
                name: "the key's length in bytes",
                value: key.len() as f64,
                problem: format!("it must be from 1 to {LONGEST}"),
            });
        }
        // Sixteen periods are a whole number of groups whatever the length.
        let periods = GROUP * PATTERN_BYTES.div_ceil(GROUP * key.len());
        Ok(Self {
            bytes: key.len(),
            pattern: key.repeat(periods),
        })
    }

    /// Length of the key.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// The key repeated to a multiple of sixteen bytes.
    pub(super) fn pattern(&self) -> &[u8] {
        &self.pattern
    }

    /// Applies the key to `data` on one thread.
    pub fn apply(&self, set: InstructionSet, data: &mut [u8]) {
        for part in data.chunks_mut(self.pattern.len()) {
            xor(set, part, &self.pattern);
        }
    }

    /// Applies the key to `data` on every thread of the device.
    pub fn apply_on_threads(&self, device: &CpuDevice, set: InstructionSet, data: &mut [u8]) {
        // Tasks of whole periods, so that each begins at the key's first byte.
        let task = self.pattern.len() * TASK.div_ceil(self.pattern.len());
        device.run(|| {
            data.par_chunks_mut(task)
                .for_each(|part| self.apply(set, part));
        });
    }
}

for_each_set! {
    /// XORs `data` with the beginning of `pattern`, which is at least as long.
    fn xor[32, 64, 128] = xor_part(data: &mut [u8], pattern: &[u8])
}

#[inline(always)]
fn xor_part<const W: usize>(data: &mut [u8], pattern: &[u8]) {
    let pattern = &pattern[..data.len()];
    let (mut chunks, mut keys) = (data.chunks_exact_mut(W), pattern.chunks_exact(W));
    for (chunk, key) in (&mut chunks).zip(&mut keys) {
        for lane in 0..W {
            chunk[lane] ^= key[lane];
        }
    }
    for (byte, key) in chunks.into_remainder().iter_mut().zip(keys.remainder()) {
        *byte ^= key;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_form_is_the_definition_and_undoes_itself(
            key in prop::collection::vec(any::<u8>(), 1..300),
            data in prop::collection::vec(any::<u8>(), 0..20_000),
        ) {
            let expected: Vec<u8> = data
                .iter()
                .enumerate()
                .map(|(index, byte)| byte ^ key[index % key.len()])
                .collect();
            let cpu = CpuDevice::with_threads(2).unwrap();
            let prepared = Key::new(&key).unwrap();
            for set in InstructionSet::present() {
                let mut changed = data.clone();
                prepared.apply(set, &mut changed);
                prop_assert_eq!(&changed, &expected);
                prepared.apply_on_threads(&cpu, set, &mut changed);
                prop_assert_eq!(&changed, &data);
            }
        }
    }

    #[test]
    fn a_key_without_bytes_is_refused() {
        assert!(Key::new(&[]).unwrap_err().to_string().contains("from 1 to"));
    }
}
