//! Specifications, their texts and their numbering.

mod numbering;
mod texts;
