//! Audio from files and pipes, decoded to samples.

mod decoder;
mod file;

pub use file::{Audio, ChannelChoice, check_finite};
