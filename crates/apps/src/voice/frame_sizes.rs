//! Sizes of frames where they are ours by default and librosa's on request.

use std::cell::Cell;

use clap::{Args, ValueEnum};
use warpsmith_console::global::Global;
use warpsmith_console::output::note;
use warpsmith_voice::{Preset, Sizes};

/// Points and hop of the spectra.
#[derive(Args)]
pub(super) struct FrameSizes {
    /// Points of the transform; default: the power of two from 32 ms on.
    #[arg(long)]
    transform: Option<usize>,
    /// Samples between frames; default: 10 ms.
    #[arg(long)]
    hop: Option<usize>,
    /// Take librosa's sizes where none are given: 2048 points, hop 512; a note says them.
    #[arg(long, value_enum, value_name = "PEER")]
    like: Option<Peer>,
    /// The rate whose sizes were said last.
    #[arg(skip)]
    said: Cell<Option<u32>>,
}

/// Whose sizes are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Peer {
    /// librosa 0.11.
    Librosa,
}

impl FrameSizes {
    /// The sizes at a rate.
    pub(super) fn over(&self, rate: u32) -> Sizes {
        let own = match self.like {
            Some(Peer::Librosa) => Preset::Librosa.own_sizes(rate),
            None => Sizes::for_speech(rate),
        };
        Sizes {
            transform: self.transform.unwrap_or(own.transform),
            hop: self.hop.unwrap_or(own.hop),
            ..own
        }
    }

    /// Whether a peer's defaults are wanted.
    pub(super) fn is_like_librosa(&self) -> bool {
        self.like.is_some()
    }

    /// Says which sizes `--like` chose, once for a rate.
    pub(super) fn explain(&self, global: &Global, rate: u32) {
        if self.is_like_librosa() && self.said.replace(Some(rate)) != Some(rate) {
            let Sizes { transform, hop, .. } = self.over(rate);
            note(
                global,
                &format!("note: like librosa: {transform} points, hop {hop} at {rate} Hz"),
            );
        }
    }
}
