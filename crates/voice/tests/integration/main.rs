//! Pitch that is known by construction, and bits that depend on a frame's samples alone.

mod invariance;
mod pitch_truth;
mod shifted_pitch;
