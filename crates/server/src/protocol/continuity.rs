//! Whether frames follow each other without loss, repetition or tearing: counted by position,
//! sequence and, in a tag stream, by every single sample.

use super::{Codec, FrameHead, Kind, tag_of, tagged};

/// What a receiver has seen of its stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Continuity {
    /// Position after the last sample received; `None` before the first.
    pub next: Option<u64>,
    next_sequence: Option<u32>,
    /// Binary frames received.
    pub frames: u64,
    /// Sample pairs received.
    pub samples: u64,
    /// Sequence numbers that did not follow.
    pub sequence_gaps: u64,
    /// Positions that did not follow, unless the frame says so itself.
    pub breaks: u64,
    /// Sample pairs left out, as announced by the server.
    pub announced_gap: u64,
    /// Sample pairs of a tag stream that are not where they belong.
    pub wrong_tags: u64,
}

impl Continuity {
    /// Takes a frame in; `payload` as [`FrameHead::parse`] gave it.
    pub fn take(&mut self, head: &FrameHead, payload: &[u8]) {
        self.frames += 1;
        let follows = |expected: Option<u32>| expected.is_none_or(|next| next == head.sequence);
        self.sequence_gaps += u64::from(!follows(self.next_sequence));
        self.next_sequence = Some(head.sequence.wrapping_add(1));
        let continues = self.next.is_none_or(|next| next == head.first);
        self.breaks += u64::from(!continues);
        let after = head.first.saturating_add(u64::from(head.frames));
        match head.kind {
            Kind::Audio => {
                self.samples += u64::from(head.frames);
                if head.codec == Codec::Tag {
                    self.wrong_tags += wrong_tags(head.first, payload);
                }
                self.next = Some(after);
            }
            Kind::Gap => {
                self.announced_gap += u64::from(head.frames);
                self.next = Some(after);
            }
            Kind::Boundary => {}
        }
    }

    /// A new connection goes on with the stream: sequence numbers begin again, positions do not.
    pub fn reconnected(&mut self) {
        self.next_sequence = None;
    }

    /// Whether nothing was lost, repeated or torn.
    pub fn is_whole(&self) -> bool {
        self.sequence_gaps + self.breaks + self.announced_gap + self.wrong_tags == 0
    }
}

fn wrong_tags(first: u64, payload: &[u8]) -> u64 {
    let pairs = payload.chunks_exact(4).zip(first..);
    pairs
        .filter(|(bytes, position)| {
            let pair = [
                i16::from_le_bytes([bytes[0], bytes[1]]),
                i16::from_le_bytes([bytes[2], bytes[3]]),
            ];
            tag_of(pair) != tag_of(tagged(*position))
        })
        .count() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(sequence: u32, first: u64, frames: u32, kind: Kind) -> (FrameHead, Vec<u8>) {
        let head = FrameHead {
            kind,
            codec: Codec::Tag,
            channels: 2,
            flags: 0,
            stream: 1,
            sequence,
            first,
            frames,
            render_us: 0,
        };
        let tags = (first..first + u64::from(frames)).flat_map(tagged);
        let payload = tags.flat_map(i16::to_le_bytes).collect();
        (head, payload)
    }

    #[test]
    fn loss_repetition_and_tearing_are_counted_apart() {
        let mut seen = Continuity::default();
        for (sequence, first) in [(0, 100), (1, 110), (2, 120)] {
            let (head, payload) = frame(sequence, first, 10, Kind::Audio);
            seen.take(&head, &payload);
        }
        assert!(seen.is_whole() && seen.next == Some(130));
        let (head, mut payload) = frame(4, 130, 10, Kind::Audio);
        payload.swap(0, 2);
        seen.take(&head, &payload);
        assert_eq!(
            (seen.sequence_gaps, seen.breaks, seen.wrong_tags),
            (1, 0, 1)
        );
        let (head, payload) = frame(5, 130, 10, Kind::Audio);
        seen.take(&head, &payload);
        assert_eq!(seen.breaks, 1);
        let (head, _) = frame(6, 140, 30, Kind::Gap);
        seen.take(&head, &[]);
        assert_eq!((seen.announced_gap, seen.next), (30, Some(170)));
    }
}
