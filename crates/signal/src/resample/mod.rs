//! Any sample rate to any other: a polyphase filter, a Kaiser-windowed sinc, in f32.
//!
//! Output sample `m` lies at input position `m·down/up`; the rates are reduced to `up/down` first.
//! Positions repeat after `up` outputs, so there are `up` filters; each is normalised to a sum of
//! one, so that a constant stays exactly what it was. [`BrickWall`] is the other way: slow, whole, and sharp.

mod brick_wall;
mod polyphase;
mod resampler;
mod stream;
mod windowed_sinc;

pub use brick_wall::{BrickWall, BrickWallStream};
pub use resampler::{Quality, Resampler};
pub use stream::ResampleStream;
