//! Segments of speech as a recogniser wants them.

use warpsmith_voice::{Result, Segment, SignalError};

/// Longest time of any setting, seconds.
const DAY: f64 = 86_400.0;
/// Seconds of the steps in which a quiet place is looked for.
const STEP_SECONDS: f64 = 0.01;
const STEPS_PER_SECOND: u64 = 100;

/// How segments are cut. The default leaves them as the detector found them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CutSettings {
    /// Room before and after a segment, seconds; less where a neighbour or the end is nearer.
    pub pad: f64,
    /// Segments shorter than this are left out, seconds.
    pub least_speech: f64,
    /// Pauses shorter than this do not end a segment, seconds.
    pub least_pause: f64,
    /// Longer segments are cut at their quietest places, seconds with the room around; `None` is any
    /// length.
    pub longest: Option<f64>,
}

impl CutSettings {
    fn checked(&self) -> Result<()> {
        let times = [
            ("padding", self.pad),
            ("shortest speech", self.least_speech),
            ("shortest pause", self.least_pause),
        ];
        for (name, seconds) in times {
            if !(0.0..=DAY).contains(&seconds) {
                return Err(SignalError::parameter(
                    name,
                    seconds,
                    "0 to 86400 seconds are possible",
                ));
            }
        }
        if let Some(longest) = self.longest {
            // Below this, cuts would be nearer than the steps of the search.
            let least = (2.0 * self.pad + 10.0 * STEP_SECONDS).max(self.least_speech);
            if !(longest >= least && longest <= DAY) {
                return Err(SignalError::parameter(
                    "longest segment",
                    longest,
                    format!(
                        "{least:.2} to 86400 seconds are possible with this padding and shortest speech"
                    ),
                ));
            }
        }
        Ok(())
    }
}

/// The energy of every step of a signal that arrives in pieces: where it is quiet, without the signal itself.
#[derive(Clone, Debug, Default)]
pub struct StepEnergies {
    sample_rate: u32,
    samples: u64,
    energies: Vec<f64>,
}

impl StepEnergies {
    /// Nothing yet.
    pub fn new(sample_rate: u32) -> Self {
        Self {
            sample_rate: sample_rate.max(1),
            ..Self::default()
        }
    }

    /// Those of a whole signal.
    pub fn of(signal: &[f32], sample_rate: u32) -> Self {
        let mut steps = Self::new(sample_rate);
        steps.hear(signal);
        steps
    }

    /// Takes the next samples.
    pub fn hear(&mut self, mut piece: &[f32]) {
        while !piece.is_empty() {
            let rate = u64::from(self.sample_rate.max(1));
            let step = (self.samples * STEPS_PER_SECOND / rate) as usize;
            let end = ((step as u64 + 1) * rate).div_ceil(STEPS_PER_SECOND);
            let count = ((end - self.samples) as usize).min(piece.len());
            let (here, after) = piece.split_at(count);
            self.energies.resize(self.energies.len().max(step + 1), 0.0);
            self.energies[step] += here.iter().map(|x| f64::from(*x).powi(2)).sum::<f64>();
            self.samples += count as u64;
            piece = after;
        }
    }

    fn seconds(&self) -> f64 {
        self.samples as f64 / f64::from(self.sample_rate.max(1))
    }

    /// The middle of the quietest step between two times; the later time where there is none.
    fn quietest(&self, from: f64, to: f64) -> f64 {
        let energy = |step: usize| self.energies.get(step).copied().unwrap_or(0.0);
        let first = (from / STEP_SECONDS).ceil() as usize;
        let past = (to / STEP_SECONDS) as usize;
        // Three steps, so that a zero crossing inside a vowel is not taken for a pause.
        let around = |step: usize| {
            let before = step.checked_sub(1).map_or(0.0, energy);
            before + energy(step) + energy(step + 1)
        };
        let quietest = (first..past).min_by(|a, b| around(*a).total_cmp(&around(*b)));
        quietest.map_or(to, |step| (step as f64 + 0.5) * STEP_SECONDS)
    }
}

/// Joins, drops, cuts and pads segments, which are in order and apart.
pub fn cut(
    segments: &[Segment],
    steps: &StepEnergies,
    settings: &CutSettings,
) -> Result<Vec<Segment>> {
    let mut joined = joined(segments, settings)?;
    if let Some(longest) = settings.longest {
        let room = longest - 2.0 * settings.pad;
        joined = joined
            .iter()
            .flat_map(|segment| pieces(*segment, room, steps))
            .collect();
    }
    Ok(padded(&joined, settings.pad, steps.seconds()))
}

/// Segments without short pauses between them, and without short ones.
fn joined(segments: &[Segment], settings: &CutSettings) -> Result<Vec<Segment>> {
    settings.checked()?;
    let mut joined: Vec<Segment> = Vec::with_capacity(segments.len());
    for segment in segments {
        match joined.last_mut() {
            Some(last) if segment.start - last.end < settings.least_pause => last.end = segment.end,
            _ => joined.push(*segment),
        }
    }
    joined.retain(|segment| segment.end - segment.start >= settings.least_speech);
    Ok(joined)
}

/// A segment in pieces of up to `longest` seconds, cut at the quietest place of each piece's second
/// half.
fn pieces(segment: Segment, longest: f64, steps: &StepEnergies) -> Vec<Segment> {
    let mut pieces = Vec::new();
    let mut rest = segment;
    while rest.end - rest.start > longest {
        let at = steps.quietest(rest.start + 0.5 * longest, rest.start + longest);
        pieces.push(Segment {
            start: rest.start,
            end: at,
        });
        rest.start = at;
    }
    pieces.push(rest);
    pieces
}

/// Segments with room around them: up to the middle between two, and up to the signal's ends.
fn padded(segments: &[Segment], pad: f64, end: f64) -> Vec<Segment> {
    let middle = |left: &Segment, right: &Segment| f64::midpoint(left.end, right.start);
    (0..segments.len())
        .map(|n| {
            let here = segments[n];
            let left = match n.checked_sub(1) {
                Some(before) => middle(&segments[before], &here),
                None => 0.0,
            };
            let right = match segments.get(n + 1) {
                Some(next) => middle(&here, next),
                // The detector's last frame may reach beyond the recording.
                None => end,
            };
            Segment {
                start: (here.start - pad).max(left),
                end: (here.end + pad).min(right),
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(times: &[(f64, f64)]) -> Vec<Segment> {
        let segments = times.iter();
        segments
            .map(|&(start, end)| Segment { start, end })
            .collect()
    }

    #[test]
    fn short_pauses_join_short_speech_goes_and_room_ends_at_neighbours() {
        let found = of(&[(0.1, 0.5), (0.6, 1.0), (2.0, 2.05), (3.0, 4.0), (4.3, 5.0)]);
        let settings = CutSettings {
            pad: 0.2,
            least_speech: 0.1,
            least_pause: 0.2,
            longest: None,
        };
        let kept = cut(&found, &StepEnergies::of(&[0.0; 5100], 1000), &settings).unwrap();
        let expected = of(&[(0.0, 1.2), (2.8, 4.15), (4.15, 5.1)]);
        for (kept, expected) in kept.iter().zip(&expected) {
            assert!((kept.start - expected.start).abs() < 1e-9, "{kept:?}");
            assert!((kept.end - expected.end).abs() < 1e-9, "{kept:?}");
        }
        assert_eq!(kept.len(), expected.len());
        // A frame of the detector that reaches beyond the end does not.
        let beyond = cut(
            &of(&[(1.0, 2.01)]),
            &StepEnergies::of(&[0.0; 2000], 1000),
            &settings,
        )
        .unwrap();
        assert_eq!(beyond[0].end, 2.0);
        // Nothing set, nothing changed.
        let same = cut(
            &found,
            &StepEnergies::of(&[0.0; 5100], 1000),
            &CutSettings::default(),
        )
        .unwrap();
        assert_eq!(same, found);
    }

    #[test]
    fn long_speech_is_cut_where_it_is_quiet() {
        let mut signal = vec![0.5f32; 10_000];
        signal[3400..3460].fill(0.0);
        signal[7000..7040].fill(0.0);
        let settings = CutSettings {
            longest: Some(4.0),
            ..CutSettings::default()
        };
        let kept = cut(
            &of(&[(0.0, 10.0)]),
            &StepEnergies::of(&signal, 1000),
            &settings,
        )
        .unwrap();
        assert_eq!(kept.len(), 3);
        assert!((3.40..3.46).contains(&kept[0].end), "{kept:?}");
        assert!((7.00..7.04).contains(&kept[1].end), "{kept:?}");
    }

    #[test]
    fn pieces_of_a_signal_have_the_steps_of_the_whole() {
        // 10 ms are no whole number of samples at the last two rates.
        for rate in [16_000, 44_100, 11_025, 999] {
            let signal: Vec<f32> = (0..3 * rate as usize / 2)
                .map(|n| ((n * n) as f32 * 0.13).sin())
                .collect();
            let whole = StepEnergies::of(&signal, rate);
            assert_eq!(whole.energies.len(), 150, "{rate}");
            for size in [1, 37, 4_096] {
                let mut steps = StepEnergies::new(rate);
                for piece in signal.chunks(size) {
                    steps.hear(piece);
                }
                assert_eq!(steps.samples, whole.samples);
                for (one, other) in steps.energies.iter().zip(&whole.energies) {
                    assert!((one - other).abs() < 1e-9 * other, "{rate} {size}");
                }
                assert_eq!(steps.energies.len(), whole.energies.len());
            }
        }
    }

    #[test]
    fn hostile_times_are_refused_by_name() {
        for bad in [-0.1, f64::NAN, f64::INFINITY, 1e9] {
            let fine = CutSettings::default();
            let all = [
                CutSettings { pad: bad, ..fine },
                CutSettings {
                    least_speech: bad,
                    ..fine
                },
                CutSettings {
                    least_pause: bad,
                    ..fine
                },
                CutSettings {
                    longest: Some(bad),
                    ..fine
                },
            ];
            for settings in all {
                assert!(
                    cut(&[], &StepEnergies::new(16_000), &settings).is_err(),
                    "{settings:?}"
                );
            }
        }
        let tight = CutSettings {
            pad: 1.0,
            longest: Some(2.0),
            ..CutSettings::default()
        };
        let said = cut(&[], &StepEnergies::new(16_000), &tight)
            .unwrap_err()
            .to_string();
        assert!(said.contains("longest segment"), "{said}");
    }

    proptest! {
        #[test]
        fn segments_stay_in_order_apart_inside_and_within_the_longest(
            lengths in prop::collection::vec((0.01f64..2.0, 0.02f64..8.0), 0..12),
            pad in 0.0f64..0.5,
            longest in 1.2f64..5.0,
            least_pause in 0.0f64..1.0,
        ) {
            let mut at = 0.0;
            let mut found = Vec::new();
            for (pause, speech) in lengths {
                found.push(Segment { start: at + pause, end: at + pause + speech });
                at += pause + speech;
            }
            let signal: Vec<f32> = (0..(at * 200.0) as usize + 1)
                .map(|n| ((n * n) as f32 * 0.13).sin())
                .collect();
            let settings = CutSettings { pad, least_pause, longest: Some(longest), least_speech: 0.0 };
            let kept = cut(&found, &StepEnergies::of(&signal, 200), &settings).unwrap();
            let end = signal.len() as f64 / 200.0;
            for pair in kept.windows(2) {
                prop_assert!(pair[0].end <= pair[1].start + 1e-9);
            }
            for segment in &kept {
                prop_assert!(segment.start >= 0.0 && segment.end <= end + 1e-9);
                prop_assert!(segment.end - segment.start <= longest + 1e-9);
                prop_assert!(segment.end > segment.start);
            }
            // All speech is still there.
            let covered = |seconds: f64| kept.iter().any(|s| s.start <= seconds && seconds <= s.end);
            for segment in &found {
                prop_assert!(covered(f64::midpoint(segment.start, segment.end)));
            }
        }
    }
}
