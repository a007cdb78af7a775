//! What a task is for. A family that is held out gives no task to training; of the others, one
//! specification in ten is held out. Texts decide nothing, so that no wording leaks from one to another.

use serde::Serialize;

/// Where a task belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Split {
    /// For training.
    Train,
    /// Of a family that training knows, with options that it has not seen together.
    TestSpecification,
    /// Of a family that training does not know.
    TestFamily,
}

impl Split {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Train, Self::TestSpecification, Self::TestFamily];

    /// Its name in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Train => "train",
            Self::TestSpecification => "test_specification",
            Self::TestFamily => "test_family",
        }
    }
}

/// The split of a specification: it follows from the family's name and the place in it alone, so that new
/// families change nothing for old ones.
pub(crate) fn split(family: &str, rank: u64) -> Split {
    if mixed(family.bytes().map(u64::from)).is_multiple_of(8) {
        Split::TestFamily
    } else if mixed([rank].into_iter()).is_multiple_of(10) {
        Split::TestSpecification
    } else {
        Split::Train
    }
}

/// Bits that depend on every part (FNV, then a finaliser).
fn mixed(parts: impl Iterator<Item = u64>) -> u64 {
    let mut bits = parts.fold(0xcbf2_9ce4_8422_2325_u64, |bits, part| {
        (bits ^ part).wrapping_mul(0x0100_0000_01b3)
    });
    bits ^= bits >> 31;
    bits = bits.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    bits ^ bits >> 29
}
