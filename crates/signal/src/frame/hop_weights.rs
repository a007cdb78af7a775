//! What undoes the windows of overlapping frames: one over `Σ w²` of those that cover a sample.
//!
//! Sample `q·hop + j` of frame `f` is sample `j` of hop `f + q`: wherever all frames reach that ever do, the
//! weights of every hop are the same.

use super::spectrum::SpectrumSettings;

/// The weights of a hop, for one analysis.
pub(super) struct HopWeights {
    hop: usize,
    window: Vec<f32>,
    /// Of a hop that all frames reach.
    whole: Vec<f32>,
    /// Of the last hop that was requested where they do not.
    edge: Vec<f32>,
}

impl HopWeights {
    pub(super) fn new(settings: &SpectrumSettings, window: &[f32]) -> Self {
        let mut weights = Self {
            hop: settings.framing.hop,
            window: window.to_vec(),
            whole: Vec::new(),
            edge: Vec::new(),
        };
        let reach = weights.reach();
        weights.sum_up(reach - 1, reach);
        weights.whole = weights.edge.clone();
        weights
    }

    /// Hops that a frame reaches.
    pub(super) fn reach(&self) -> usize {
        self.window.len().div_ceil(self.hop)
    }

    /// The weights of hop `number` under so many frames, sample by sample as far as windows go.
    #[inline(always)]
    pub(super) fn of(&mut self, number: usize, frames: usize) -> &[f32] {
        if number + 1 >= self.reach() && number < frames {
            return &self.whole;
        }
        self.sum_up(number, frames);
        &self.edge
    }

    fn sum_up(&mut self, number: usize, frames: usize) {
        self.edge.clear();
        self.edge.resize(self.hop.min(self.window.len()), 0.0);
        for frame in (number + 1).saturating_sub(self.reach())..frames.min(number + 1) {
            let window = self.window.chunks(self.hop).nth(number - frame);
            for (sum, w) in self.edge.iter_mut().zip(window.unwrap_or(&[])) {
                *sum += w * w;
            }
        }
        for sum in &mut self.edge {
            // Where no window is, nothing was added.
            *sum = if *sum <= f32::MIN_POSITIVE {
                1.0
            } else {
                1.0 / *sum
            };
        }
    }
}
