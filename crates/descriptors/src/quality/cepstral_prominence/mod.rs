//! Smoothed cepstral peak prominence (CPPS; Hillenbrand and Houde 1996, in the form of Maryn and Weenink
//! 2015 that Praat computes): how far the peak of the cepstrum at the voice's period stands above the
//! trend of the cepstrum, dB, the mean over all frames.
//!
//! A frame's power cepstrum is the squared Fourier transform of its logarithmic power spectrum. Its trend is
//! taken off, it is averaged over neighbouring times and quefrencies, and its peak is measured from the
//! trend of what is left.

mod average;
mod cepstrogram;
mod slopes;
mod trend;

use std::collections::VecDeque;
use std::ops::Range;

use warpsmith_signal::Result;

use average::Average;
use cepstrogram::Cepstrogram;
use slopes::MedianSlopes;
pub use trend::Trend;

/// Power that a silent quefrency has in a logarithm.
const FLOOR: f64 = 1e-30;

/// The choices; the default is Praat's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ProminenceSettings {
    /// Lowest frequency of a voice, Hz; three of its periods are half a window.
    pub low_hz: f64,
    /// Seconds between frames.
    pub step: f64,
    /// Highest frequency of the spectrum, Hz.
    pub highest_hz: f64,
    /// From where on pre-emphasis raises by 6 dB to an octave, Hz.
    pub emphasis_hz: f64,
    /// Whether the trend of every frame is taken off before averaging.
    pub subtract_trend: bool,
    /// Seconds of neighbouring frames in an average.
    pub average_seconds: f64,
    /// Seconds of neighbouring quefrencies in an average.
    pub average_quefrency: f64,
    /// Lowest and highest frequency of a peak, Hz.
    pub peak_hz: (f64, f64),
    /// Lowest and highest quefrency of the trend, seconds.
    pub trend_quefrency: (f64, f64),
    /// The shape of the trend.
    pub trend: Trend,
}

impl Default for ProminenceSettings {
    fn default() -> Self {
        Self {
            low_hz: 60.0,
            step: 0.002,
            highest_hz: 5000.0,
            emphasis_hz: 50.0,
            subtract_trend: true,
            average_seconds: 0.02,
            average_quefrency: 0.0005,
            peak_hz: (60.0, 330.0),
            trend_quefrency: (0.001, 0.05),
            trend: Trend::Exponential,
        }
    }
}

/// The smoothed prominence of the cepstral peak of `signal`, dB; `None` where it is shorter than a window
/// (0.1 s by default).
pub fn cepstral_prominence(
    signal: &[f32],
    sample_rate: u32,
    settings: ProminenceSettings,
) -> Result<Option<f64>> {
    let mut stream = ProminenceStream::new(signal.len(), sample_rate, settings)?;
    stream.process(signal);
    Ok(stream.finish())
}

/// The prominence of a signal of known length that is heard piece by piece.
pub struct ProminenceStream {
    /// None of a signal that is too short.
    measure: Option<Measure>,
}

impl ProminenceStream {
    /// A stream of `samples` samples, none of which was heard.
    pub fn new(samples: usize, sample_rate: u32, settings: ProminenceSettings) -> Result<Self> {
        let cepstrogram = Cepstrogram::new(samples, sample_rate, settings)?;
        Ok(Self {
            measure: cepstrogram.map(|cepstrogram| Measure {
                plan: Plan::new(&cepstrogram, settings),
                mean: vec![0.0; cepstrogram.quefrencies()],
                cepstrogram,
                of_frames: MedianSlopes::default(),
                of_means: MedianSlopes::default(),
                kept: VecDeque::new(),
                kept_from: 0,
                frame: 0,
                sum: 0.0,
            }),
        })
    }

    /// Takes the next samples.
    pub fn process(&mut self, piece: &[f32]) {
        if let Some(measure) = &mut self.measure {
            measure.cepstrogram.push(piece);
            measure.go_on();
        }
    }

    /// What [`cepstral_prominence`] says of the whole.
    pub fn finish(self) -> Option<f64> {
        let measure = self.measure?;
        Some(measure.sum / measure.cepstrogram.frames() as f64)
    }
}

struct Measure {
    cepstrogram: Cepstrogram,
    plan: Plan,
    /// The trends of single frames and of averages, each like the one before.
    of_frames: MedianSlopes,
    of_means: MedianSlopes,
    /// The frames that averages still need, the first of them frame `kept_from`.
    kept: VecDeque<Vec<f64>>,
    kept_from: usize,
    /// The next frame to measure, and what those before it add up to.
    frame: usize,
    sum: f64,
    mean: Vec<f64>,
}

impl Measure {
    /// Measures the frames whose neighbours are there.
    fn go_on(&mut self) {
        let frames = self.cepstrogram.frames();
        let settings = self.plan.settings;
        let reach = 0.5 * settings.average_seconds / settings.step;
        // Half a step before the first frame and after the last one belong to them.
        let room = (-0.5, frames as f64 - 0.5);
        while self.frame < frames {
            let average = Average::over(self.frame as f64, reach, room, frames);
            while self.kept_from + self.kept.len() < average.end() {
                let next = self.kept_from + self.kept.len();
                if !self.cepstrogram.has(next) {
                    return;
                }
                let mut powers = self.cepstrogram.frame(next);
                if settings.subtract_trend {
                    self.plan.subtract_trend(&mut self.of_frames, &mut powers);
                }
                self.kept.push_back(powers);
            }
            while self.kept_from < average.first {
                self.kept.pop_front();
                self.kept_from += 1;
            }
            self.mean.fill(0.0);
            for (weight, powers) in average.weights.iter().zip(&self.kept) {
                for (slot, power) in self.mean.iter_mut().zip(powers) {
                    *slot += weight * power;
                }
            }
            self.sum += self.plan.prominence(&mut self.of_means, &self.mean);
            self.frame += 1;
        }
    }
}

/// What every frame is measured with.
struct Plan {
    settings: ProminenceSettings,
    /// Seconds between quefrencies.
    quefrency: f64,
    /// The average around each quefrency.
    averages: Vec<Average>,
    /// The abscissa of each quefrency.
    abscissae: Vec<f64>,
    /// The trend's quefrencies.
    trend: Range<usize>,
    /// First and last quefrency of the search.
    search: (usize, usize),
}

impl Plan {
    fn new(cepstrogram: &Cepstrogram, settings: ProminenceSettings) -> Self {
        let (count, quefrency) = (cepstrogram.quefrencies(), cepstrogram.quefrency());
        let last = count - 1;
        let room = (0.0, last as f64);
        let reach = 0.5 * settings.average_quefrency / quefrency;
        let averages = (0..count)
            .map(|n| Average::over(n as f64, reach, room, count))
            .collect();
        // A quefrency that rounding puts a hair outside the range belongs to it.
        let (low, high) = settings.trend_quefrency;
        let trend_from = ((low / quefrency - 1e-9).ceil().max(1.0) as usize).min(last);
        let trend_to = ((high / quefrency + 1e-9).floor() as usize).clamp(trend_from, last);
        let abscissa = |n: usize| {
            // The logarithm has no place for 0.
            let place = match settings.trend {
                Trend::Exponential if n == 0 => 0.5,
                _ => n as f64,
            };
            settings.trend.abscissa(place * quefrency)
        };
        let at = |hertz: f64| 1.0 / hertz / quefrency;
        Self {
            settings,
            quefrency,
            averages,
            abscissae: (0..count).map(abscissa).collect(),
            trend: trend_from..trend_to + 1,
            search: (
                (at(settings.peak_hz.1).floor() as usize).min(last),
                (at(settings.peak_hz.0).ceil() as usize).min(last),
            ),
        }
    }

    /// Slope and height of the trend of a frame in decibels.
    fn line(&self, slopes: &mut MedianSlopes, decibels: &[f64]) -> (f64, f64) {
        let [x, y] = [&self.abscissae[..], decibels].map(|values| &values[self.trend.clone()]);
        trend::median_line(slopes, x, y)
    }

    /// Takes the trend off; what lies below it is 0 dB.
    fn subtract_trend(&self, slopes: &mut MedianSlopes, powers: &mut [f64]) {
        let decibels: Vec<f64> = powers.iter().map(|power| decibel(*power)).collect();
        let (slope, height) = self.line(slopes, &decibels);
        let points = self.abscissae.iter().zip(&decibels);
        for (power, (abscissa, db)) in powers.iter_mut().zip(points) {
            let above = db - (slope * abscissa + height);
            // Of 0 dB the power is 1.
            *power = if above > 0.0 {
                10f64.powf(above / 10.0) - FLOOR
            } else {
                1.0
            };
        }
    }

    /// How far the peak of a frame stands out, dB.
    fn prominence(&self, slopes: &mut MedianSlopes, powers: &[f64]) -> f64 {
        let decibels: Vec<f64> = self
            .averages
            .iter()
            .map(|average| decibel(average.of(powers)))
            .collect();
        let (slope, height) = self.line(slopes, &decibels);
        let (place, peak) = highest(&decibels, self.search);
        peak - (slope * self.settings.trend.abscissa(place * self.quefrency) + height)
    }
}

fn decibel(power: f64) -> f64 {
    10.0 * (power + FLOOR).log10()
}

/// Place and height of the highest of the ends of a search and the tops of parabolas inside it.
fn highest(values: &[f64], (first, last): (usize, usize)) -> (f64, f64) {
    let mut best = (first as f64, values[first]);
    if values[last] > best.1 {
        best = (last as f64, values[last]);
    }
    for n in first + 1..last {
        let [before, here, after] = [values[n - 1], values[n], values[n + 1]];
        if here > before && here >= after {
            let (slope, curvature) = (0.5 * (after - before), 2.0 * here - before - after);
            let height = here + 0.5 * slope * slope / curvature;
            if height > best.1 {
                best = (n as f64 + slope / curvature, height);
            }
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pulses every 80 samples in noise.
    fn voice(noise: f32) -> Vec<f32> {
        let mut state = 9u32;
        (0..8000)
            .map(|n| {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                let hiss = (state >> 8) as f32 / 8_388_608.0 - 1.0;
                let pulse = if n % 80 == 0 { 1.0 } else { 0.0 };
                pulse * (1.0 - noise) + 0.2 * noise * hiss
            })
            .collect()
    }

    const PRAAT: [(f32, bool, Trend, f64); 6] = [
        (0.02, true, Trend::Exponential, 28.9177),
        (0.02, false, Trend::Straight, 29.8823),
        (0.5, true, Trend::Exponential, 10.5683),
        (0.5, false, Trend::Straight, 11.5985),
        (1.0, true, Trend::Exponential, 4.7338),
        (1.0, false, Trend::Straight, 3.7684),
    ];

    #[test]
    fn prominences_are_praats() {
        // Praat 6.1.38: `To PowerCepstrogram: 60, 0.002, 5000, 50`, then `Get CPPS: subtract, 0.02, 0.0005, 60,
        // 330, 0.05, "Parabolic", 0.001, 0.05, trend, "Robust slow"` of these voices at 10 kHz.
        for (noise, subtract_trend, trend, praat) in PRAAT {
            let settings = ProminenceSettings {
                subtract_trend,
                trend,
                ..ProminenceSettings::default()
            };
            let found = cepstral_prominence(&voice(noise), 10_000, settings);
            let found = found.unwrap().unwrap();
            assert!(
                (found - praat).abs() < 0.02,
                "{noise}, {trend:?}: {found}, Praat {praat}"
            );
        }
    }

    #[test]
    fn pieces_have_the_bits_of_the_whole() {
        for rate in [8000, 10_000, 16_000] {
            let settings = ProminenceSettings::default();
            let whole = cepstral_prominence(&voice(0.5), rate, settings).unwrap();
            for piece in [99, 3000] {
                let mut stream = ProminenceStream::new(8000, rate, settings).unwrap();
                for piece in voice(0.5).chunks(piece) {
                    stream.process(piece);
                }
                assert_eq!(stream.finish(), whole, "{rate} {piece}");
            }
        }
    }

    #[test]
    fn silence_has_none_and_a_short_signal_no_frame() {
        let prominence =
            |signal: &[f32]| cepstral_prominence(signal, 16_000, ProminenceSettings::default());
        assert_eq!(prominence(&[0.0; 8000]).unwrap(), Some(0.0));
        assert_eq!(prominence(&[0.1; 1500]).unwrap(), None);
        assert_eq!(prominence(&[]).unwrap(), None);
    }
}
