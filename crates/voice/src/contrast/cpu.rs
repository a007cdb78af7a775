//! Spectral contrast on the CPU: the specification.

use warpsmith_signal::{Result, SignalError, SpectrumSettings};

use super::precise::PreciseMagnitudes;
use crate::spectrum::{Density, Stft};

/// Octaves above the lowest band, unless others are chosen.
const OCTAVES: usize = 6;
/// More than any sample rate has.
const MOST_OCTAVES: usize = 30;
/// Magnitudes below count as this.
pub(crate) const FLOOR: f32 = 1e-10;
/// Tops and bottoms are this near the loudest of each.
pub(crate) const RANGE_DB: f32 = 80.0;

/// Bands of a contrast with the default settings.
pub const CONTRAST_BANDS: usize = OCTAVES + 1;

/// Which bands are compared; the default is librosa's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ContrastSettings {
    /// Upper edge of the lowest band, Hz.
    pub lowest_hz: f64,
    /// Octaves above it.
    pub octaves: usize,
    /// Share of a band's bins that are its tops, and that are its bottoms; at least one.
    pub share: f64,
}

impl Default for ContrastSettings {
    fn default() -> Self {
        Self {
            lowest_hz: 200.0,
            octaves: OCTAVES,
            share: 0.02,
        }
    }
}

impl ContrastSettings {
    /// Bands, the lowest among them.
    pub fn bands(&self) -> usize {
        self.octaves + 1
    }

    /// Fails where a number is none that bands could have.
    pub fn checked(self) -> Result<Self> {
        let whole = 0.0 < self.share && self.share < 1.0;
        let octaves = (1..=MOST_OCTAVES).contains(&self.octaves);
        if !(self.lowest_hz >= 1.0 && self.lowest_hz <= 1e9 && octaves && whole) {
            return Err(SignalError::parameter(
                "contrast",
                format!(
                    "{} octaves above {} Hz, share {}",
                    self.octaves, self.lowest_hz, self.share
                ),
                format!(
                    "1 to {MOST_OCTAVES} octaves above 1 Hz or more and a share between 0 and 1 are possible"
                ),
            ));
        }
        Ok(self)
    }
}

/// The bins of a band.
#[derive(Clone, Debug)]
pub(crate) struct Band {
    pub(crate) bins: std::ops::Range<usize>,
    /// How many are averaged at either end.
    pub(crate) ends: usize,
}

/// A planned analysis.
pub struct SpectralContrast {
    stft: Stft,
    precise: Option<PreciseMagnitudes>,
    bands: Vec<Band>,
}

impl SpectralContrast {
    /// Bands below 200 Hz and in the six octaves above, over the spectra of a signal at
    /// `sample_rate`, which must reach into the last: above 12.8 kHz.
    pub fn new(settings: SpectrumSettings, sample_rate: u32) -> Result<Self> {
        Self::with_bands(settings, sample_rate, ContrastSettings::default())
    }

    /// The bands that are chosen, over the spectra of a signal at `sample_rate`, which must reach into the last.
    pub fn with_bands(
        settings: SpectrumSettings,
        sample_rate: u32,
        contrast: ContrastSettings,
    ) -> Result<Self> {
        Ok(Self {
            bands: bands(settings, sample_rate, contrast)?,
            stft: Stft::new(settings)?,
            precise: PreciseMagnitudes::new(settings),
        })
    }

    /// Bands of a frame.
    pub fn bands(&self) -> usize {
        self.bands.len()
    }

    /// `[band, frame]`, dB.
    pub fn compute(&mut self, signal: &[f32]) -> Result<Vec<f32>> {
        let levels = self.levels(signal)?;
        let mut loudest = LoudestLevels::default();
        loudest.hear(&levels);
        Ok(levels.contrast(loudest))
    }

    /// What the contrast is between.
    pub(super) fn levels(&mut self, signal: &[f32]) -> Result<ContrastLevels> {
        let (bins, frames) = self.stft.shape(signal.len());
        self.stft.check_room(signal.len(), size_of::<f32>())?;
        let mut magnitudes = vec![0.0f32; bins * frames];
        self.stft
            .density(signal, Density::Magnitude, &mut magnitudes)?;
        if let Some(precise) = &mut self.precise {
            precise.replace_deep(signal, frames, &mut magnitudes);
        }
        let mut tops = vec![0.0f32; self.bands.len() * frames];
        let mut bottoms = tops.clone();
        let mut column = Vec::new();
        for (index, band) in self.bands.iter().enumerate() {
            for frame in 0..frames {
                column.clear();
                column.extend(
                    band.bins
                        .clone()
                        .map(|bin| magnitudes[bin * frames + frame]),
                );
                column.sort_unstable_by(f32::total_cmp);
                let mean = |part: &[f32]| {
                    let mean = part.iter().sum::<f32>() / part.len().max(1) as f32;
                    10.0 * mean.max(FLOOR).log10()
                };
                let ends = band.ends.min(column.len());
                tops[index * frames + frame] = mean(&column[column.len() - ends..]);
                bottoms[index * frames + frame] = mean(&column[..ends]);
            }
        }
        Ok(ContrastLevels { tops, bottoms })
    }
}

/// Tops and bottoms of the bands, `[band, frame]`, dB.
pub(super) struct ContrastLevels {
    tops: Vec<f32>,
    bottoms: Vec<f32>,
}

impl ContrastLevels {
    /// `[band, frame]`, dB, within a signal whose loudest levels are these.
    pub(super) fn contrast(&self, loudest: LoudestLevels) -> Vec<f32> {
        let (low_top, low_bottom) = (loudest.top - RANGE_DB, loudest.bottom - RANGE_DB);
        self.tops
            .iter()
            .zip(&self.bottoms)
            .map(|(top, bottom)| top.max(low_top) - bottom.max(low_bottom))
            .collect()
    }
}

/// The loudest top and the loudest bottom of a signal, dB.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LoudestLevels {
    pub(super) top: f32,
    pub(super) bottom: f32,
}

impl Default for LoudestLevels {
    fn default() -> Self {
        Self {
            top: f32::NEG_INFINITY,
            bottom: f32::NEG_INFINITY,
        }
    }
}

impl LoudestLevels {
    pub(super) fn hear(&mut self, levels: &ContrastLevels) {
        self.top = levels.tops.iter().copied().fold(self.top, f32::max);
        self.bottom = levels.bottoms.iter().copied().fold(self.bottom, f32::max);
    }
}

/// The bands of the spectra of a signal at `sample_rate`.
pub(crate) fn bands(
    settings: SpectrumSettings,
    sample_rate: u32,
    contrast: ContrastSettings,
) -> Result<Vec<Band>> {
    let ContrastSettings {
        lowest_hz,
        octaves,
        share,
    } = contrast.checked()?;
    let nyquist = f64::from(sample_rate) / 2.0;
    let top = lowest_hz * 2f64.powi(octaves as i32 - 1);
    if top >= nyquist {
        return Err(SignalError::parameter(
            "sample rate",
            format!("{sample_rate} Hz"),
            format!(
                "the highest octave starts at {top} Hz: more than {} Hz",
                2.0 * top
            ),
        ));
    }
    let total = settings.bins();
    let at_least = |hz: f64| {
        let bin = hz * settings.transform as f64 / f64::from(sample_rate);
        (bin.ceil() as usize).min(total)
    };
    let mut bands = Vec::with_capacity(octaves + 1);
    for index in 0..=octaves {
        let edge = |octave: usize| lowest_hz * 2f64.powi(octave as i32);
        let (low, high) = match index {
            0 => (0, edge(0)),
            _ => (at_least(edge(index - 1)), edge(index)),
        };
        // Edges belong to both bands; a band starts one bin early and ends one bin early.
        let past = (at_least(high)
            + usize::from(at_least(high) < total && is_bin(settings, sample_rate, high)))
        .min(total);
        if past <= low + 1 {
            return Err(SignalError::parameter(
                "transform length",
                settings.transform,
                format!("the band below {high} Hz has too few bins"),
            ));
        }
        let start = low.saturating_sub(usize::from(index > 0));
        let end = if index == octaves { total } else { past };
        let ends = (share * (end - start) as f64).round_ties_even() as usize;
        bands.push(Band {
            bins: start..if index == octaves { end } else { end - 1 },
            ends: ends.max(1),
        });
    }
    Ok(bands)
}

/// Whether a bin lies exactly at a frequency.
fn is_bin(settings: SpectrumSettings, sample_rate: u32, hz: f64) -> bool {
    (hz * settings.transform as f64 / f64::from(sample_rate)).fract() == 0.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mel::{Preset, Sizes, Stage};

    #[test]
    fn a_tone_stands_out_in_its_octave_alone_and_silence_nowhere() {
        let rate = 44_100;
        let sizes = Sizes {
            transform: 2048,
            hop: 441,
            filters: 80,
        };
        let spectrum = Preset::Librosa.feature(rate, sizes, Stage::Mel).spectrum;
        let mut contrast = SpectralContrast::new(spectrum, rate).unwrap();
        let signal: Vec<f32> = (0..rate)
            .map(|n| {
                let noise = (n.wrapping_mul(2_654_435_761) >> 8) as f32 / 16_777_216.0 - 0.5;
                (n as f32 * 0.142_476).sin() + 0.01 * noise
            })
            .collect();
        let out = contrast.compute(&signal).unwrap();
        let frames = out.len() / CONTRAST_BANDS;
        let middle: Vec<f32> = out
            .chunks_exact(frames)
            .map(|row| row[frames / 2])
            .collect();
        // 1000 Hz lies in the band from 800 to 1600 Hz.
        let highest = (0..CONTRAST_BANDS).max_by(|a, b| middle[*a].total_cmp(&middle[*b]));
        assert_eq!(highest, Some(3), "{middle:?}");
        assert!(
            contrast
                .compute(&[0.0; 9000])
                .unwrap()
                .iter()
                .all(|db| *db == 0.0)
        );
        assert!(contrast.compute(&[]).unwrap().is_empty());
        assert!(SpectralContrast::new(spectrum, 8_000).is_err());
    }
}
