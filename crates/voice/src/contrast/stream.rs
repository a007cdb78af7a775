//! Spectral contrast of a recording that is heard twice: the first look finds its loudest levels, the second
//! has the bits of the whole, and neither keeps more than a piece.

use warpsmith_signal::{FrameQueue, Result, SpectrumSettings};

use super::cpu::{ContrastLevels, ContrastSettings, LoudestLevels, SpectralContrast};

/// Contrast piece by piece.
pub struct ContrastStream {
    queue: FrameQueue,
    contrast: SpectralContrast,
}

impl ContrastStream {
    /// A stream; the padding is zeros or none.
    pub fn new(
        settings: SpectrumSettings,
        sample_rate: u32,
        contrast: ContrastSettings,
    ) -> Result<Self> {
        let queue = FrameQueue::new(settings.framing)?;
        let inner = SpectrumSettings {
            framing: queue.inner_framing(),
            ..settings
        };
        Ok(Self {
            contrast: SpectralContrast::with_bands(inner, sample_rate, contrast)?,
            queue,
        })
    }

    /// Bands of a frame.
    pub fn bands(&self) -> usize {
        self.contrast.bands()
    }

    /// Takes the next samples of a first look.
    pub fn look(&mut self, piece: &[f32], loudest: &mut LoudestLevels) -> Result<()> {
        self.queue.push(piece);
        let levels = self.levels(self.queue.ready())?;
        levels.iter().for_each(|levels| loudest.hear(levels));
        Ok(())
    }

    /// Ends a first look.
    pub fn finish_look(mut self, loudest: &mut LoudestLevels) -> Result<()> {
        let frames = self.queue.close();
        let levels = self.levels(frames)?;
        levels.iter().for_each(|levels| loudest.hear(levels));
        Ok(())
    }

    /// Takes the next samples of a second look; appends the frames that they complete, `[frame, band]`, dB.
    pub fn process(
        &mut self,
        piece: &[f32],
        loudest: LoudestLevels,
        out: &mut Vec<f32>,
    ) -> Result<()> {
        self.queue.push(piece);
        let levels = self.levels(self.queue.ready())?;
        append(levels, self.bands(), loudest, out);
        Ok(())
    }

    /// Ends a second look; appends the frames that reach beyond the end.
    pub fn finish(mut self, loudest: LoudestLevels, out: &mut Vec<f32>) -> Result<()> {
        let frames = self.queue.close();
        let levels = self.levels(frames)?;
        append(levels, self.bands(), loudest, out);
        Ok(())
    }

    fn levels(&mut self, frames: usize) -> Result<Option<ContrastLevels>> {
        if frames == 0 {
            return Ok(None);
        }
        let levels = self.contrast.levels(self.queue.frames(frames))?;
        self.queue.remove(frames);
        Ok(Some(levels))
    }
}

fn append(
    levels: Option<ContrastLevels>,
    bands: usize,
    loudest: LoudestLevels,
    out: &mut Vec<f32>,
) {
    let Some(levels) = levels else { return };
    let values = levels.contrast(loudest);
    let frames = values.len() / bands;
    let by_frames = (0..values.len()).map(|at| values[at % bands * frames + at / bands]);
    out.extend(by_frames);
}
