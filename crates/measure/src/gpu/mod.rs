//! Samples of what runs on a GPU, by device events.

mod clock_stamps;
pub mod device_timer;
mod hold;
pub mod self_check;
mod spin;
