//! What tempo and beats depend on, with the bounds of each number.

use warpsmith_voice::{Result, SignalError};

/// Longest window of a tempogram, frames: a minute at a hop of a millisecond.
const LONGEST_WINDOW: usize = 60_000;

/// Choices of the rhythm functions; the default is librosa's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RhythmSettings {
    /// Points of the transform.
    pub transform: usize,
    /// Samples between frames.
    pub hop: usize,
    /// The tempo that is most likely before anything is heard, beats per minute.
    pub start_bpm: f64,
    /// How far from it a tempo may be and still be likely, octaves.
    pub spread_octaves: f64,
    /// The fastest tempo that counts, beats per minute.
    pub fastest_bpm: f64,
    /// Length of the stretch that is compared with itself, seconds.
    pub window_seconds: f64,
    /// How much beats insist on their distance.
    pub tightness: f64,
    /// Whether faint beats at the start and the end are left out.
    pub trim: bool,
}

impl Default for RhythmSettings {
    fn default() -> Self {
        Self {
            transform: 2048,
            hop: 512,
            start_bpm: 120.0,
            spread_octaves: 1.0,
            fastest_bpm: 320.0,
            window_seconds: 8.0,
            tightness: 100.0,
            trim: true,
        }
    }
}

impl RhythmSettings {
    /// Frames of the window at a sample rate, after everything else has been checked.
    pub fn window_frames(&self, sample_rate: u32) -> Result<usize> {
        let positive = [
            ("start tempo", self.start_bpm, 1000.0),
            ("tempo spread", self.spread_octaves, 100.0),
            ("fastest tempo", self.fastest_bpm, 1000.0),
            ("tempo window", self.window_seconds, 60.0),
            ("tightness", self.tightness, 1e9),
        ];
        for (name, value, most) in positive {
            if !(value > 0.0 && value <= most) {
                return Err(SignalError::parameter(
                    name,
                    value,
                    format!("a number above 0 and up to {most} is needed"),
                ));
            }
        }
        if self.hop == 0 {
            return Err(SignalError::parameter("hop", 0, "at least one sample"));
        }
        let samples = (self.window_seconds * f64::from(sample_rate)) as usize;
        let frames = samples / self.hop;
        if !(2..=LONGEST_WINDOW).contains(&frames) {
            return Err(SignalError::parameter(
                "tempo window",
                self.window_seconds,
                format!(
                    "{frames} frames of {} samples; 2 to {LONGEST_WINDOW} are possible",
                    self.hop
                ),
            ));
        }
        let slowest = 60.0 * f64::from(sample_rate) / (self.hop * (frames - 1)) as f64;
        if self.fastest_bpm <= slowest {
            return Err(SignalError::parameter(
                "fastest tempo",
                self.fastest_bpm,
                format!("a window of {frames} frames starts at {slowest:.1} beats per minute"),
            ));
        }
        Ok(frames)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_numbers_are_refused_by_name() {
        let fine = RhythmSettings::default();
        assert_eq!(fine.window_frames(22_050).unwrap(), 344);
        let refused = |settings: RhythmSettings| settings.window_frames(22_050).unwrap_err();
        for value in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            let all = [
                RhythmSettings {
                    start_bpm: value,
                    ..fine
                },
                RhythmSettings {
                    spread_octaves: value,
                    ..fine
                },
                RhythmSettings {
                    fastest_bpm: value,
                    ..fine
                },
                RhythmSettings {
                    window_seconds: value,
                    ..fine
                },
                RhythmSettings {
                    tightness: value,
                    ..fine
                },
            ];
            for settings in all {
                let said = refused(settings).to_string();
                assert!(said.contains("above 0"), "{said}");
            }
        }
        assert!(
            refused(RhythmSettings { hop: 0, ..fine })
                .to_string()
                .contains("hop")
        );
        let hurried = RhythmSettings {
            window_seconds: 0.01,
            ..fine
        };
        assert!(refused(hurried).to_string().contains("tempo window"));
        let endless = RhythmSettings {
            window_seconds: 60.0,
            hop: 1,
            ..fine
        };
        assert!(refused(endless).to_string().contains("60000"));
        let slow = RhythmSettings {
            fastest_bpm: 5.0,
            ..fine
        };
        assert!(refused(slow).to_string().contains("fastest tempo"));
    }
}
