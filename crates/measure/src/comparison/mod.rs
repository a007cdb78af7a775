//! Whether B is slower, faster or the same as A: paired rounds, verdicts, several candidates.

pub mod adjacent_pairs;
pub mod candidates;
pub mod clock;
pub mod evaluation;
pub mod mann_whitney;
pub mod paired_rounds;
mod readings;
pub mod stored;
pub mod turns;
pub mod unpaired;
