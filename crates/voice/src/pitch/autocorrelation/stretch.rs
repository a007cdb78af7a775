//! Frames that lie centred in a signal, cut from it while it arrives. Where they lie depends on the length of the
//! whole, which must be known; no more than the frames to come is kept.

use std::ops::Range;

use super::cpu::Placement;

/// A part of a signal; places count from the start of the whole.
#[derive(Clone, Copy)]
pub(crate) struct Stretch<'a> {
    samples: &'a [f32],
    /// Where the part begins, and how long the whole is.
    at: usize,
    length: usize,
}

impl<'a> Stretch<'a> {
    /// A whole signal.
    pub(crate) fn all(signal: &'a [f32]) -> Self {
        Self {
            samples: signal,
            at: 0,
            length: signal.len(),
        }
    }

    /// Samples of the whole signal.
    #[inline(always)]
    pub(crate) fn length(&self) -> usize {
        self.length
    }

    /// The samples from one place to before another.
    #[inline(always)]
    pub(crate) fn part(&self, from: usize, to: usize) -> &'a [f32] {
        &self.samples[from - self.at..to - self.at]
    }

    /// These samples, if they all lie in the whole signal.
    #[inline(always)]
    pub(crate) fn get(&self, places: Range<usize>) -> Option<&'a [f32]> {
        (places.start <= places.end && places.end <= self.length)
            .then(|| self.part(places.start, places.end))
    }

    /// The samples on either side of a place, as far as the signal reaches.
    #[inline(always)]
    pub(crate) fn around(&self, centre: usize, before: usize, after: usize) -> &'a [f32] {
        let to = (centre + after).min(self.length);
        self.part(centre.saturating_sub(before), to)
    }
}

/// The samples around places of a signal that come in their order.
pub(crate) struct ArrivingPlaces {
    samples: Vec<f32>,
    at: usize,
    length: usize,
    /// Samples on either side of a place.
    reach: usize,
}

impl ArrivingPlaces {
    /// Of a signal of so many samples, none of which has arrived.
    pub(crate) fn new(length: usize, reach: usize) -> Self {
        Self {
            samples: Vec::new(),
            at: 0,
            length,
            reach,
        }
    }

    /// Samples of the whole signal.
    pub(crate) fn length(&self) -> usize {
        self.length
    }

    /// Takes the next samples.
    pub(crate) fn push(&mut self, piece: &[f32]) {
        self.samples.extend_from_slice(piece);
    }

    /// What lies around a place, once all of it has arrived.
    pub(crate) fn around(&self, place: usize) -> Option<Stretch<'_>> {
        let end = (place + self.reach).min(self.length);
        (self.at + self.samples.len() >= end).then_some(Stretch {
            samples: &self.samples,
            at: self.at,
            length: self.length,
        })
    }

    /// Drops what only places before this one need, when that has become half of what is there.
    pub(crate) fn pass(&mut self, place: usize) {
        let gone = place.saturating_sub(self.reach).saturating_sub(self.at);
        if 2 * gone > self.samples.len() {
            let gone = gone.min(self.samples.len());
            self.samples.drain(..gone);
            self.at += gone;
        }
    }
}

/// The samples of a signal that frames to come need.
pub(crate) struct ArrivingFrames {
    placement: Placement,
    samples: Vec<f32>,
    at: usize,
    length: usize,
    /// Frames that were taken, and that there are.
    taken: usize,
    frames: usize,
}

impl ArrivingFrames {
    /// Of a signal of so many samples, none of which has arrived.
    pub(crate) fn new(placement: Placement, length: usize) -> Self {
        Self {
            placement,
            samples: Vec::new(),
            at: 0,
            length,
            taken: 0,
            frames: placement.frames(length),
        }
    }

    /// Samples of the whole signal.
    pub(crate) fn length(&self) -> usize {
        self.length
    }

    /// Takes the next samples; returns the frames that are complete and were not taken.
    pub(crate) fn push(&mut self, piece: &[f32]) -> Range<usize> {
        self.samples.extend_from_slice(piece);
        let arrived = self.at + self.samples.len();
        let mut end = self.taken;
        while end < self.frames && self.span(end).end <= arrived {
            end += 1;
        }
        self.taken..end
    }

    /// What has arrived.
    pub(crate) fn stretch(&self) -> Stretch<'_> {
        Stretch {
            samples: &self.samples,
            at: self.at,
            length: self.length,
        }
    }

    /// Drops what the frames before `end` alone need.
    pub(crate) fn take(&mut self, end: usize) {
        self.taken = end;
        let arrived = self.at + self.samples.len();
        let needed = if end < self.frames {
            self.span(end).start.min(arrived)
        } else {
            arrived
        };
        self.samples.drain(..needed - self.at);
        self.at = needed;
    }

    /// The samples that a frame looks at: its window, and a longest period around its centre.
    fn span(&self, frame: usize) -> Range<usize> {
        let Placement { half, period, .. } = self.placement;
        let start = self.placement.start(frame, self.length);
        let centre = start + half;
        let end = (start + 2 * half).max(centre + period).min(self.length);
        start.min(centre.saturating_sub(period))..end
    }
}
