//! What is played: form, harmony, voicings, melody, pulse, bells, percussion, texture, and the
//! composer that joins them.

mod bells;
pub mod composer;
mod form;
mod harmony;
mod humanise;
mod melody;
mod motif;
mod percussion;
mod progression;
mod pulse;
pub mod scale;
mod texture;
mod voicing;
