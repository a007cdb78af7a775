//! Audio from files and pipes, decoded to samples.

mod decoder;
mod file;
mod header;
mod pcm;

pub use file::{Audio, ChannelChoice, check_finite};
pub use pcm::{PcmCoding, PcmFormat};
