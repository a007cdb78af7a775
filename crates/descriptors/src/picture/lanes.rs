//! What each lane shows: one value or one column of them to a pixel of the axis of time.

use warpsmith_voice::{
    Density, HqPitch, Padding, PitchRange, Preset, Result, Segment, Sizes, SpectrumSettings, Stage,
    StatisticalSettings, StatisticalVad, Stft, check_room, segments,
};

use super::PictureSettings;

/// A strip of the picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lane {
    /// The largest and smallest sample of every pixel.
    Wave,
    /// Levels over time and frequency.
    Spectrogram,
    /// The frequency of the voice.
    Pitch,
    /// Where speech is.
    Speech,
}

impl Lane {
    /// All, from the top.
    pub const ALL: [Self; 4] = [Self::Wave, Self::Spectrogram, Self::Pitch, Self::Speech];
}

/// Frames that are transformed at a time, so that memory does not grow with the recording.
const FRAMES_AT_A_TIME: usize = 2048;
/// The least that the loudest level is taken for, dB: a silent recording is dark.
const QUIET_DB: f32 = -60.0;
/// Seconds between decisions about speech.
const DECISION_SECONDS: f64 = 0.01;

/// What the lanes show; what no lane shows is empty.
#[derive(Default)]
pub(super) struct Lanes {
    /// Smallest and largest sample of each column.
    pub(super) wave: Vec<(f32, f32)>,
    /// `[row from the top, column]`, 0 to 1.
    pub(super) levels: Vec<f32>,
    /// The level of 1, dB.
    pub(super) loudest_db: f32,
    pub(super) highest_hz: f64,
    /// Seconds and frequency of voiced frames, in unbroken runs.
    pub(super) pitch: Vec<Vec<(f64, f64)>>,
    pub(super) pitch_hz: (f64, f64),
    pub(super) speech: Vec<Segment>,
}

impl Lanes {
    pub(super) fn of(
        signal: &[f32],
        sample_rate: u32,
        columns: usize,
        settings: &PictureSettings,
    ) -> Result<Self> {
        let half = f64::from(sample_rate) / 2.0;
        let mut lanes = Self {
            highest_hz: settings.highest_hz.unwrap_or(half),
            pitch_hz: (
                PitchRange::VOICE.low_hz,
                PitchRange::VOICE.high_hz.min(half),
            ),
            ..Self::default()
        };
        for lane in &settings.lanes {
            match lane {
                Lane::Wave => lanes.wave = wave(signal, columns),
                Lane::Spectrogram => lanes.add_levels(signal, sample_rate, columns, settings)?,
                Lane::Pitch => lanes.pitch = pitch(signal, sample_rate, lanes.pitch_hz)?,
                Lane::Speech => {
                    let mut vad = StatisticalVad::new(sample_rate, StatisticalSettings::default())?;
                    lanes.speech = segments(&vad.decide(signal)?, DECISION_SECONDS);
                }
            }
        }
        Ok(lanes)
    }

    fn add_levels(
        &mut self,
        signal: &[f32],
        sample_rate: u32,
        columns: usize,
        settings: &PictureSettings,
    ) -> Result<()> {
        let rows = settings.height;
        check_room("the picture", 4 * rows * columns, size_of::<f32>())?;
        let mut levels = loudest_powers(signal, sample_rate, columns, |power_of| {
            // The bins that a row spans, the loudest of which it shows.
            let edge = |row: usize| {
                let share = 1.0 - row as f64 / rows as f64;
                settings.scale.hertz(share, self.highest_hz) / power_of.hertz
            };
            (0..rows)
                .map(|row| {
                    let (high, low) = (edge(row), edge(row + 1));
                    let first = (low.round() as usize).min(power_of.bins - 1);
                    first..(high.round() as usize).clamp(first + 1, power_of.bins)
                })
                .collect()
        })?;
        for level in &mut levels {
            *level = 10.0 * level.max(1e-20).log10();
        }
        self.loudest_db = levels.iter().copied().fold(QUIET_DB, f32::max);
        for level in &mut levels {
            *level = (1.0 + (*level - self.loudest_db) / settings.range_db).clamp(0.0, 1.0);
        }
        self.levels = levels;
        Ok(())
    }
}

fn wave(signal: &[f32], columns: usize) -> Vec<(f32, f32)> {
    (0..columns)
        .map(|column| {
            let at =
                |column: usize| (signal.len() as u128 * column as u128 / columns as u128) as usize;
            let (from, to) = (at(column), at(column + 1));
            let heard = &signal[from..to.max((from + 1).min(signal.len()))];
            let least = heard.iter().copied().reduce(f32::min);
            let most = heard.iter().copied().reduce(f32::max);
            (least.unwrap_or(0.0), most.unwrap_or(0.0))
        })
        .collect()
}

/// Bins of a transform.
struct Bins {
    bins: usize,
    hertz: f64,
}

/// The largest power of every row of bins in every column, `[row, column]`, full scale at 1.
fn loudest_powers(
    signal: &[f32],
    sample_rate: u32,
    columns: usize,
    rows: impl Fn(&Bins) -> Vec<std::ops::Range<usize>>,
) -> Result<Vec<f32>> {
    let sizes = Sizes::for_speech(sample_rate);
    let mut spectrum: SpectrumSettings = Preset::Librosa
        .feature(sample_rate, sizes, Stage::Mel)
        .spectrum;
    spectrum.framing.padding = Padding::CentredZero;
    let hop = spectrum.framing.hop;
    let mut stft = Stft::new(spectrum)?;
    let bins = spectrum.bins();
    let rows = rows(&Bins {
        bins,
        hertz: f64::from(sample_rate) / spectrum.transform as f64,
    });
    let scale = (2.0 / spectrum.transform as f32).powi(2) * 4.0;
    let mut out = vec![0.0f32; rows.len() * columns];
    let frames = signal.len() / hop + 1;
    let mut shown = 0;
    // Each part has a margin of frames that see beyond it, and are left out.
    let margin = spectrum.transform.div_ceil(hop);
    for start in (0..frames).step_by(FRAMES_AT_A_TIME) {
        let end = frames.min(start + FRAMES_AT_A_TIME);
        let from = start.saturating_sub(margin);
        let part = &signal[from * hop..signal.len().min((end + margin) * hop)];
        let (_, count) = stft.shape(part.len());
        let mut power = vec![0.0f32; bins * count];
        stft.density(part, Density::Power, &mut power)?;
        for frame in start..end.min(from + count) {
            let here =
                ((frame * hop) as u128 * columns as u128 / signal.len().max(1) as u128) as usize;
            let here = here.min(columns - 1);
            // Of a short recording a frame is several columns wide.
            let first = if frame == 0 { 0 } else { here.min(shown) };
            for (row, range) in rows.iter().enumerate() {
                let largest = range
                    .clone()
                    .map(|bin| power[bin * count + frame - from])
                    .fold(0.0, f32::max);
                for slot in &mut out[row * columns + first..=row * columns + here] {
                    *slot = slot.max(scale * largest);
                }
            }
            shown = here + 1;
        }
    }
    Ok(out)
}

/// Runs of pitch.
fn pitch(
    signal: &[f32],
    sample_rate: u32,
    (low_hz, high_hz): (f64, f64),
) -> Result<Vec<Vec<(f64, f64)>>> {
    let hop = (sample_rate as usize / 100).max(1);
    let range = PitchRange { low_hz, high_hz };
    let track = HqPitch::new(sample_rate, hop, range)?.track(signal);
    let mut runs: Vec<Vec<(f64, f64)>> = Vec::new();
    let mut open = false;
    for (seconds, hertz) in track.seconds.iter().zip(&track.frequency) {
        let voiced = *hertz > 0.0;
        if voiced && !open {
            runs.push(Vec::new());
        }
        if voiced && let Some(run) = runs.last_mut() {
            run.push((*seconds, f64::from(*hertz)));
        }
        open = voiced;
    }
    Ok(runs)
}
