//! Voice activity by a likelihood ratio over frequency bands (Sohn, Kim and Sung 1999), confirmed by
//! periodicity: rustling and typing are as loud as speech, but do not repeat themselves.
//!
//! The signal's own distribution gives the noise: a low percentile of each band's smoothed power, but
//! not less than a white noise `range_db` below the loud passages of the densest band, so that faint
//! sounds of a quiet recording, chairs and clicks, are not speech. A frame is periodic where the top of
//! the normalised autocorrelation below 2 kHz is 2.5 times as high as in the recording's less periodic
//! frames, within bounds. This looks at the whole signal, or twice at a
//! long one, which [`StatisticalStream`] keeps as 12 powers to 10 ms; what is still arriving is for
//! [`warpsmith_signal::EnergyVad`] or [`warpsmith_signal::WebrtcVad`].

use warpsmith_signal::{Bridging, Quality, ResampleStream, Resampler, Result, with_room};

use super::periodicity::{ArrivingTops, Periodicity};
use crate::mel::MelFeature;
use crate::mel::{Compression, FeatureSettings, Layout, MelStream};
use crate::mel::{MelNorm, MelScale, MelSettings, MelSlope};
use crate::mel::{Preset, Sizes, Stage};
use crate::pitch::PitchRange;

/// Bands between 100 Hz and 4 kHz.
const BANDS: usize = 12;
/// How much of the last frame's estimate of the speech-to-noise ratio is kept.
const MEMORY: f32 = 0.98;
/// Powers below count as this: −120 dBFS.
const FLOOR: f32 = 1e-12;

/// Periodicity is looked for at this rate, in frames 20 ms apart: a voice's first harmonics are below,
/// most of a white noise is above.
const PERIODICITY_HZ: u32 = 4000;
const PERIODICITY_HOP: usize = 80;
const VOICES: PitchRange = PitchRange {
    low_hz: 64.0,
    high_hz: 400.0,
};
/// The share of the frames below the level that is compared with, the factor above it, and the least
/// and highest bound.
const BACKGROUND: f64 = 0.3;
const FACTOR: f32 = 2.5;
const BOUNDS: (f32, f32) = (0.3, 0.7);

/// The choices of the detector.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StatisticalSettings {
    /// Mean log likelihood ratio from which on a periodic frame is speech.
    pub threshold: f32,
    /// How far below the loud passages noise is looked for, dB; a white noise that much below counts
    /// as there.
    pub range_db: f32,
    /// What is done to gaps and edges, in 10 ms frames.
    pub bridging: Bridging,
}

impl Default for StatisticalSettings {
    fn default() -> Self {
        Self {
            threshold: 0.3,
            range_db: 20.0,
            bridging: Bridging {
                gap: 150,
                pad: 20,
                shortest: 1,
            },
        }
    }
}

/// The powers of the bands, `[frame, band]`.
fn bands(sample_rate: u32) -> FeatureSettings {
    let sizes = Sizes {
        filters: BANDS,
        ..Sizes::for_speech(sample_rate)
    };
    FeatureSettings {
        compression: Compression::None,
        layout: Layout::FramesFirst,
        mel: MelSettings {
            filters: BANDS,
            low_hz: 100.0f64.min(f64::from(sample_rate) / 8.0),
            high_hz: Some(4000.0f64.min(f64::from(sample_rate) / 2.0)),
            scale: MelScale::Htk,
            norm: MelNorm::Peak,
            slope: MelSlope::Hertz,
        },
        ..Preset::Librosa.feature(sample_rate, sizes, Stage::Mel)
    }
}

/// A planned detector; frames are 10 ms apart.
pub struct StatisticalVad {
    bands: MelFeature,
    narrow: Resampler,
    periodicity: Periodicity,
    judge: Judge,
}

impl StatisticalVad {
    /// A detector for signals at `sample_rate`.
    pub fn new(sample_rate: u32, settings: StatisticalSettings) -> Result<Self> {
        let bands = MelFeature::new(bands(sample_rate))?;
        Ok(Self {
            judge: Judge::new(settings, &bands),
            bands,
            narrow: Resampler::new(sample_rate, PERIODICITY_HZ, Quality::Fast)?,
            periodicity: Periodicity::new(PERIODICITY_HZ, PERIODICITY_HOP, VOICES)?,
        })
    }

    /// The mean log likelihood ratio of each frame; 0 throughout for silence.
    pub fn ratios(&mut self, signal: &[f32]) -> Result<Vec<f32>> {
        Ok(self.judge.ratios(&self.bands.compute(signal)?))
    }

    /// One decision to a 10 ms frame.
    pub fn decide(&mut self, signal: &[f32]) -> Result<Vec<bool>> {
        let powers = self.bands.compute(signal)?;
        let tops = self.periodicity.of(&self.narrow.process(signal));
        Ok(self.judge.decide(powers, &tops))
    }
}

/// The same detector for a signal that is heard piece by piece, of a length that is known.
pub struct StatisticalStream {
    bands: MelStream,
    powers: Vec<f32>,
    narrow: ResampleStream,
    narrowed: Vec<f32>,
    tops: ArrivingTops,
    judge: Judge,
}

impl StatisticalStream {
    /// A detector for a signal of so many samples, none of which was heard.
    pub fn new(sample_rate: u32, settings: StatisticalSettings, samples: usize) -> Result<Self> {
        let vad = StatisticalVad::new(sample_rate, settings)?;
        let (bands_each, frames) = vad.bands.shape(samples);
        Ok(Self {
            bands: MelStream::in_bulk(bands(sample_rate))?,
            // Growing, it would leave its old memory behind.
            powers: with_room(bands_each * frames),
            tops: ArrivingTops::new(vad.periodicity, vad.narrow.output_length(samples)),
            narrow: ResampleStream::new(vad.narrow),
            narrowed: Vec::new(),
            judge: vad.judge,
        })
    }

    /// Takes the next samples.
    pub fn process(&mut self, piece: &[f32]) -> Result<()> {
        self.narrow.process(piece, &mut self.narrowed);
        self.tops.push(&self.narrowed);
        self.narrowed.clear();
        self.bands.process(piece, &mut self.powers)
    }

    /// One decision to a 10 ms frame, with the bits of [`StatisticalVad::decide`].
    pub fn finish(mut self) -> Result<Vec<bool>> {
        self.narrow.finish(&mut self.narrowed);
        self.tops.push(&self.narrowed);
        self.bands.finish(&mut self.powers)?;
        Ok(self.judge.decide(self.powers, &self.tops.finish()))
    }
}

/// What decides when all is heard.
struct Judge {
    settings: StatisticalSettings,
    /// What a white noise of density 1 has in each band.
    widths: Vec<f32>,
}

impl Judge {
    fn new(settings: StatisticalSettings, bands: &MelFeature) -> Self {
        let filters = bands.bank().filters().iter();
        Self {
            settings,
            widths: filters
                .map(|filter| filter.weights.iter().sum::<f32>().max(f32::MIN_POSITIVE))
                .collect(),
        }
    }

    fn decide(&self, powers: Vec<f32>, tops: &(usize, Vec<f32>)) -> Vec<bool> {
        let ratios = self.ratios(&powers);
        // The largest part of what is kept has served.
        drop(powers);
        let periodic = periodic(tops, ratios.len());
        let raw: Vec<bool> = ratios
            .iter()
            .zip(periodic)
            .map(|(ratio, periodic)| *ratio > self.settings.threshold && periodic)
            .collect();
        self.settings.bridging.apply(&raw)
    }

    /// Of powers, `[frame, band]`.
    fn ratios(&self, powers: &[f32]) -> Vec<f32> {
        let (frames, _) = powers.as_chunks::<BANDS>();
        let noises = self.noises(frames);
        let mut kept = [0.0f32; BANDS];
        let ratio = |frame: &[f32; BANDS]| {
            // The logarithm of a product is the sum of the logarithms, and one of them is enough.
            let (mut sum, mut product, mut logarithm) = (0.0f32, 1.0f64, 0.0f64);
            for ((power, noise), kept) in frame.iter().zip(&noises).zip(&mut kept) {
                let posterior = power.max(FLOOR) / *noise;
                let prior = MEMORY * *kept + (1.0 - MEMORY) * (posterior - 1.0).max(0.0);
                let gain = prior / (1.0 + prior);
                *kept = gain * gain * posterior;
                sum += posterior * gain;
                product *= 1.0 + f64::from(prior);
                if product > 1e200 {
                    (logarithm, product) = (logarithm + product.ln(), 1.0);
                }
            }
            logarithm += product.ln();
            (sum - logarithm as f32) / BANDS as f32
        };
        frames.iter().map(ratio).collect()
    }

    /// The noise power of each band.
    fn noises(&self, frames: &[[f32; BANDS]]) -> Vec<f32> {
        if frames.is_empty() {
            return Vec::new();
        }
        let levels: Vec<(f32, f32)> = (0..BANDS)
            .map(|band| quiet_and_loud(frames.iter().map(|frame| frame[band])))
            .collect();
        let density = levels
            .iter()
            .zip(&self.widths)
            .map(|((_, loud), width)| loud / width)
            .fold(0.0, f32::max);
        let white = density * 10f32.powf(-self.settings.range_db / 10.0);
        levels
            .iter()
            .zip(&self.widths)
            .map(|((quiet, _), width)| quiet.max(white * width).max(FLOOR))
            .collect()
    }
}

/// Whether each of the first 10 ms frames is periodic; all are where the signal is too short to tell.
fn periodic((first, tops): &(usize, Vec<f32>), frames: usize) -> Vec<bool> {
    if tops.is_empty() {
        return vec![true; frames];
    }
    let place = ((tops.len() - 1) as f64 * BACKGROUND) as usize;
    let background = ranked(&mut tops.clone(), place);
    let bound = (FACTOR * background).clamp(BOUNDS.0, BOUNDS.1);
    // Frames whose window would leave the signal are like their nearest neighbour.
    (0..frames)
        .map(|frame| {
            let near = (frame / 2).saturating_sub(*first).min(tops.len() - 1);
            tops[near] > bound
        })
        .collect()
}

/// The tenth and the ninety-fifth percentile of a band's smoothed power.
fn quiet_and_loud(power: impl Iterator<Item = f32>) -> (f32, f32) {
    let mut state = 0.0f32;
    let mut smoothed: Vec<f32> = power
        .map(|power| {
            state = 0.8 * state + 0.2 * power.max(FLOOR);
            state
        })
        .collect();
    let last = smoothed.len() - 1;
    let (quiet, loud) = (last * 10 / 100, last * 95 / 100);
    // What stands behind the one is not below it: the other is among that.
    let (_, tenth, above) = smoothed.select_nth_unstable_by(quiet, f32::total_cmp);
    let tenth = *tenth;
    let loud = (loud > quiet).then(|| ranked(above, loud - quiet - 1));
    (tenth, loud.unwrap_or(tenth))
}

/// The value that would stand at `place` if the values were sorted.
fn ranked(values: &mut [f32], place: usize) -> f32 {
    *values.select_nth_unstable_by(place, f32::total_cmp).1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_noise::TestNoise;

    #[test]
    fn silence_and_emptiness_hold_no_speech() {
        let mut vad = StatisticalVad::new(16_000, StatisticalSettings::default()).unwrap();
        assert!(
            vad.decide(&[0.0; 32_000])
                .unwrap()
                .iter()
                .all(|speech| !speech)
        );
        assert!(vad.decide(&[]).unwrap().is_empty());
    }

    #[test]
    fn loud_noise_is_not_speech_and_a_voice_is() {
        let mut random = TestNoise::new(1);
        let mut noise = || random.unit() as f32 - 0.5;
        let signal: Vec<f32> = (0..160_000)
            .map(|n| {
                let phase = std::f32::consts::TAU * 140.0 * n as f32 / 16_000.0;
                let voice: f32 = (1..10).map(|k| (k as f32 * phase).sin() / k as f32).sum();
                let rustle = if (32_000..48_000).contains(&n) {
                    0.5
                } else {
                    0.002
                };
                let on = (96_000..128_000).contains(&n);
                rustle * noise() + if on { 0.1 * voice } else { 0.0 }
            })
            .collect();
        let mut vad = StatisticalVad::new(16_000, StatisticalSettings::default()).unwrap();
        let decisions = vad.decide(&signal).unwrap();
        assert!(decisions[605..795].iter().all(|speech| *speech));
        assert!(decisions[..560].iter().all(|speech| !speech));
        assert!(decisions[840..].iter().all(|speech| !speech));
    }

    #[test]
    fn pieces_are_decided_as_the_whole() {
        for rate in [8_000, 22_050] {
            let seconds = |n: usize| n as f32 / rate as f32;
            let signal: Vec<f32> = (0..12 * rate as usize + 1)
                .map(|n| {
                    let noise = ((n as u32).wrapping_mul(2_654_435_761) >> 8) as f32 / 16_777_216.0;
                    let phase = std::f32::consts::TAU * 130.0 * seconds(n);
                    let voice: f32 = (1..9).map(|k| (k as f32 * phase).sin() / k as f32).sum();
                    let on = (5.0..7.0).contains(&seconds(n));
                    0.01 * (noise - 0.5) + if on { 0.2 * voice } else { 0.0 }
                })
                .collect();
            for length in [0, 1, 300, 5_000, signal.len()] {
                let part = &signal[..length];
                let settings = StatisticalSettings::default();
                let whole = StatisticalVad::new(rate, settings).unwrap().decide(part);
                let whole = whole.unwrap();
                for piece in [777, 65_536] {
                    let mut stream = StatisticalStream::new(rate, settings, length).unwrap();
                    for piece in part.chunks(piece) {
                        stream.process(piece).unwrap();
                    }
                    assert_eq!(stream.finish().unwrap(), whole, "{rate} {length} {piece}");
                }
                if length == signal.len() {
                    assert!(whole[600] && !whole[100] && !whole[1100]);
                }
            }
        }
    }

    #[test]
    fn odd_sample_rates_are_accepted() {
        for rate in [8_000, 11_025, 44_056, 96_000, 192_000] {
            let mut vad = StatisticalVad::new(rate, StatisticalSettings::default()).unwrap();
            let length = rate as usize;
            let signal: Vec<f32> = (0..length)
                .map(|n| {
                    let phase = n as f32 * 1200.0 / rate as f32;
                    let noise = ((n as u32).wrapping_mul(2_654_435_761) >> 8) as f32 / 16_777_216.0;
                    let on = (n / (length / 10)) % 2 == 1;
                    0.001 * noise + if on { 0.3 * phase.sin() } else { 0.0 }
                })
                .collect();
            assert!(
                vad.ratios(&signal)
                    .unwrap()
                    .iter()
                    .all(|ratio| ratio.is_finite())
            );
        }
    }
}
