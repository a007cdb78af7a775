//! Audio files, pitch that is known by construction, and bits that depend on a frame's samples alone.

mod audio_files;
mod invariance;
mod pitch_truth;
