//! Rhythm: tempogram, tempo and beats, as librosa 0.11 defines them.
//!
//! Everything starts from how much the level rises in every frame ([`envelope`]). A sound that
//! repeats makes that curve similar to itself one period later, which the tempogram measures; the
//! tempo is the period with the best average, and beats are the path that hits the most rises while
//! it keeps that period.

mod beats;
mod envelope;
mod settings;
mod tempo;
mod tempogram;

pub use beats::{Beats, beats_at, find_beats, find_beats_of};
pub use envelope::{Over, each_rise, envelope, envelope_of};
pub use settings::RhythmSettings;
pub use tempo::{find_tempo, tempo_of};
pub use tempogram::{Tempogram, TempogramStream, lag_bpm};
