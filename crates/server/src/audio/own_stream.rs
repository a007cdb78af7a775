//! A listener's own stream: what may be sent is decided by the listener's sound card alone.
//!
//! Invariants: played ≤ sent ≤ rendered ≤ played + target; rendering allocates nothing; what is
//! sent depends on seed, parameters and positions, not on how it was cut into frames.

use std::ops::Range;
use std::time::Instant;

use tokio::sync::oneshot;
use warpsmith_synth::{DryRequest, Params, Stream, StreamSettings};

use super::desk::Desk;
use super::packets::Packets;
use super::sample_ring::{SampleRing, Source};
use crate::error::ProtocolError;
use crate::protocol::{Codec, Credit, Hello, ServerMessage};

/// A stream and how far its listener is.
#[derive(Debug)]
pub(crate) struct OwnStream {
    source: Source,
    ring: SampleRing,
    codec: Codec,
    packets: Option<Box<Packets>>,
    rate: u32,
    seed: u64,
    params: Params,
    frame: u32,
    target: u64,
    sent: u64,
    played: u64,
    /// The bar whose notes were read last, where the listener wants them.
    score: Option<u64>,
    /// Notes that are to be told with the next frame.
    untold: Option<ServerMessage>,
    /// Where voices are rendered; here where it is absent.
    desk: Option<Desk>,
    asked: Option<Asked>,
    /// Memory of the last request.
    spare: DryRequest,
    /// How long the voices of what was rendered last took, until it is told.
    waited_us: u32,
}

/// Voices that are being rendered elsewhere.
#[derive(Debug)]
struct Asked {
    answer: oneshot::Receiver<DryRequest>,
    since: Instant,
    /// Frames that the answer makes possible.
    frames: usize,
    /// Parameters that hold after them.
    params: Option<Params>,
}

/// A frame to send.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Due {
    pub(crate) positions: Range<u64>,
    /// How long rendering took; zero for samples that were there already.
    pub(crate) render_us: u32,
}

impl OwnStream {
    /// The stream that `hello` asks for.
    pub(crate) fn new(hello: &Hello, seed: u64, params: Params) -> Result<Self, ProtocolError> {
        let codec = hello.codec().ok_or(ProtocolError::NoCodec)?;
        let settings = StreamSettings {
            sample_rate: hello.rate,
            ..StreamSettings::default()
        };
        let source = match codec {
            Codec::Tag => Source::Tag,
            Codec::Pcm16 | Codec::F32 | Codec::Opus => {
                Source::Music(Box::new(Stream::with_settings(seed, params, settings)?))
            }
        };
        let frame = hello.frame();
        let target = whole_frames(hello.prebuffer_ms, hello.rate, frame);
        Ok(Self {
            source,
            ring: SampleRing::new(codec, target as usize),
            codec,
            packets: packets(codec, hello)?,
            rate: hello.rate,
            seed,
            params,
            frame,
            target,
            sent: 0,
            played: 0,
            score: hello.score.then_some(u64::MAX),
            untold: None,
            desk: None,
            asked: None,
            spare: DryRequest::default(),
            waited_us: 0,
        })
    }

    /// Lets the engine behind `desk` render the voices of a stream that has not begun.
    pub(crate) fn rendered_at(mut self, desk: Option<&Desk>) -> Self {
        if let Source::Music(stream) = &mut self.source
            && let Some(desk) = desk.filter(|desk| desk.loss().is_none())
            && stream.send_away()
        {
            self.desk = Some(desk.clone());
        }
        self
    }

    pub(crate) fn codec(&self) -> Codec {
        self.codec
    }

    pub(crate) fn rate(&self) -> u32 {
        self.rate
    }

    pub(crate) fn seed(&self) -> u64 {
        self.seed
    }

    pub(crate) fn params(&self) -> &Params {
        &self.params
    }

    pub(crate) fn frame(&self) -> u32 {
        self.frame
    }

    pub(crate) fn target(&self) -> u64 {
        self.target
    }

    pub(crate) fn sent(&self) -> u64 {
        self.sent
    }

    /// The bytes of the frame that was given last.
    pub(crate) fn bytes(&self, positions: &Range<u64>) -> [&[u8]; 2] {
        match &self.packets {
            Some(packets) => [packets.bytes(), &[]],
            None => self.ring.bytes(positions),
        }
    }

    /// Whether voices are being rendered elsewhere.
    pub(crate) fn is_waiting(&self) -> bool {
        self.asked.is_some()
    }

    /// Asks for the voices of all that the listener has room for; whether they are waited for.
    fn ask(&mut self) -> bool {
        let (Some(desk), Source::Music(stream)) = (&self.desk, &mut self.source) else {
            return false;
        };
        if self.asked.is_none() {
            // The frame that is due, and as many whole ones as fit behind it.
            let (end, frame) = (self.sent + u64::from(self.frame), u64::from(self.frame));
            let behind = (self.played + self.target).saturating_sub(end) / frame * frame;
            let frames = (end + behind - self.ring.end()) as usize;
            let mut request = std::mem::take(&mut self.spare);
            stream.ask(frames, &mut request);
            self.asked = Some(Asked {
                answer: desk.ask(request),
                since: Instant::now(),
                frames,
                params: None,
            });
        }
        true
    }

    /// Waits for voices that are rendered elsewhere and takes them; for ever where there are none.
    /// An engine that fails is not asked again: the stream goes on by itself.
    pub(crate) async fn answered(&mut self) {
        let Some(asked) = &mut self.asked else {
            return std::future::pending().await;
        };
        let answer = (&mut asked.answer).await;
        let Some(Asked {
            since,
            frames,
            params,
            ..
        }) = self.asked.take()
        else {
            return;
        };
        match answer {
            Ok(answer) => {
                self.ring.render(&mut self.source, frames, Some(&answer));
                self.spare = answer;
            }
            Err(_) => {
                self.desk = None;
                self.ring.render(&mut self.source, frames, None);
            }
        }
        self.waited_us = u32::try_from(since.elapsed().as_micros()).unwrap_or(u32::MAX);
        if let (Some(params), Source::Music(stream)) = (params, &mut self.source) {
            // They were checked when they were wished for.
            let _ = stream.set_params(params);
        }
    }

    /// The next frame, rendered, if the listener has room for it. Allocates nothing, unless voices
    /// are rendered elsewhere.
    pub(crate) fn next_frame(&mut self) -> Option<Due> {
        let end = self.sent + u64::from(self.frame);
        if end > self.played + self.target {
            return None;
        }
        self.read_ahead();
        let mut render_us = std::mem::take(&mut self.waited_us);
        if end > self.ring.end() {
            if self.ask() {
                return None;
            }
            let begun = Instant::now();
            let frames = (end - self.ring.end()) as usize;
            self.ring.render(&mut self.source, frames, None);
            render_us = u32::try_from(begun.elapsed().as_micros()).unwrap_or(u32::MAX);
        }
        let positions = self.sent..end;
        if let Some(packets) = &mut self.packets {
            packets.encode(self.ring.bytes(&positions));
        }
        self.sent = end;
        Some(Due {
            positions,
            render_us,
        })
    }

    /// The notes of the next bar, where the listener wants them and has not been told.
    pub(crate) fn untold_bar(&mut self) -> Option<ServerMessage> {
        self.untold.take()
    }

    /// Reads the notes of the next bar before it is composed, where they are wanted. Allocates then.
    fn read_ahead(&mut self) {
        let (Some(told), Source::Music(stream)) = (&mut self.score, &self.source) else {
            return;
        };
        let from = stream.next_bar();
        if *told != from && self.untold.is_none() {
            *told = from;
            let notes = stream.next_notes();
            self.untold = Some(ServerMessage::Score { from, notes });
        }
    }

    /// The listener is further.
    pub(crate) fn credit(&mut self, credit: &Credit) -> Result<(), ProtocolError> {
        if credit.played < self.played || credit.played > self.sent {
            return Err(ProtocolError::Credit {
                played: credit.played,
                before: self.played,
                sent: self.sent,
            });
        }
        self.played = credit.played;
        if let Some(target_ms) = credit.target_ms {
            self.target = whole_frames(target_ms, self.rate, self.frame);
            self.ring.grow(self.target as usize);
        }
        Ok(())
    }

    /// New parameters hold from what is rendered next; gives that position.
    pub(crate) fn set_params(&mut self, params: Params) -> Result<u64, ProtocolError> {
        let mut at = self.ring.end();
        match (&mut self.source, &mut self.asked) {
            (Source::Music(_), Some(asked)) => {
                params.validate()?;
                asked.params = Some(params);
                at += asked.frames as u64;
            }
            (Source::Music(stream), None) => stream.set_params(params)?,
            (Source::Tag, _) => {}
        }
        self.params = params;
        // What was told of the next bar may not hold any more.
        self.score = self.score.map(|_| u64::MAX);
        Ok(at)
    }

    /// Goes on from `next_sample` for a listener who comes back with `hello`.
    pub(crate) fn rewind(&mut self, next_sample: u64, hello: &Hello) -> Result<(), &'static str> {
        if hello.rate != self.rate || hello.codec() != Some(self.codec) {
            return Err("it had another rate or codec");
        }
        if !(self.ring.begin()..=self.ring.end()).contains(&next_sample) {
            return Err("those samples are not kept");
        }
        // The listener's decoder has forgotten what came before, too.
        self.packets = packets(self.codec, hello).map_err(|_| "it had another length of frames")?;
        self.frame = hello.frame();
        self.target = whole_frames(hello.prebuffer_ms, self.rate, self.frame);
        self.ring.grow(self.target as usize);
        self.score = hello.score.then_some(u64::MAX);
        self.sent = next_sample;
        self.played = self.played.min(next_sample);
        Ok(())
    }
}

/// The encoder that a codec needs.
fn packets(codec: Codec, hello: &Hello) -> Result<Option<Box<Packets>>, ProtocolError> {
    if codec != Codec::Opus {
        return Ok(None);
    }
    let packets = Packets::new(hello.rate, hello.frame()).ok_or(ProtocolError::NoCodec)?;
    Ok(Some(Box::new(packets)))
}

/// At least two frames, so that one can play while the next is on its way.
fn whole_frames(milliseconds: u32, rate: u32, frame: u32) -> u64 {
    let wanted = u64::from(milliseconds) * u64::from(rate) / 1000;
    wanted.div_ceil(u64::from(frame)).max(2) * u64::from(frame)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hello(text: &str) -> Hello {
        serde_json::from_str(text).unwrap()
    }

    /// Plays `frames` with credits of `step` and gives the bytes.
    fn play(stream: &mut OwnStream, frames: u64, step: u64) -> Vec<u8> {
        let (mut bytes, mut played) = (Vec::new(), 0);
        while stream.sent() < frames {
            while let Some(due) = stream.next_frame() {
                bytes.extend(stream.bytes(&due.positions).concat());
            }
            played = (played + step).min(stream.sent());
            let credit = Credit {
                played,
                ..Credit::default()
            };
            stream.credit(&credit).unwrap();
        }
        bytes
    }

    #[test]
    fn what_is_sent_does_not_depend_on_frames_or_credits() {
        let mut whole = vec![0i16; 2 * 48_000];
        Stream::new(5, Params::default())
            .unwrap()
            .render_into(&mut whole);
        let expected: &[u8] = bytemuck::cast_slice(&whole);
        for (frame_ms, prebuffer_ms, step) in [
            (5, 20, 7),
            (20, 120, 9_600),
            (100, 100, 480),
            (200, 2_000, 1),
        ] {
            let hello = Hello {
                frame_ms,
                prebuffer_ms,
                ..Hello::default()
            };
            let mut stream = OwnStream::new(&hello, 5, Params::default()).unwrap();
            let bytes = play(&mut stream, 48_000, step);
            assert!(bytes.len() >= expected.len());
            assert!(
                bytes[..expected.len()] == *expected,
                "{frame_ms} ms frames, steps of {step}"
            );
        }
    }

    #[test]
    fn every_note_is_told_before_it_is_rendered() {
        let hello = hello(r#"{"score":true,"rate":8000,"frame_ms":100}"#);
        let params = Params::default();
        let mut stream = OwnStream::new(&hello, 9, params).unwrap();
        let mut told = Vec::new();
        while stream.sent() < 8_000 * 60 {
            while let Some(due) = stream.next_frame() {
                if let Some(ServerMessage::Score { from, notes }) = stream.untold_bar() {
                    assert!(from + 4 * 8_000 >= due.positions.start, "{from} {due:?}");
                    told.extend(notes);
                }
            }
            let played = stream.sent();
            let credit = Credit {
                played,
                ..Credit::default()
            };
            stream.credit(&credit).unwrap();
        }
        told.sort_by_key(|note| note.start);
        told.retain(|note| note.start < 8_000 * 60);
        assert_eq!(
            told,
            warpsmith_synth::compose(9, &params, 8_000, 8_000 * 60)
        );
    }

    #[test]
    fn nothing_is_sent_beyond_the_target_and_false_credit_is_refused() {
        let mut stream =
            OwnStream::new(&hello(r#"{"prebuffer_ms":100}"#), 1, Params::default()).unwrap();
        let mut sent = 0;
        while let Some(due) = stream.next_frame() {
            sent = due.positions.end;
        }
        assert_eq!(sent, 4_800);
        let credit = |played| Credit {
            played,
            ..Credit::default()
        };
        assert!(stream.credit(&credit(4_801)).is_err());
        stream.credit(&credit(960)).unwrap();
        assert!(stream.credit(&credit(959)).is_err());
        assert_eq!(stream.next_frame().unwrap().positions, 4_800..5_760);
        assert_eq!(stream.next_frame(), None);
    }

    #[test]
    fn a_listener_who_comes_back_gets_the_samples_that_it_lost() {
        let hello = Hello::default();
        let mut stream = OwnStream::new(&hello, 3, Params::default()).unwrap();
        let sent = play(&mut stream, 96_000, 1_000);
        let lost = stream.sent() - 3_000;
        stream.rewind(lost, &hello).unwrap();
        let due = stream.next_frame().unwrap();
        assert_eq!((due.positions.start, due.render_us), (lost, 0));
        let again = stream.bytes(&due.positions).concat();
        assert_eq!(again[..], sent[4 * lost as usize..][..again.len()]);
        assert!(stream.rewind(0, &hello).is_err());
        let other = Hello {
            rate: 44_100,
            ..Hello::default()
        };
        assert!(stream.rewind(lost, &other).is_err());
    }

    #[test]
    fn opus_is_refused_or_passed_over_where_it_cannot_be() {
        let named = |text: &str| hello(text).codec();
        let offered = Codec::offered().any(|codec| codec == Codec::Opus);
        let both = named(r#"{"codecs":["opus","pcm16"]}"#);
        assert_eq!(both, Some(if offered { Codec::Opus } else { Codec::Pcm16 }));
        for wrong in [
            r#"{"codecs":["opus"],"rate":44100}"#,
            r#"{"codecs":["opus"],"frame_ms":50}"#,
        ] {
            assert_eq!(named(wrong), None, "{wrong}");
        }
    }

    #[cfg(feature = "opus")]
    #[test]
    fn opus_packets_decode_to_the_music_at_their_positions() {
        let hello = hello(r#"{"codecs":["opus"],"frame_ms":20}"#);
        let mut stream = OwnStream::new(&hello, 6, Params::default()).unwrap();
        let mut decoder = ropus::Decoder::new(48_000, ropus::Channels::Stereo).unwrap();
        let (mut heard, mut bytes) = (Vec::new(), 0);
        while heard.len() < 2 * 48_000 * 4 {
            while let Some(due) = stream.next_frame() {
                assert_eq!(due.positions.start as usize, heard.len() / 2);
                let packet = stream.bytes(&due.positions).concat();
                bytes += packet.len();
                let mut frame = [0i16; 2 * 960];
                let normal = ropus::DecodeMode::Normal;
                let count = decoder.decode(&packet, &mut frame, normal).unwrap();
                assert_eq!(count as u64, due.positions.end - due.positions.start);
                heard.extend_from_slice(&frame);
            }
            let credit = Credit {
                played: stream.sent(),
                ..Credit::default()
            };
            stream.credit(&credit).unwrap();
        }
        let mut music = vec![0i16; heard.len()];
        Stream::new(6, Params::default())
            .unwrap()
            .render_into(&mut music);
        // 128 kbit/s, a twelfth of the samples themselves.
        assert!(bytes < heard.len() * 2 / 10, "{bytes} bytes");
        // The codec's look-ahead of 6.5 ms, to be found by the best fit.
        let fit = |late: usize| -> f64 {
            let pairs = heard[2 * late..].iter().zip(&music).skip(96_000);
            let (mut product, mut power) = (0.0, [0.0; 2]);
            for (a, b) in pairs {
                let (a, b) = (f64::from(*a), f64::from(*b));
                product += a * b;
                power = [power[0] + a * a, power[1] + b * b];
            }
            product / (power[0] * power[1]).sqrt()
        };
        let best = (0..600).max_by(|a, b| fit(*a).total_cmp(&fit(*b))).unwrap();
        assert_eq!(best, 312);
        assert!(fit(best) > 0.99, "{}", fit(best));
    }
}
