//! The stories behind the findings of fleets, for `warpsmith explain`.

use warpsmith_core::Family;

/// What each code of `warpsmith fleet` means.
pub static FAMILY: Family = Family::new(include_str!("stories/F.md"));
