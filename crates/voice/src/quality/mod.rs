//! What a voice is like beyond its pitch: formants, the regularity of its pulses, how far its
//! harmonics stand out, and vibrato.

mod cepstral_prominence;
pub(crate) mod formants;
mod harmonicity;
mod perturbation;
mod pulses;
mod vibrato;

pub use cepstral_prominence::{ProminenceSettings, Trend, cepstral_prominence};
pub(crate) use formants::FORMANTS;
pub use formants::{Formant, FormantSettings, FormantStream, FormantTracker};
pub use harmonicity::{Harmonicity, HarmonicitySettings};
pub use perturbation::Perturbation;
pub use pulses::find_pulses;
pub use vibrato::{Vibrato, find_vibrato};
