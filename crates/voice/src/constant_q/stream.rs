//! Constant-Q spectra of a signal that is still arriving: stretches with all that their frames see on both sides.

use warpsmith_signal::Result;

use super::cpu::{ConstantQ, ConstantQSettings};

/// How many times as long as what a frame sees on a side a stretch is: the rest is computed twice.
const STRETCHES: usize = 16;

/// An analysis with what it still needs of the signal. Pieces of a sound give the bits of the whole.
pub struct ConstantQStream {
    analysis: ConstantQ,
    hop: usize,
    /// Frames that a frame sees on either side.
    reach: usize,
    /// Samples from `lead` frames before the next one on.
    pending: Vec<f32>,
    lead: usize,
}

impl ConstantQStream {
    /// An analysis that has heard nothing.
    pub fn new(sample_rate: u32, settings: ConstantQSettings) -> Result<Self> {
        let analysis = ConstantQ::new(sample_rate, settings)?;
        Ok(Self {
            hop: settings.hop,
            reach: analysis.reach().div_ceil(settings.hop) + 1,
            analysis,
            pending: Vec::new(),
            lead: 0,
        })
    }

    /// Takes the next samples; appends the spectra that are complete, frame by frame.
    pub fn process(&mut self, piece: &[f32], out: &mut Vec<[f32; 2]>) {
        self.pending.extend_from_slice(piece);
        let count = STRETCHES * self.reach;
        let stretch = |lead: usize| (lead + count + self.reach) * self.hop;
        while self.pending.len() >= stretch(self.lead) {
            let samples = &self.pending[..stretch(self.lead)];
            let (spectra, frames) = self.analysis.compute(samples);
            append(&spectra, frames, self.lead..self.lead + count, out);
            let kept = (self.lead + count).min(self.reach);
            self.pending.drain(..(self.lead + count - kept) * self.hop);
            self.lead = kept;
        }
    }

    /// Ends the signal; appends the spectra that are left.
    pub fn finish(mut self, out: &mut Vec<[f32; 2]>) {
        let (spectra, frames) = self.analysis.compute(&self.pending);
        append(&spectra, frames, self.lead.min(frames)..frames, out);
    }
}

/// Appends some frames of `[bin, frame]`, frame by frame.
fn append(
    spectra: &[[f32; 2]],
    frames: usize,
    wanted: std::ops::Range<usize>,
    out: &mut Vec<[f32; 2]>,
) {
    for frame in wanted {
        out.extend(spectra[frame..].iter().step_by(frames));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_give_the_bits_of_the_whole() {
        let mut state = 1u32;
        let signal: Vec<f32> = (0..1_000_037u32)
            .map(|n| {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                (n as f32 * 0.0712).sin() * 0.5 + (state >> 8) as f32 / 33_554_432.0
            })
            .collect();
        for (rate, hop, bins) in [(16_000, 160, 84), (22_050, 512, 84), (44_100, 441, 30)] {
            let settings = ConstantQSettings {
                bins,
                lowest_hz: if bins == 84 { 32.703 } else { 440.0 },
                ..ConstantQSettings::piano(hop)
            };
            let mut whole = ConstantQ::new(rate, settings).unwrap();
            for length in [0, 1, 3_000, signal.len()] {
                let (spectra, frames) = whole.compute(&signal[..length]);
                let mut expected = Vec::new();
                append(&spectra, frames, 0..frames, &mut expected);
                let mut stream = ConstantQStream::new(rate, settings).unwrap();
                let mut found = Vec::new();
                for piece in signal[..length].chunks(60_001) {
                    stream.process(piece, &mut found);
                }
                let early = found.len();
                stream.finish(&mut found);
                assert_eq!(found.len(), expected.len(), "{rate} {length}");
                assert!(found == expected, "{rate} Hz, hop {hop}, {length} samples");
                assert!(length < signal.len() || early > expected.len() / 3);
            }
        }
    }
}
