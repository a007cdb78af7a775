//! Finds the tunables that make a kernel fastest: a space of points, a search through it, a race.

mod forest;
mod race;
mod search;
mod space;

pub use race::{Lane, race};
pub use search::Search;
pub use space::{Point, Space};
