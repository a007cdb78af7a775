//! Audio from files and pipes, decoded to samples.

mod decoder;
mod file;
mod gapless;
mod header;
mod link;
mod ogg;
mod opus;
mod pcm;
mod plain;
mod source;
mod write;

pub use file::{Audio, ChannelChoice, check_finite};
pub use pcm::{PcmCoding, PcmFormat};
