//! A recording at a glance: how long and loud it is, how much of it is speech, and how high the voice lies.

use serde::Serialize;
use warpsmith_voice::{
    Audio, ChannelChoice, Framing, Padding, PitchRange, Pyin, PyinSettings, Result, Segment,
    StatisticalSettings, StatisticalVad, integrated_loudness, segments,
};

/// Seconds between decisions about speech.
const HOP_SECONDS: f64 = 0.01;

/// What is said of a recording.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Overview {
    /// Length.
    pub seconds: f64,
    /// Hz.
    pub sample_rate: u32,
    /// Channels.
    pub channels: usize,
    /// Largest magnitude, full scale at 1.
    pub peak: f32,
    /// Samples at or beyond full scale.
    pub clipped: usize,
    /// Absent where the file is shorter than 0.4 s.
    pub loudness_lufs: Option<f64>,
    /// Stretches of speech.
    pub speech: Vec<Segment>,
    /// Their length together.
    pub speech_seconds: f64,
    /// Share of the frames that are voiced.
    pub voiced_share: f64,
    /// Median frequency of the voiced frames, Hz.
    pub pitch_median_hz: Option<f32>,
    /// The lowest of them.
    pub pitch_low_hz: Option<f32>,
    /// The highest of them.
    pub pitch_high_hz: Option<f32>,
}

/// What was heard in a recording.
#[derive(Clone, Debug)]
pub struct Heard {
    /// Length.
    pub seconds: f64,
    /// Hz.
    pub sample_rate: u32,
    /// Channels.
    pub channels: usize,
    /// Largest magnitude.
    pub peak: f32,
    /// Samples at or beyond full scale.
    pub clipped: usize,
    /// LUFS.
    pub loudness: Option<f64>,
    /// Whether there is speech, for every 10 ms.
    pub speech: Vec<bool>,
    /// Frames of pitch.
    pub frames: usize,
    /// The frequencies of those that are voiced.
    pub voiced: Vec<f32>,
}

impl Heard {
    /// What is known of the sound without listening for a voice.
    pub fn levels(audio: &Audio) -> Self {
        let samples = || audio.channels.iter().flatten();
        Self {
            seconds: audio.seconds(),
            sample_rate: audio.sample_rate,
            channels: audio.channels.len(),
            peak: samples().fold(0.0f32, |peak, x| peak.max(x.abs())),
            clipped: samples().filter(|x| x.abs() >= 1.0).count(),
            loudness: integrated_loudness(audio).ok(),
            speech: Vec::new(),
            frames: 0,
            voiced: Vec::new(),
        }
    }
}

impl Overview {
    /// Listens to a recording; channels are mixed for speech and pitch.
    pub fn of(audio: &Audio) -> Result<Self> {
        let signal = audio.signal(ChannelChoice::Mix)?;
        let rate = audio.sample_rate;
        let settings = PyinSettings::default();
        let mut pyin = Pyin::new(rate, voice_framing(rate), voice_range(rate), settings)?;
        pyin.check_room(signal.len())?;
        let track = pyin.track(&signal);
        let mut vad = StatisticalVad::new(rate, StatisticalSettings::default())?;
        Ok(Self::from(Heard {
            speech: vad.decide(&signal)?,
            frames: track.voiced.len(),
            voiced: track.voiced_hertz().collect(),
            ..Heard::levels(audio)
        }))
    }
}

impl From<Heard> for Overview {
    fn from(heard: Heard) -> Self {
        let speech: Vec<Segment> = segments(&heard.speech, HOP_SECONDS)
            .into_iter()
            .map(|segment| Segment {
                end: segment.end.min(heard.seconds),
                ..segment
            })
            .collect();
        let mut voiced = heard.voiced;
        voiced.sort_unstable_by(f32::total_cmp);
        Self {
            seconds: heard.seconds,
            sample_rate: heard.sample_rate,
            channels: heard.channels,
            peak: heard.peak,
            clipped: heard.clipped,
            loudness_lufs: heard.loudness,
            speech_seconds: speech
                .iter()
                .fold(0.0, |sum, segment| sum + segment.end - segment.start),
            speech,
            voiced_share: voiced.len() as f64 / heard.frames.max(1) as f64,
            pitch_median_hz: voiced.get(voiced.len() / 2).copied(),
            pitch_low_hz: voiced.first().copied(),
            pitch_high_hz: voiced.last().copied(),
        }
    }
}

/// The range of voices, below half the sample rate.
pub fn voice_range(sample_rate: u32) -> PitchRange {
    PitchRange {
        high_hz: PitchRange::VOICE.high_hz.min(f64::from(sample_rate) / 2.0),
        ..PitchRange::VOICE
    }
}

/// The frames in which a recording's pitch is looked for.
pub fn voice_framing(sample_rate: u32) -> Framing {
    pitch_framing(sample_rate, voice_range(sample_rate))
}

/// Frames every 10 ms that hold two periods of the lowest pitch.
pub fn pitch_framing(sample_rate: u32, range: PitchRange) -> Framing {
    let two_periods = (2.0 * f64::from(sample_rate) / range.low_hz.max(1.0)).ceil() as usize + 2;
    Framing {
        length: two_periods.next_power_of_two().max(1024),
        hop: (sample_rate as usize / 100).max(1),
        padding: Padding::CentredZero,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tone_and_nothing_have_an_overview() {
        let tone: Vec<f32> = (0..16_000)
            .map(|n| 0.5 * (n as f32 * std::f32::consts::TAU * 220.0 / 16_000.0).sin())
            .collect();
        let audio = Audio {
            sample_rate: 16_000,
            channels: vec![tone.clone(), tone],
        };
        let found = Overview::of(&audio).unwrap();
        assert_eq!((found.seconds, found.channels, found.clipped), (1.0, 2, 0));
        assert!((found.peak - 0.5).abs() < 1e-3);
        assert!((found.pitch_median_hz.unwrap() - 220.0).abs() < 2.0);
        assert!(found.voiced_share > 0.9 && found.loudness_lufs.is_some());
        let silent = Audio {
            sample_rate: 16_000,
            channels: vec![vec![0.0; 800]],
        };
        let found = Overview::of(&silent).unwrap();
        assert_eq!(found.pitch_median_hz, None);
        assert_eq!((found.loudness_lufs, found.speech_seconds), (None, 0.0));
    }
}
