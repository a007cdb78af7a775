//! The samples of a stream that were rendered and perhaps not played yet, by position.
//!
//! They are sent out of this ring and stay in it until they must have been played, so that a
//! listener who comes back after a break gets the very samples that it lost.

use std::ops::Range;

use warpsmith_synth::{DryRequest, Stream};

use crate::protocol::{Codec, tagged};

#[derive(Debug)]
enum Samples {
    Pcm16(Vec<i16>),
    F32(Vec<f32>),
}

/// What fills the ring.
#[derive(Debug)]
pub(crate) enum Source {
    Music(Box<Stream>),
    /// Positions in place of music.
    Tag,
}

/// A ring of stereo frames.
#[derive(Debug)]
pub(crate) struct SampleRing {
    samples: Samples,
    /// Frames of room.
    capacity: usize,
    /// Position after the last frame.
    end: u64,
}

impl SampleRing {
    pub(crate) fn new(codec: Codec, capacity: usize) -> Self {
        let samples = match codec {
            Codec::Pcm16 | Codec::Tag | Codec::Opus => Samples::Pcm16(vec![0; 2 * capacity]),
            Codec::F32 => Samples::F32(vec![0.0; 2 * capacity]),
        };
        Self {
            samples,
            capacity,
            end: 0,
        }
    }

    pub(crate) fn end(&self) -> u64 {
        self.end
    }

    /// Position of the oldest frame.
    pub(crate) fn begin(&self) -> u64 {
        self.end.saturating_sub(self.capacity as u64)
    }

    /// Renders `frames` more over the oldest ones; the voices are in `answer`, where an engine
    /// rendered them. Allocates nothing.
    pub(crate) fn render(
        &mut self,
        source: &mut Source,
        frames: usize,
        answer: Option<&DryRequest>,
    ) {
        let mut left = frames.min(self.capacity);
        while left > 0 {
            let at = (self.end % self.capacity as u64) as usize;
            let count = left.min(self.capacity - at);
            let place = 2 * at..2 * (at + count);
            match (&mut self.samples, &mut *source) {
                (Samples::Pcm16(samples), Source::Music(stream)) => match answer {
                    Some(answer) => stream.render_dry_into(answer, &mut samples[place]),
                    None => stream.render_into(&mut samples[place]),
                },
                (Samples::F32(samples), Source::Music(stream)) => match answer {
                    Some(answer) => stream.render_dry_into(answer, &mut samples[place]),
                    None => stream.render_into(&mut samples[place]),
                },
                (Samples::Pcm16(samples), Source::Tag) => {
                    let pairs = samples[place].chunks_exact_mut(2).zip(self.end..);
                    for (pair, position) in pairs {
                        pair.copy_from_slice(&tagged(position));
                    }
                }
                // The codec of tags is 16-bit.
                (Samples::F32(_), Source::Tag) => {}
            }
            self.end += count as u64;
            left -= count;
        }
    }

    /// The bytes of these positions, in two pieces where they wrap.
    pub(crate) fn bytes(&self, positions: &Range<u64>) -> [&[u8]; 2] {
        let (all, size): (&[u8], usize) = match &self.samples {
            Samples::Pcm16(samples) => (bytemuck::cast_slice(samples), 4),
            Samples::F32(samples) => (bytemuck::cast_slice(samples), 8),
        };
        let count = (positions.end - positions.start) as usize;
        let at = (positions.start % self.capacity as u64) as usize;
        let first = count.min(self.capacity - at);
        [
            &all[size * at..size * (at + first)],
            &all[..size * (count - first)],
        ]
    }

    /// Makes room for `capacity` frames and keeps what is there.
    pub(crate) fn grow(&mut self, capacity: usize) {
        if capacity <= self.capacity {
            return;
        }
        let (begin, old) = (self.begin(), self.capacity as u64);
        let place = |position: u64, capacity: u64| 2 * (position % capacity) as usize;
        fn moved<S: Copy + Default>(
            from: &[S],
            room: usize,
            positions: Range<u64>,
            place: impl Fn(u64) -> (usize, usize),
        ) -> Vec<S> {
            let mut to = vec![S::default(); room];
            for position in positions {
                let (old, new) = place(position);
                to[new..new + 2].copy_from_slice(&from[old..old + 2]);
            }
            to
        }
        let both = |position| (place(position, old), place(position, capacity as u64));
        match &mut self.samples {
            Samples::Pcm16(samples) => {
                *samples = moved(samples, 2 * capacity, begin..self.end, both);
            }
            Samples::F32(samples) => {
                *samples = moved(samples, 2 * capacity, begin..self.end, both);
            }
        }
        self.capacity = capacity;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tags(ring: &SampleRing, positions: Range<u64>) -> Vec<u8> {
        ring.bytes(&positions).concat()
    }

    fn expected(positions: Range<u64>) -> Vec<u8> {
        let samples = positions.flat_map(tagged);
        samples.flat_map(i16::to_le_bytes).collect()
    }

    #[test]
    fn samples_are_found_by_position_also_where_they_wrap() {
        let mut ring = SampleRing::new(Codec::Tag, 100);
        for _ in 0..37 {
            ring.render(&mut Source::Tag, 30, None);
        }
        assert_eq!((ring.begin(), ring.end()), (1010, 1110));
        for begin in 1010..1100 {
            assert_eq!(tags(&ring, begin..begin + 10), expected(begin..begin + 10));
        }
    }

    #[test]
    fn growing_keeps_what_is_there() {
        let mut ring = SampleRing::new(Codec::Tag, 100);
        ring.render(&mut Source::Tag, 70, None);
        ring.render(&mut Source::Tag, 70, None);
        ring.grow(170);
        assert_eq!(tags(&ring, 40..140), expected(40..140));
        ring.render(&mut Source::Tag, 70, None);
        assert_eq!(tags(&ring, 40..210), expected(40..210));
    }
}
