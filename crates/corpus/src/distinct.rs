//! How many distinct hashes there were, estimated in 16 kB (HyperLogLog: Flajolet and others, 2007).
//!
//! Unlike a set it can be merged across shards; its standard error is 0.8 %.

use serde::{Deserialize, Serialize};

const REGISTERS: usize = 1 << 14;

/// An estimate of a number of distinct hashes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Distinct(Vec<u8>);

impl Default for Distinct {
    fn default() -> Self {
        Self(vec![0; REGISTERS])
    }
}

impl Distinct {
    /// Counts a hash.
    pub fn add(&mut self, hash: u64) {
        let register = (hash >> 50) as usize;
        let zeros = ((hash << 14) | (1 << 13)).leading_zeros() as u8 + 1;
        self.0[register] = self.0[register].max(zeros);
    }

    /// Counts everything that `other` counted.
    pub fn merge(&mut self, other: &Self) {
        for (ours, theirs) in self.0.iter_mut().zip(&other.0) {
            *ours = (*ours).max(*theirs);
        }
    }

    /// The estimate.
    pub fn estimate(&self) -> f64 {
        let m = REGISTERS as f64;
        let sum: f64 = self.0.iter().map(|zeros| (-f64::from(*zeros)).exp2()).sum();
        let raw = 0.7213 / (1.0 + 1.079 / m) * m * m / sum;
        let empty = self.0.iter().filter(|zeros| **zeros == 0).count();
        // Small numbers are counted by the registers that are still empty.
        if raw <= 2.5 * m && empty > 0 {
            m * (m / empty as f64).ln()
        } else {
            raw
        }
    }
}

// Registers are at most 51: one printable character each, which keeps manifests readable.
impl From<Distinct> for String {
    fn from(distinct: Distinct) -> Self {
        distinct
            .0
            .iter()
            .map(|zeros| char::from(b'0' + zeros))
            .collect()
    }
}

impl TryFrom<String> for Distinct {
    type Error = String;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let registers: Vec<u8> = text.bytes().map(|byte| byte.wrapping_sub(b'0')).collect();
        if registers.len() != REGISTERS || registers.iter().any(|zeros| *zeros > 64) {
            return Err(format!(
                "{} registers where {REGISTERS} belong",
                registers.len()
            ));
        }
        Ok(Self(registers))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::mix;

    #[test]
    fn estimates_are_close_and_merge() {
        for count in [100_u64, 20_000, 300_000] {
            let (mut even, mut odd) = (Distinct::default(), Distinct::default());
            for n in 0..count {
                even.add(mix(n));
                odd.add(mix(n + count / 2));
            }
            let error = even.estimate() / count as f64 - 1.0;
            assert!(error.abs() < 0.03, "{count}: {error}");
            even.merge(&odd);
            let error = even.estimate() / (1.5 * count as f64) - 1.0;
            assert!(error.abs() < 0.03, "{count}: {error}");
        }
        let text: String = Distinct::default().into();
        assert_eq!(Distinct::try_from(text), Ok(Distinct::default()));
    }
}
