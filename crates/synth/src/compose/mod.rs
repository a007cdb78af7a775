//! What is played: form, harmony, voicings, melody, percussion, and the composer that joins them.

pub mod composer;
mod form;
mod harmony;
mod humanise;
mod melody;
mod motif;
mod percussion;
mod progression;
pub mod scale;
mod voicing;
