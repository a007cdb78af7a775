//! Samples of what runs on a GPU, by device events.

pub mod device_timer;
mod hold;
