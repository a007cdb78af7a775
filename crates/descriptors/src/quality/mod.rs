//! What a voice is like beyond its pitch: the regularity of its pulses, how far its harmonics stand
//! out, and vibrato.

mod cepstral_prominence;
mod figures;
mod harmonicity;
mod perturbation;
mod pulses;
mod vibrato;

pub use cepstral_prominence::{ProminenceSettings, ProminenceStream, Trend, cepstral_prominence};
pub use figures::{Figure, PITCH_STEP, quality_figures, quality_figures_of};
pub use harmonicity::{Harmonicity, HarmonicitySettings, HarmonicityStream};
pub use perturbation::Perturbation;
pub use pulses::{find_pulses, find_pulses_of};
pub use vibrato::{Vibrato, find_vibrato};
