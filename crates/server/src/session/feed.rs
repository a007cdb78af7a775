//! Where a connection's audio comes from, as frames to send.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;
use warpsmith_synth::Params;

use crate::audio::{Block, OwnStream};
use crate::metrics::Metrics;
use crate::protocol::{Codec, FrameHead, Kind, ServerMessage, flags};

/// Bytes of a frame of the broadcast: 16-bit stereo.
const BLOCK_FRAME_BYTES: usize = 4;

/// The broadcast, as one listener hears it.
pub(super) struct Heard {
    receiver: Receiver<Arc<Block>>,
    waiting: VecDeque<Arc<Block>>,
    /// Position after the last frame that was sent.
    next: Option<u64>,
    /// Whether the listener wants the notes.
    score: bool,
}

/// A stream of one's own, or the broadcast.
pub(super) enum Feed {
    Own {
        stream: Box<OwnStream>,
        /// Where parameters change, until the listener has been told.
        boundary: Option<u64>,
    },
    Shared(Heard),
}

/// The samples of a frame, where they are.
#[derive(Debug)]
pub(super) enum Payload {
    Nothing,
    Ring(Range<u64>),
    Block(Arc<Block>),
}

/// A frame to send, and what to tell before it.
pub(super) struct Next {
    pub(super) head: FrameHead,
    pub(super) payload: Payload,
    pub(super) message: Option<ServerMessage>,
    pub(super) score: Option<ServerMessage>,
}

fn head(kind: Kind, codec: Codec, first: u64, frames: u32) -> FrameHead {
    FrameHead {
        kind,
        codec,
        channels: 2,
        flags: 0,
        stream: 0,
        sequence: 0,
        first,
        frames,
        render_us: 0,
    }
}

impl Feed {
    pub(super) fn own(stream: Box<OwnStream>) -> Self {
        Self::Own {
            stream,
            boundary: None,
        }
    }

    pub(super) fn shared(
        before: Vec<Arc<Block>>,
        receiver: Receiver<Arc<Block>>,
        score: bool,
    ) -> Self {
        Self::Shared(Heard {
            receiver,
            waiting: before.into(),
            next: None,
            score,
        })
    }

    /// The next frame, if there is one to send now. For a stream of one's own this renders, and
    /// allocates nothing unless the notes are wanted.
    pub(super) fn next_frame(&mut self, metrics: &Metrics) -> Option<Next> {
        match self {
            Self::Own { stream, boundary } => {
                if boundary.is_some_and(|at| at <= stream.sent()) {
                    *boundary = None;
                    return Some(Next {
                        head: head(Kind::Boundary, stream.codec(), stream.sent(), 0),
                        payload: Payload::Nothing,
                        message: None,
                        score: None,
                    });
                }
                let due = stream.next_frame()?;
                let score = stream.untold_bar();
                if due.render_us > 0 {
                    metrics
                        .render
                        .note(std::time::Duration::from_micros(due.render_us.into()));
                }
                let frames = (due.positions.end - due.positions.start) as u32;
                Some(Next {
                    head: FrameHead {
                        render_us: due.render_us,
                        ..head(Kind::Audio, stream.codec(), due.positions.start, frames)
                    },
                    payload: Payload::Ring(due.positions),
                    message: None,
                    score,
                })
            }
            Self::Shared(heard) => heard.next_frame(metrics),
        }
    }

    /// The bytes of a payload, in at most two pieces.
    pub(super) fn bytes<'a>(&'a self, payload: &'a Payload) -> [&'a [u8]; 2] {
        match (payload, self) {
            (Payload::Ring(positions), Self::Own { stream, .. }) => stream.bytes(positions),
            (Payload::Block(block), _) => [&block.bytes, &[]],
            _ => [&[], &[]],
        }
    }

    /// Whether the next frame is being rendered elsewhere.
    pub(super) fn is_waiting(&self) -> bool {
        matches!(self, Self::Own { stream, .. } if stream.is_waiting())
    }

    /// Waits for the broadcast, or for voices that are rendered elsewhere; for ever where the
    /// stream is rendered here.
    pub(super) async fn heard(&mut self) {
        match self {
            Self::Own { stream, .. } => stream.answered().await,
            Self::Shared(heard) => match heard.receiver.recv().await {
                Ok(block) => heard.waiting.push_back(block),
                // The next block shows by its position how much was missed.
                Err(RecvError::Lagged(_)) => {}
                Err(RecvError::Closed) => std::future::pending().await,
            },
        }
    }

    /// New parameters for a stream of one's own; `None` for the broadcast.
    pub(super) fn set_params(&mut self, params: Params) -> Option<ServerMessage> {
        match self {
            Self::Own { stream, boundary } => {
                // Parameters were checked when they were read.
                let at = stream.set_params(params).ok()?;
                *boundary = Some(at);
                Some(ServerMessage::Params { at, params })
            }
            Self::Shared(_) => None,
        }
    }
}

impl Heard {
    fn next_frame(&mut self, metrics: &Metrics) -> Option<Next> {
        let block = self.waiting.pop_front()?;
        if let Some(next) = self.next.filter(|next| *next != block.first) {
            let missed = (block.first - next).min(u32::MAX.into()) as u32;
            metrics.announced_gaps.add(missed.into());
            self.next = Some(block.first);
            self.waiting.push_front(block);
            return Some(Next {
                head: FrameHead {
                    flags: flags::DISCONTINUITY,
                    ..head(Kind::Gap, Codec::Pcm16, next, missed)
                },
                payload: Payload::Nothing,
                message: None,
                score: None,
            });
        }
        let score = block.score.as_ref().filter(|_| self.score);
        let score = score.map(|bar| ServerMessage::Score {
            from: bar.0,
            notes: bar.1.clone(),
        });
        let frames = (block.bytes.len() / BLOCK_FRAME_BYTES) as u32;
        self.next = Some(block.first + u64::from(frames));
        Some(Next {
            head: FrameHead {
                render_us: block.render_us,
                ..head(Kind::Audio, Codec::Pcm16, block.first, frames)
            },
            message: block.params.map(|params| ServerMessage::Params {
                at: block.first,
                params,
            }),
            score,
            payload: Payload::Block(block),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::allocations;
    use crate::protocol::{Credit, Hello};

    #[test]
    fn hours_of_rendering_allocate_nothing() {
        // The lowest rate, so that a quarter of an hour takes a moment.
        let hello = Hello {
            rate: 8_000,
            frame_ms: 100,
            ..Hello::default()
        };
        let own = OwnStream::new(&hello, 1, Params::default()).unwrap();
        let (mut feed, metrics) = (Feed::own(Box::new(own)), Metrics::new());
        let mut bytes = 0;
        let made = allocations::made_by(|| {
            for _ in 0..9_000 {
                while let Some(next) = feed.next_frame(&metrics) {
                    bytes += feed
                        .bytes(&next.payload)
                        .map(<[u8]>::len)
                        .iter()
                        .sum::<usize>();
                }
                let Feed::Own { stream, .. } = &mut feed else {
                    return;
                };
                let played = stream.sent();
                let credit = Credit {
                    played,
                    ..Credit::default()
                };
                stream.credit(&credit).unwrap();
            }
        });
        assert_eq!(made, 0);
        assert!(bytes > 4 * 8_000 * 900, "{bytes} bytes");
    }

    #[test]
    fn a_listener_that_fell_behind_the_broadcast_is_told_how_far() {
        let block = |first: u64| {
            Arc::new(Block {
                first,
                render_us: 0,
                bytes: vec![0; 4 * 960],
                params: None,
                score: None,
            })
        };
        let (_sender, receiver) = tokio::sync::broadcast::channel(1);
        let mut feed = Feed::shared(vec![block(0), block(960), block(4_800)], receiver, false);
        let metrics = Metrics::new();
        let heads: Vec<_> = std::iter::from_fn(|| feed.next_frame(&metrics))
            .map(|next| (next.head.kind, next.head.first, next.head.frames))
            .collect();
        let expected = [
            (Kind::Audio, 0, 960),
            (Kind::Audio, 960, 960),
            (Kind::Gap, 1_920, 2_880),
            (Kind::Audio, 4_800, 960),
        ];
        assert_eq!(heads, expected);
        assert_eq!(metrics.announced_gaps.get(), 2_880);
    }
}
