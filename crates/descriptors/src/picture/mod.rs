//! A picture of a recording: lanes of wave, spectrogram, pitch and speech over one axis of time, with
//! scales and a colour bar; as SVG, as PNG, and as a page that plays the sound with a cursor on it.
//!
//! The recording is analysed once ([`Picture::of`]) and laid out as marks, which each format draws.

mod colour;
mod glyphs;
mod lanes;
mod layout;
mod marks;
mod page;
mod raster;
mod scale;
mod svg;

use warpsmith_voice::{Result, SignalError};

use lanes::Lanes;
use marks::Mark;

pub use lanes::Lane;
pub use scale::FrequencyScale;

/// Choices of a picture.
#[derive(Clone, Debug, PartialEq)]
pub struct PictureSettings {
    /// Lanes from the top.
    pub lanes: Vec<Lane>,
    /// Pixels of the axis of time; `None` is one to 10 ms within bounds.
    pub width: Option<usize>,
    /// Pixels of the spectrogram; the other lanes follow.
    pub height: usize,
    /// How frequencies lie on the spectrogram.
    pub scale: FrequencyScale,
    /// The highest frequency of the spectrogram, Hz; `None` is half the sample rate.
    pub highest_hz: Option<f64>,
    /// Levels further below the loudest are black, dB.
    pub range_db: f32,
}

impl Default for PictureSettings {
    fn default() -> Self {
        Self {
            lanes: Lane::ALL.to_vec(),
            width: None,
            height: 320,
            scale: FrequencyScale::Mel,
            highest_hz: None,
            range_db: 80.0,
        }
    }
}

/// Pixels of the axis of time, and of the spectrogram.
const WIDTHS: std::ops::RangeInclusive<usize> = 100..=20_000;
const HEIGHTS: std::ops::RangeInclusive<usize> = 50..=4000;
/// Width where none is given: at least, at most.
const OWN_WIDTHS: (usize, usize) = (600, 2000);

impl PictureSettings {
    fn checked(&self, sample_rate: u32) -> Result<()> {
        let pixels = |name, value: usize, range: std::ops::RangeInclusive<usize>| {
            if range.contains(&value) {
                return Ok(());
            }
            let (least, most) = range.into_inner();
            let reason = format!("{least} to {most} pixels are possible");
            Err(SignalError::parameter(name, value, reason))
        };
        pixels("width", self.width.unwrap_or(OWN_WIDTHS.0), WIDTHS)?;
        pixels("height", self.height, HEIGHTS)?;
        if self.lanes.is_empty() || self.lanes.len() > Lane::ALL.len() {
            let reason = "one to four lanes are possible";
            return Err(SignalError::parameter("lanes", self.lanes.len(), reason));
        }
        if !(1.0..=300.0).contains(&self.range_db) {
            let reason = "1 to 300 dB are possible";
            return Err(SignalError::parameter("range", self.range_db, reason));
        }
        let half = f64::from(sample_rate) / 2.0;
        if let Some(hertz) = self.highest_hz
            && !(hertz >= 100.0 && hertz <= half)
        {
            let reason = format!("100 to {half} Hz are possible at this sample rate");
            return Err(SignalError::parameter("highest frequency", hertz, reason));
        }
        Ok(())
    }
}

/// A recording that is laid out.
pub struct Picture {
    width: usize,
    height: usize,
    marks: Vec<Mark>,
    /// Where the axis of time begins, and its pixels.
    axis: (usize, usize),
    seconds: f64,
    title: String,
}

impl Picture {
    /// Analyses `signal` and lays it out under `title`.
    pub fn of(
        signal: &[f32],
        sample_rate: u32,
        title: &str,
        settings: &PictureSettings,
    ) -> Result<Self> {
        settings.checked(sample_rate)?;
        let seconds = signal.len() as f64 / f64::from(sample_rate.max(1));
        let own = (100.0 * seconds) as usize;
        let columns = settings
            .width
            .unwrap_or_else(|| own.clamp(OWN_WIDTHS.0, OWN_WIDTHS.1));
        let lanes = Lanes::of(signal, sample_rate, columns, settings)?;
        Ok(layout::lay_out(&lanes, columns, seconds, title, settings))
    }

    /// Width and height, pixels.
    pub fn size(&self) -> (usize, usize) {
        (self.width, self.height)
    }
}

#[cfg(test)]
mod tests;
