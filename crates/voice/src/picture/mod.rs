//! Pictures of sounds: a spectrogram with its pitch and its stretches of speech.

mod spectrogram;

pub use spectrogram::SpectrogramPicture;
