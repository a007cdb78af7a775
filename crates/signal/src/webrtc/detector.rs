//! The detector: rates, frames, the decision over all bands, and hang-over.

use crate::{Quality, Resampler, Result, SignalError};

use super::bands::{BandSplitter, LEAST_ENERGY, LONGEST, Levels, PIECE};
use super::decimation::{Halving, Sixth};
use super::mixture::Mixture;
use super::tables::{BANDS, MODES, TABLES};

/// How readily a frame is taken for speech.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WebrtcMode {
    /// Mode 0: misses the least speech.
    #[default]
    Quality,
    /// Mode 1.
    LowBitrate,
    /// Mode 2.
    Aggressive,
    /// Mode 3: takes the least noise for speech.
    VeryAggressive,
}

/// Length of the frames that [`WebrtcVad::decide`] cuts a signal into.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FrameMillis {
    /// 10 ms.
    #[default]
    Ten,
    /// 20 ms.
    Twenty,
    /// 30 ms.
    Thirty,
}

impl FrameMillis {
    /// Number of 10 ms blocks.
    fn blocks(self) -> usize {
        match self {
            Self::Ten => 1,
            Self::Twenty => 2,
            Self::Thirty => 3,
        }
    }

    /// Seconds.
    pub fn seconds(self) -> f64 {
        0.01 * self.blocks() as f64
    }
}

/// Frames of speech after which the longer hang-over holds.
const LONG_SPEECH: i16 = 6;
/// What signals at other rates are resampled to.
const FALLBACK_RATE: u32 = 16_000;

/// A detector with its state; decisions are those of `libfvad` and `webrtcvad`.
#[derive(Clone, Debug)]
pub struct WebrtcVad {
    sample_rate: u32,
    mode: WebrtcMode,
    /// 32 → 16 and 16 → 8 kHz.
    halvings: [Halving; 2],
    sixth: Sixth,
    splitter: BandSplitter,
    mixtures: [Mixture; BANDS],
    /// Frames that were not silent.
    heard: i32,
    /// Frames of speech in a row, up to [`LONG_SPEECH`].
    run: i16,
    /// Frames of hang-over that are left.
    hang: i16,
}

impl WebrtcVad {
    /// A detector for 8, 16, 32 or 48 kHz.
    pub fn new(sample_rate: u32, mode: WebrtcMode) -> Result<Self> {
        if !matches!(sample_rate, 8_000 | 16_000 | 32_000 | 48_000) {
            return Err(SignalError::parameter(
                "sample rate",
                format!("{sample_rate} Hz"),
                "this detector takes 8000, 16000, 32000 and 48000 Hz",
            ));
        }
        Ok(Self {
            sample_rate,
            mode,
            halvings: Default::default(),
            sixth: Sixth::default(),
            splitter: BandSplitter::default(),
            mixtures: std::array::from_fn(|band| Mixture::new(&TABLES[band])),
            heard: 0,
            run: 0,
            hang: 0,
        })
    }

    /// Whether the next frame, of 10, 20 or 30 ms, holds speech.
    pub fn process(&mut self, frame: &[i16]) -> Result<bool> {
        let block = self.sample_rate as usize / 100;
        let blocks = frame.len() / block;
        if !frame.len().is_multiple_of(block) || !(1..=3).contains(&blocks) {
            return Err(SignalError::parameter(
                "frame",
                format!("{} samples", frame.len()),
                format!(
                    "10, 20 or 30 ms have {block}, {} or {}",
                    2 * block,
                    3 * block
                ),
            ));
        }
        let pieces = 5 * blocks;
        let levels = match self.sample_rate {
            16_000 => {
                let mut wide = frame.as_chunks::<{ 2 * PIECE }>().0.iter();
                let halving = &mut self.halvings[1];
                self.splitter.levels(pieces, |narrow| {
                    if let Some(wide) = wide.next() {
                        halving.process(wide, narrow);
                    }
                })
            }
            48_000 => {
                let mut narrow = [0i16; LONGEST];
                // The original decimates the first 10 ms of a longer frame again and again; so do
                // we, for the same decisions.
                if let Some(first) = frame.first_chunk() {
                    for out in narrow[..80 * blocks].chunks_exact_mut(80) {
                        self.sixth.process(first, out);
                    }
                }
                self.levels_at_8_khz(&narrow[..80 * blocks])
            }
            32_000 => {
                let (mut wide, mut narrow) = ([0i16; 2 * LONGEST], [0i16; LONGEST]);
                let (wide, narrow) = (&mut wide[..160 * blocks], &mut narrow[..80 * blocks]);
                self.halvings[0].process(frame, wide);
                self.halvings[1].process(wide, narrow);
                self.levels_at_8_khz(narrow)
            }
            _ => self.levels_at_8_khz(frame),
        };
        Ok(self.decide_levels(&levels, blocks - 1))
    }

    fn levels_at_8_khz(&mut self, frame: &[i16]) -> Levels {
        let pieces = frame.as_chunks::<PIECE>().0;
        let mut each = pieces.iter();
        self.splitter.levels(pieces.len(), |narrow| {
            if let Some(piece) = each.next() {
                *narrow = *piece;
            }
        })
    }

    /// A fresh detector's decisions for every whole frame of `signal`, full scale at 1. A rate that
    /// the detector does not take is resampled to 16 kHz first.
    pub fn decide(
        signal: &[f32],
        sample_rate: u32,
        mode: WebrtcMode,
        length: FrameMillis,
    ) -> Result<Vec<bool>> {
        let (mut vad, resampled);
        let signal = match Self::new(sample_rate, mode) {
            Ok(native) => {
                vad = native;
                signal
            }
            Err(_) => {
                vad = Self::new(FALLBACK_RATE, mode)?;
                let resampler = Resampler::new(sample_rate, FALLBACK_RATE, Quality::High)?;
                resampled = resampler.process(signal);
                &resampled
            }
        };
        let samples = vad.sample_rate as usize / 100 * length.blocks();
        let mut frame = vec![0i16; samples];
        signal
            .chunks_exact(samples)
            .map(|chunk| {
                for (slot, x) in frame.iter_mut().zip(chunk) {
                    *slot = integer(*x);
                }
                vad.process(&frame)
            })
            .collect()
    }

    /// Samples as the detector takes them, of a signal whose full scale is 1.
    pub fn integers(signal: &[f32]) -> Vec<i16> {
        signal.iter().map(|x| integer(*x)).collect()
    }

    /// Decides a frame by its levels; `length` is its column in the tables.
    fn decide_levels(&mut self, levels: &Levels, length: usize) -> bool {
        let table = &MODES[self.mode as usize];
        let mut speech = false;
        if levels.energy > LEAST_ENERGY {
            let opinions: [_; BANDS] =
                std::array::from_fn(|band| self.mixtures[band].judge(levels.bands[band]));
            let mut sum = 0;
            for (opinion, band) in opinions.iter().zip(&TABLES) {
                sum += opinion.log_ratio * band.weight;
                speech |= 4 * opinion.log_ratio > table.one_band[length];
            }
            speech |= sum >= table.all_bands[length];
            // A band's speech may rise to the limit of the band below it.
            let mut highest = 12_800;
            for (band, mixture) in self.mixtures.iter_mut().enumerate() {
                mixture.learn(
                    &TABLES[band],
                    band as i16,
                    levels.bands[band],
                    &opinions[band],
                    speech,
                    (self.heard, highest + 640),
                );
                highest = TABLES[band].highest_speech;
            }
            self.heard = self.heard.saturating_add(1);
        }
        if speech {
            self.run = (self.run + 1).min(LONG_SPEECH + 1);
            let long = self.run > LONG_SPEECH;
            self.run = self.run.min(LONG_SPEECH);
            self.hang = table.hang[usize::from(long)][length];
            return true;
        }
        self.run = 0;
        let hanging = self.hang > 0;
        self.hang -= i16::from(hanging);
        hanging
    }
}

/// A sample of a signal whose full scale is 1; what is beyond it is clipped.
fn integer(x: f32) -> i16 {
    // A cast of a float saturates.
    (x * 32_768.0).round_ties_even() as i16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn silence_is_never_speech_and_a_loud_tone_is() {
        for (rate, mode) in [
            (8_000, WebrtcMode::Quality),
            (16_000, WebrtcMode::LowBitrate),
            (32_000, WebrtcMode::Aggressive),
            (48_000, WebrtcMode::VeryAggressive),
        ] {
            for length in [FrameMillis::Ten, FrameMillis::Twenty, FrameMillis::Thirty] {
                let silent = vec![0.0; rate as usize];
                let quiet = WebrtcVad::decide(&silent, rate, mode, length).unwrap();
                assert_eq!(quiet.len(), (1.0 / length.seconds()).floor() as usize);
                assert!(quiet.iter().all(|speech| !speech));
            }
        }
        let tone: Vec<f32> = (0..16_000).map(|n| 0.5 * (n as f32 * 0.25).sin()).collect();
        let loud = WebrtcVad::decide(&tone, 16_000, WebrtcMode::Quality, FrameMillis::Ten).unwrap();
        // A steady tone becomes the noise after a while.
        assert!(loud[2..8].iter().all(|speech| *speech));
    }

    #[test]
    fn frames_of_other_lengths_and_rates_are_refused_and_other_rates_resampled() {
        assert!(WebrtcVad::new(44_100, WebrtcMode::Quality).is_err());
        let mut vad = WebrtcVad::new(16_000, WebrtcMode::Quality).unwrap();
        for samples in [0, 1, 159, 161, 640] {
            assert!(vad.process(&vec![0; samples]).is_err(), "{samples}");
        }
        let signal = vec![0.0; 44_100];
        let decisions =
            WebrtcVad::decide(&signal, 44_100, WebrtcMode::Quality, FrameMillis::Ten).unwrap();
        assert_eq!(decisions.len(), 100);
    }
}
