//! The text frames: JSON with a `type`. What a client sends is checked here, once, before anything
//! acts on it.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use warpsmith_core::Finding;
use warpsmith_synth::{Note, Params, Preset};

use super::{BUFFER_MS, Codec, FRAME_MS, MOST_TEXT_BYTES};
use crate::error::ProtocolError;

/// The first message: what the listener wants to hear, and how.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Hello {
    /// Frames a second of the listener's sound card.
    pub rate: u32,
    /// Channels; 2 is all there is.
    pub channels: u8,
    /// Codecs that the listener reads, best first.
    pub codecs: Vec<String>,
    /// Length of an audio frame.
    pub frame_ms: u32,
    /// How much to send ahead of what has been played.
    pub prebuffer_ms: u32,
    /// Which piece; the server draws one where it is absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// Parameters by name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preset: Option<String>,
    /// Parameters that differ from the preset's.
    pub params: Map<String, Value>,
    /// The broadcast that all hear, instead of a stream of one's own.
    pub shared: bool,
    /// Whether to tell the notes, bar by bar.
    pub score: bool,
    /// Go on with a stream after a break.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resume: Option<Resume>,
}

impl Default for Hello {
    fn default() -> Self {
        Self {
            rate: 48_000,
            channels: 2,
            codecs: vec![Codec::Pcm16.name().to_owned()],
            frame_ms: 20,
            prebuffer_ms: 120,
            seed: None,
            preset: None,
            params: Map::new(),
            shared: false,
            score: false,
            resume: None,
        }
    }
}

impl Hello {
    /// Frames of a frame.
    pub fn frame(&self) -> u32 {
        (u64::from(self.rate) * u64::from(self.frame_ms) / 1000).max(1) as u32
    }

    /// The first of the listener's codecs that there is.
    pub fn codec(&self) -> Option<Codec> {
        self.codecs
            .iter()
            .find_map(|name| Codec::named(name, self.rate, self.frame_ms))
    }

    fn check(&self) -> Result<(), ProtocolError> {
        let outside = |name, given: u32, range: std::ops::RangeInclusive<u32>| {
            let (least, most) = (*range.start(), *range.end());
            match range.contains(&given) {
                true => Ok(()),
                false => Err(ProtocolError::OutOfRange {
                    name,
                    given,
                    least,
                    most,
                }),
            }
        };
        outside("rate", self.rate, 8_000..=192_000)?;
        outside("channels", self.channels.into(), 2..=2)?;
        outside("frame_ms", self.frame_ms, FRAME_MS)?;
        outside("prebuffer_ms", self.prebuffer_ms, BUFFER_MS)?;
        match self.codec() {
            Some(_) => Ok(()),
            None => Err(ProtocolError::NoCodec),
        }
    }
}

/// Which stream to go on with, and where.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Resume {
    /// The stream, as `welcome` called it.
    pub stream: u32,
    /// The secret that `welcome` gave with it.
    pub key: String,
    /// Position of the first sample that has not arrived.
    pub next_sample: u64,
}

/// How far the listener's sound card is. It alone lets the server go on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Credit {
    /// Position after the last sample that was played.
    pub played: u64,
    /// Samples that wait to be played.
    pub depth: u64,
    /// Times that nothing was left to play.
    pub underrun: u64,
    /// Frames of silence played in their place.
    pub underrun_frames: u64,
    /// How much to send ahead from now on; unchanged where it is absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target_ms: Option<u32>,
}

/// Other parameters.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Control {
    /// Start from this preset instead of from what is playing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preset: Option<String>,
    /// The parameters to change.
    pub params: Map<String, Value>,
    /// The token of the broadcast's owner, for those who hear it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
}

/// What a client can say.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum ClientMessage {
    /// First.
    Hello(Box<Hello>),
    /// Every 200 ms or so.
    Credit(Credit),
    /// At will.
    Control(Control),
    /// Answered by `pong`.
    Ping {
        /// Given back.
        #[serde(default)]
        id: u64,
    },
    /// The listener will not come back for this stream.
    Bye,
}

/// Reads a text frame.
pub fn parse_client(text: &str) -> Result<ClientMessage, ProtocolError> {
    if text.len() > MOST_TEXT_BYTES {
        return Err(ProtocolError::TooLong {
            most: MOST_TEXT_BYTES,
        });
    }
    let message = serde_json::from_str(text).map_err(|error| ProtocolError::Message {
        // Serde quotes what it saw; nobody needs all of it back.
        what: error.to_string().chars().take(200).collect(),
    })?;
    match &message {
        ClientMessage::Hello(hello) => hello.check()?,
        ClientMessage::Credit(Credit {
            target_ms: Some(given),
            ..
        }) if !BUFFER_MS.contains(given) => {
            return Err(ProtocolError::OutOfRange {
                name: "target_ms",
                given: *given,
                least: *BUFFER_MS.start(),
                most: *BUFFER_MS.end(),
            });
        }
        _ => {}
    }
    Ok(message)
}

/// `current`, or the preset's parameters, with some replaced.
pub fn merged(
    current: &Params,
    preset: Option<Params>,
    changes: &Map<String, Value>,
) -> Result<Params, ProtocolError> {
    let base = preset.unwrap_or(*current);
    if changes.is_empty() {
        return Ok(base);
    }
    let wrong = |error: serde_json::Error| ProtocolError::Message {
        what: error.to_string().chars().take(200).collect(),
    };
    let mut all = serde_json::to_value(base).map_err(wrong)?;
    for (name, value) in changes {
        match (all.get_mut(name), value) {
            (Some(Value::Object(old)), Value::Object(new)) => old.extend(new.clone()),
            (Some(old), new) => *old = new.clone(),
            (None, _) => {
                let known: Vec<&str> = Params::RANGES.iter().map(|range| range.0).collect();
                return Err(ProtocolError::Message {
                    what: format!(
                        "there is no parameter `{}`; there are key, mode, scale, parts, \
                         instruments, {}",
                        name.chars().take(40).collect::<String>(),
                        known.join(", ")
                    ),
                });
            }
        }
    }
    let params: Params = serde_json::from_value(all).map_err(wrong)?;
    params.validate()?;
    Ok(params)
}

/// The answer to `hello`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Welcome {
    /// The stream's number.
    pub stream: u32,
    /// Secret that goes with it, to resume or to control it.
    pub key: String,
    /// How samples are written.
    pub codec: String,
    /// Frames a second.
    pub rate: u32,
    /// Frames of an audio frame.
    pub frame: u32,
    /// Frames that are sent ahead of what has been played.
    pub target: u64,
    /// What renders.
    pub device: String,
    /// The seed that was used.
    pub seed: u64,
    /// Where the first frame begins.
    pub position: u64,
    /// Whether it goes on where the listener was.
    pub resumed: bool,
    /// Whether it is the broadcast.
    pub shared: bool,
    /// The parameters.
    pub params: Params,
}

/// What the server can say.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum ServerMessage {
    /// The answer to `hello`.
    Welcome(Box<Welcome>),
    /// New parameters hold.
    Params {
        /// From this position on.
        at: u64,
        /// All of them.
        params: Params,
    },
    /// The notes of a bar, told before it is heard; in place of any from there on that were told before.
    Score {
        /// Where the bar begins.
        from: u64,
        /// Its notes.
        notes: Vec<Note>,
    },
    /// Something the client requested cannot be done.
    Error {
        /// What.
        finding: Finding,
    },
    /// The answer to `ping`.
    Pong {
        /// As given.
        id: u64,
    },
    /// The server ends.
    Closing {
        /// Why.
        reason: String,
    },
}

impl ServerMessage {
    /// As it stands on the wire.
    pub fn encode(&self) -> String {
        // These types hold nothing that JSON cannot.
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// The built-in preset of that name, if there is one.
pub(crate) fn built_in(name: &str) -> Option<Params> {
    name.parse::<Preset>().ok().map(Params::preset)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_short_hello_is_filled_in() {
        let hello = match parse_client(r#"{"type":"hello","rate":44100}"#) {
            Ok(ClientMessage::Hello(hello)) => hello,
            other => panic!("{other:?}"),
        };
        assert_eq!(
            (hello.rate, hello.frame(), hello.codec()),
            (44_100, 882, Some(Codec::Pcm16))
        );
    }

    #[test]
    fn what_cannot_be_used_is_named() {
        for (text, named) in [
            (r#"{"type":"hello","rate":7999}"#, "`rate` is 7999"),
            (r#"{"type":"hello","channels":1}"#, "`channels` is 1"),
            (r#"{"type":"hello","frame_ms":0}"#, "`frame_ms` is 0"),
            (
                r#"{"type":"hello","prebuffer_ms":99999}"#,
                "`prebuffer_ms` is 99999",
            ),
            (r#"{"type":"hello","codecs":["mp3"]}"#, "pcm16"),
            (r#"{"type":"hello","sample_rate":48000}"#, "sample_rate"),
            (r#"{"type":"credit","played":-1}"#, "-1"),
            (r#"{"type":"credit","target_ms":1}"#, "`target_ms` is 1"),
            (r#"{"type":"sing"}"#, "sing"),
            ("[]", "type"),
            ("", "EOF"),
        ] {
            let error = parse_client(text).unwrap_err().to_string();
            assert!(error.contains(named), "{text}: {error}");
        }
    }

    #[test]
    fn changes_are_merged_and_refused_as_a_whole() {
        let params = Params::default();
        let changes = |text: &str| serde_json::from_str::<Map<String, Value>>(text).unwrap();
        let new = merged(
            &params,
            None,
            &changes(r#"{"intensity":0.9,"parts":{"kicks":false}}"#),
        )
        .unwrap();
        assert!(
            new.intensity == 0.9 && !new.parts.kicks && new.parts.pads && new.bpm == params.bpm
        );
        for wrong in [
            r#"{"intensity":1.1}"#,
            r#"{"tempo":60}"#,
            r#"{"key":"H"}"#,
            r#"{"parts":{"flute":true}}"#,
            r#"{"bpm":null}"#,
        ] {
            assert!(merged(&params, None, &changes(wrong)).is_err(), "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn arbitrary_text_never_panics(text in ".{0,300}") {
            let _ = parse_client(&text);
        }

        #[test]
        fn nearly_right_messages_never_panic(name in "(type|rate|codecs|played|params|resume|seed)", value in "(-?[0-9]{1,25}|null|\\[\\]|\\{\\}|\"hello\"|\"credit\"|1e999|true)") {
            let _ = parse_client(&format!(r#"{{"type":"hello","{name}":{value}}}"#));
            let _ = parse_client(&format!(r#"{{"type":"credit","{name}":{value}}}"#));
            let _ = parse_client(&format!(r#"{{"type":"control","params":{{"{name}":{value}}}}}"#));
        }
    }
}
