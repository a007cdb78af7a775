//! Formants of a signal whose length is known, piece by piece: where frames lie depends on that, and no more than a
//! window and the frames of a search for roots are kept.

use std::collections::VecDeque;
use std::ops::Range;

use warpsmith_lanes::{Task, with_widest};
use warpsmith_signal::{ROOTS_TOGETHER, ResampleStream, burg, polynomial_roots};

use super::cpu::{Formant, FormantTracker};

/// A tracker that is shown the pieces of a signal.
pub struct FormantStream {
    narrow: ResampleStream,
    narrowed: Vec<f32>,
    /// The signal at the tracker's rate, pre-emphasised, from `at` on.
    samples: Vec<f64>,
    at: usize,
    /// Samples of it that there are, and the last one before pre-emphasis.
    length: usize,
    last: f64,
    /// What the next frame takes, and those after it.
    next: Option<Range<usize>>,
    stretches: Box<dyn Iterator<Item = Range<usize>> + Send>,
    /// Filters of the frames whose formants are not known; a silent one has none.
    filters: VecDeque<Option<Vec<f64>>>,
    tracker: FormantTracker,
}

impl FormantStream {
    /// A stream of `samples` samples, none of which has arrived.
    pub fn new(tracker: FormantTracker, samples: usize) -> Self {
        let mut stretches = Box::new(tracker.stretches(samples));
        Self {
            narrow: ResampleStream::new(tracker.resampler().clone()),
            narrowed: Vec::new(),
            samples: Vec::new(),
            at: 0,
            length: tracker.resampled_length(samples),
            last: 0.0,
            next: stretches.next(),
            stretches,
            filters: VecDeque::new(),
            tracker,
        }
    }

    /// Takes the next samples; appends the formants of the frames that are known.
    pub fn process(&mut self, piece: &[f32], out: &mut Vec<Vec<Formant>>) {
        self.narrow.process(piece, &mut self.narrowed);
        self.take_narrowed();
        self.find(false, out);
    }

    /// Ends the signal; appends the frames that are left.
    pub fn finish(mut self, out: &mut Vec<Vec<Formant>>) {
        let tracker = &self.tracker;
        let narrow = ResampleStream::new(tracker.resampler().clone());
        std::mem::replace(&mut self.narrow, narrow).finish(&mut self.narrowed);
        self.take_narrowed();
        self.find(true, out);
    }

    /// Makes filters of the frames that are complete.
    fn take_narrowed(&mut self) {
        let emphasis = self.tracker.emphasis();
        let wanted = self.length - (self.at + self.samples.len()).min(self.length);
        for x in self.narrowed.drain(..).take(wanted) {
            // Nothing comes before the first sample.
            self.samples.push(f64::from(x) - emphasis * self.last);
            self.last = f64::from(x);
        }
        let arrived = self.at + self.samples.len();
        let mut complete = Vec::new();
        while let Some(stretch) = self.next.take_if(|next| next.end <= arrived) {
            complete.push(stretch);
            self.next = self.stretches.next();
        }
        with_widest(Filters {
            tracker: &self.tracker,
            samples: &self.samples,
            at: self.at,
            stretches: &complete,
            filters: &mut self.filters,
        });
        let needed = self
            .next
            .as_ref()
            .map_or(arrived, |next| next.start.min(arrived));
        self.samples.drain(..needed - self.at);
        self.at = needed;
    }

    /// Appends the formants of frames. Roots are looked for in as many frames at a time as there are lanes, the same
    /// ones however the signal was cut, because a search goes on until all of its frames are done.
    fn find(&mut self, at_the_end: bool, out: &mut Vec<Vec<Formant>>) {
        loop {
            while let Some(None) = self.filters.front() {
                out.push(Vec::new());
                self.filters.pop_front();
            }
            let sounding = self.filters.iter().flatten().take(ROOTS_TOGETHER);
            let polynomials: Vec<Vec<f64>> = sounding.cloned().collect();
            if self.filters.is_empty() || (polynomials.len() < ROOTS_TOGETHER && !at_the_end) {
                return;
            }
            let mut poles = Vec::new();
            with_widest(Roots {
                polynomials: &polynomials,
                poles: &mut poles,
            });
            let mut poles = poles.iter();
            while poles.len() > 0 {
                let formants = match self.filters.pop_front().flatten() {
                    Some(_) => poles.next().map(|poles| self.tracker.of_poles(poles)),
                    None => None,
                };
                out.push(formants.unwrap_or_default());
            }
        }
    }
}

/// Linear prediction of frames.
struct Filters<'a> {
    tracker: &'a FormantTracker,
    samples: &'a [f64],
    at: usize,
    stretches: &'a [Range<usize>],
    filters: &'a mut VecDeque<Option<Vec<f64>>>,
}

impl Task for Filters<'_> {
    #[inline(always)]
    fn run(self) {
        let window = self.tracker.window();
        let mut frame = vec![0.0; window.len()];
        for stretch in self.stretches {
            let samples = &self.samples[stretch.start - self.at..stretch.end - self.at];
            for ((slot, x), weight) in frame.iter_mut().zip(samples).zip(window) {
                *slot = x * weight;
            }
            let a = burg(&frame[..samples.len()], 2 * self.tracker.settings.count);
            self.filters
                .push_back(a.iter().any(|a| *a != 0.0).then_some(a));
        }
    }
}

/// A search for the poles of filters.
struct Roots<'a> {
    polynomials: &'a [Vec<f64>],
    poles: &'a mut Vec<Vec<(f64, f64)>>,
}

impl Task for Roots<'_> {
    #[inline(always)]
    fn run(self) {
        *self.poles = polynomial_roots(self.polynomials);
    }
}

#[cfg(test)]
mod tests {
    use super::super::cpu::FormantSettings;
    use super::*;

    #[test]
    fn pieces_have_the_bits_of_the_whole() {
        let signal: Vec<f32> = (0..30_011)
            .map(|n| {
                let noise = ((n as u32).wrapping_mul(2_654_435_761) >> 8) as f32 / 16_777_216.0;
                let sounding = n / 7000 % 3 != 1;
                if sounding { noise - 0.5 } else { 0.0 }
            })
            .collect();
        for rate in [8_000, 11_000, 44_100] {
            let tracker = FormantTracker::new(rate, FormantSettings::default()).unwrap();
            for length in [0, 50, 2_000, 30_011] {
                let signal = &signal[..length];
                let whole = tracker.track(signal);
                assert_eq!(whole.len(), tracker.frames(length));
                for piece in [97, 5_000] {
                    let mut stream = FormantStream::new(tracker.clone(), length);
                    let mut track = Vec::new();
                    for piece in signal.chunks(piece) {
                        stream.process(piece, &mut track);
                        assert!(stream.samples.len() < 8_000 && stream.filters.len() < 200);
                    }
                    stream.finish(&mut track);
                    assert_eq!(track, whole, "{rate} {length} {piece}");
                }
                if length > 30_000 {
                    assert!(whole.iter().any(|formants| formants.is_empty()));
                    assert!(whole.iter().any(|formants| formants.len() > 2));
                }
            }
        }
    }
}
