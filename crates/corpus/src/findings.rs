//! The codes of conclusions about data sets.

use warpsmith_core::Family;

/// What each code about a data set means.
pub static FAMILY: Family = Family::new(include_str!("stories/S.md"));
