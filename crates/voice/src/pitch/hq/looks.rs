//! The looks of the `hq` tracker at a signal that is heard in pieces, once for each: any cutting gives the bits of the
//! whole. Between them no more is kept than a few numbers to a frame.

use std::collections::VecDeque;

use super::contour::{Heard, contour, reach};
use super::cpu::{HqPlan, HqTrack, Looks};
use super::repetition::Repetition;
use crate::pitch::autocorrelation::{ArrivingFrames, ArrivingPlaces, Autocorrelation};
use crate::pitch::path::{Candidate, PathSearch};

/// Frames between looks at what is settled.
const EVERY: usize = 64;

/// What is known of a signal before its frames are looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct HqLook {
    samples: usize,
    loudest: f32,
}

impl HqLook {
    /// Takes the next samples.
    pub fn hear(&mut self, piece: &[f32]) {
        self.samples += piece.len();
        self.loudest = piece
            .iter()
            .fold(self.loudest, |loudest, x| loudest.max(x.abs()));
    }
}

/// The look at averaged autocorrelations, and the best path through what they show.
pub struct HqFirstLook<'a> {
    plan: HqPlan,
    correlation: &'a mut Autocorrelation,
    arriving: ArrivingFrames,
    looks: Looks,
    search: PathSearch,
    /// Candidates of the frames that are not settled.
    waiting: VecDeque<Vec<Candidate>>,
    frequency: Vec<f64>,
}

impl<'a> HqFirstLook<'a> {
    pub(super) fn new(plan: HqPlan, correlation: &'a mut Autocorrelation, look: HqLook) -> Self {
        Self {
            arriving: ArrivingFrames::new(plan.placement, look.samples),
            looks: Looks::new(&plan, correlation.reach(), look.loudest),
            search: PathSearch::new(plan.costs()),
            waiting: VecDeque::new(),
            frequency: Vec::new(),
            plan,
            correlation,
        }
    }

    /// Hears the next samples.
    pub fn hear(&mut self, piece: &[f32]) {
        let frames = self.arriving.push(piece);
        let end = frames.end;
        let looks = &mut self.looks;
        self.correlation
            .each_of(self.arriving.stretch(), frames, |frame, seen| {
                looks.see(frame, &seen);
            });
        self.arriving.take(end);
        self.search();
    }

    /// Goes on with the search through frames that were judged.
    fn search(&mut self) {
        for found in self.looks.candidates.drain(..) {
            self.search.step(&found);
            self.waiting.push_back(found);
            if self.waiting.len().is_multiple_of(EVERY) {
                for index in self.search.settled() {
                    if let Some(candidates) = self.waiting.pop_front() {
                        self.frequency.push(candidates[index].frequency);
                    }
                }
            }
        }
    }

    /// Ends the signal.
    pub fn finish(mut self) -> HqSecondLook {
        let samples = self.arriving.length();
        self.looks.finish(self.plan.placement.frames(samples));
        self.search();
        let mut frequency = self.frequency;
        let left = self.search.finish().into_iter().zip(self.waiting);
        frequency.extend(left.map(|(index, candidates)| candidates[index].frequency));
        self.plan.bridge_pauses(&mut frequency);
        HqSecondLook {
            common: Common {
                arriving: ArrivingPlaces::new(samples, self.plan.reach()),
                repetition: Repetition::new(self.plan.placement.rate, self.plan.range),
                done: 0,
                plan: self.plan,
                confidence: self.looks.confidence,
            },
            frequency,
            stretch: Vec::new(),
        }
    }
}

/// What the second and the third look share.
struct Common {
    plan: HqPlan,
    arriving: ArrivingPlaces,
    repetition: Repetition,
    /// Frames that were looked at.
    done: usize,
    confidence: Vec<f32>,
}

impl Common {
    /// When a frame is.
    fn seconds(&self, frame: usize) -> f64 {
        self.plan.placement.time(frame, self.arriving.length())
    }
}

/// The look at the periods of repetition around the first look's answers.
pub struct HqSecondLook {
    common: Common,
    frequency: Vec<f64>,
    /// Candidates of the voiced frames before the next.
    stretch: Vec<Vec<Candidate>>,
}

impl HqSecondLook {
    /// Hears the next samples.
    pub fn hear(&mut self, piece: &[f32]) {
        self.common.arriving.push(piece);
        while let Some(hertz) = self.frequency.get(self.common.done).copied() {
            let seconds = self.common.seconds(self.common.done);
            let centre = self.common.plan.centre(seconds);
            let Some(signal) = self.common.arriving.around(centre) else {
                return;
            };
            if hertz > 0.0 {
                let repetition = &mut self.common.repetition;
                self.stretch
                    .push(repetition.candidates(signal, centre, hertz));
            } else {
                self.end_stretch();
            }
            self.common.arriving.pass(centre);
            self.common.done += 1;
        }
    }

    /// Takes the best path through the voiced frames before the next.
    fn end_stretch(&mut self) {
        if self.stretch.is_empty() {
            return;
        }
        let end = self.common.done;
        let slots = &mut self.frequency[end - self.stretch.len()..end];
        let chosen = self.common.plan.glide_costs().best_path(&self.stretch);
        for ((slot, candidates), index) in slots.iter_mut().zip(&self.stretch).zip(chosen) {
            *slot = candidates[index].frequency;
        }
        self.stretch.clear();
    }

    /// Ends the signal.
    pub fn finish(mut self) -> HqThirdLook {
        self.end_stretch();
        let Common { plan, arriving, .. } = &self.common;
        let arriving = ArrivingPlaces::new(arriving.length(), plan.reach());
        HqThirdLook {
            frequency: self.frequency,
            common: Common {
                arriving,
                done: 0,
                ..self.common
            },
            heard: Vec::new(),
            first: 0,
            written: 0,
        }
    }
}

/// The look at clean frames through a few of their own periods.
pub struct HqThirdLook {
    common: Common,
    frequency: Vec<f64>,
    /// What was heard in the frames from `first` on.
    heard: Vec<Heard>,
    first: usize,
    written: usize,
}

impl HqThirdLook {
    /// Hears the next samples; appends the frames whose neighbours they complete.
    pub fn process(&mut self, piece: &[f32], track: &mut HqTrack) {
        self.common.arriving.push(piece);
        while let Some(chosen) = self.frequency.get(self.common.done) {
            let seconds = self.common.seconds(self.common.done);
            let Common {
                plan,
                arriving,
                repetition,
                ..
            } = &self.common;
            let centre = plan.centre(seconds);
            let Some(signal) = arriving.around(centre) else {
                break;
            };
            self.heard
                .push(plan.hear(signal, repetition, seconds, *chosen));
            self.common.arriving.pass(centre);
            self.common.done += 1;
        }
        let reach = self.reach();
        self.write(self.common.done.saturating_sub(reach), track);
        let gone = self.written.saturating_sub(reach) - self.first;
        if 2 * gone > self.heard.len() {
            self.heard.drain(..gone);
            self.first += gone;
        }
    }

    /// Ends the signal; appends the frames that are left.
    pub fn finish(mut self, track: &mut HqTrack) {
        self.write(self.common.done, track);
    }

    /// Seconds between frames.
    fn hop(&self) -> f64 {
        let placement = self.common.plan.placement;
        placement.hop as f64 / placement.rate
    }

    /// Frames on either side of a frame that may matter to it.
    fn reach(&self) -> usize {
        reach(self.hop(), self.common.plan.range.low_hz)
    }

    /// Appends the frames before `end`.
    fn write(&mut self, end: usize, track: &mut HqTrack) {
        for frame in self.written..end {
            let hertz = contour(&self.heard, frame - self.first, self.hop());
            track.seconds.push(self.common.seconds(frame));
            track.frequency.push(hertz as f32);
            track.confidence.push(self.common.confidence[frame]);
        }
        self.written = self.written.max(end);
    }
}

#[cfg(test)]
mod tests {
    use super::super::cpu::HqPitch;
    use super::*;
    use crate::pitch::PitchRange;

    #[test]
    fn any_cutting_gives_the_bits_of_the_whole() {
        let signal: Vec<f32> = (0..60_007)
            .map(|n| {
                let noise = ((n as u32).wrapping_mul(2_654_435_761) >> 8) as f32 / 16_777_216.0;
                let hertz = 140.0 + 60.0 * (n as f32 / 9000.0).sin();
                let phase = std::f32::consts::TAU * hertz * n as f32 / 16_000.0;
                let voice: f32 = (1..9).map(|k| (k as f32 * phase).sin() / k as f32).sum();
                let on = n / 8000 % 3 > 0;
                0.05 * noise + if on { 0.2 * voice } else { 0.0 }
            })
            .collect();
        let pitch = || HqPitch::new(16_000, 160, PitchRange::VOICE).unwrap();
        for length in [0, 1, 700, 60_007] {
            let signal = &signal[..length];
            let whole = pitch().track(signal);
            for size in [333, 20_000] {
                let mut look = HqLook::default();
                signal.chunks(size).for_each(|piece| look.hear(piece));
                let mut pitch = pitch();
                let mut first = pitch.first_look(look);
                for piece in signal.chunks(size) {
                    first.hear(piece);
                    assert!(first.waiting.len() < 300);
                }
                let mut second = first.finish();
                signal.chunks(size).for_each(|piece| second.hear(piece));
                let (mut third, mut track) = (second.finish(), HqTrack::default());
                for piece in signal.chunks(size) {
                    third.process(piece, &mut track);
                    assert!(third.heard.len() < 300);
                }
                third.finish(&mut track);
                assert_eq!(track, whole, "{length} in pieces of {size}");
            }
            if length > 50_000 {
                assert!(whole.frequency.iter().filter(|hz| **hz > 0.0).count() > 100);
            }
        }
    }
}
