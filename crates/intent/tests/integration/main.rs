//! Specifications, their texts and their numbering.

mod mistakes;
mod numbering;
mod texts;
