//! The normalised autocorrelation of windowed frames after Boersma (1993): that of the windowed frame
//! over that of the window, so that a periodic sound reaches 1 at its period.
//!
//! Frames lie as in Praat, as many as fit, centred in the signal as a whole, each around a point
//! between two samples; or around every sample whose number is a multiple of the hop.

mod cpu;
mod sinc_peak;
mod stretch;
mod warp_memory;
mod windowed_frames;

pub use cpu::CorrelationWindow;
pub(crate) use cpu::{Alignment, Autocorrelation, Frame, Placement};
pub(crate) use sinc_peak::sinc_peak;
pub(crate) use stretch::{ArrivingFrames, ArrivingPlaces, Stretch};
pub(crate) use warp_memory::{WarpMemory, shape_of};
pub(crate) use windowed_frames::WindowedFrames;
