//! Sound as files: `GET /stream.wav` without an end, `POST /api/render` of a given length, and its notes
//! as `POST /api/midi`.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Map, Number, Value};
use warpsmith_core::{Finding, Severity};
use warpsmith_http::{Answer, Reply, Request};
use warpsmith_synth::midi_file::midi_file;
use warpsmith_synth::{Stream, StreamSettings, compose_with};

use super::control::{body, refused, wanted};
use super::route::stream;
use crate::error::ProtocolError;
use crate::response;
use crate::secret;
use crate::server::Shared;
use crate::wav::{self, WavFile};

/// The longest file that is rendered on demand: an hour.
const MOST_SECONDS: f64 = 3_600.0;

#[derive(Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Order {
    seed: Option<u64>,
    rate: u32,
    seconds: f64,
    preset: Option<String>,
    params: Map<String, Value>,
}

impl Default for Order {
    fn default() -> Self {
        Self {
            seed: None,
            rate: 48_000,
            seconds: 60.0,
            preset: None,
            params: Map::new(),
        }
    }
}

impl Order {
    /// From a query; what is no field of its own is a parameter of the music.
    fn from_query(request: &Request) -> Result<Self, ProtocolError> {
        let number = |name: &str, text: &str| ProtocolError::Message {
            what: format!("`{name}={text:.40}` is not a number"),
        };
        let mut order = Self::default();
        for (name, text) in request.queries() {
            match name {
                "token" => {}
                "seed" => order.seed = Some(text.parse().map_err(|_| number(name, text))?),
                "rate" => order.rate = text.parse().map_err(|_| number(name, text))?,
                "preset" => order.preset = Some(text.to_owned()),
                _ => {
                    let parsed = text.parse().ok().and_then(Number::from_f64);
                    let value = parsed.map_or_else(|| Value::from(text), Value::Number);
                    order.params.insert(name.to_owned(), value);
                }
            }
        }
        Ok(order)
    }

    fn check_seconds(&self) -> Result<(), ProtocolError> {
        if self.seconds > 0.0 && self.seconds <= MOST_SECONDS {
            return Ok(());
        }
        Err(ProtocolError::Message {
            what: format!("`seconds` is {}, outside 0 to {MOST_SECONDS}", self.seconds),
        })
    }

    fn stream(&self, shared: &Shared) -> Result<Stream, ProtocolError> {
        let params = wanted(shared, &shared.params, self.preset.as_deref(), &self.params)?;
        let settings = StreamSettings {
            sample_rate: self.rate,
            ..StreamSettings::default()
        };
        let seed = self.seed.unwrap_or_else(secret::seed);
        Ok(Stream::with_settings(seed, params, settings)?)
    }
}

fn refuse(error: &ProtocolError) -> Reply {
    Reply::Whole(refused(error))
}

fn full(message: &str) -> Reply {
    let finding = Finding::new("W009", Severity::Error, message);
    Reply::Whole(response::finding(503, &finding))
}

/// Sends a file; a listener who has heard enough just goes.
fn send(file: WavFile) -> Reply {
    stream(file.head(), move |socket| async move {
        let _ = wav::send(socket, file).await;
    })
}

pub(super) fn endless(request: &Request, shared: &Arc<Shared>) -> Reply {
    let stream = Order::from_query(request).and_then(|order| order.stream(shared));
    let stream = match stream {
        Ok(stream) => stream,
        Err(error) => return refuse(&error),
    };
    let Ok(place) = Arc::clone(&shared.listeners).try_acquire_owned() else {
        return full("there are too many listeners");
    };
    let files = &shared.wav_listeners;
    send(WavFile {
        stream,
        frames: None,
        place,
        sending: files.begin(),
        metrics: Arc::clone(&shared.metrics),
        stopping: shared.stopping.clone(),
    })
}

/// The notes of the same music as a MIDI file.
pub(super) fn midi(request: &Request, shared: &Shared) -> Answer {
    let made = || -> Result<Vec<u8>, ProtocolError> {
        let order: Order = body(request)?;
        order.check_seconds()?;
        let stream = order.stream(shared)?;
        let (settings, seed) = (stream.settings(), stream.seed());
        let frames = (order.seconds * f64::from(settings.sample_rate)).round() as u64;
        let notes = compose_with(seed, stream.params(), settings, frames);
        Ok(midi_file(
            &notes,
            stream.params(),
            seed,
            settings.sample_rate,
        ))
    };
    match made() {
        Ok(file) => response::whole(200, "audio/midi", file),
        Err(error) => refused(&error),
    }
}

pub(super) fn render(request: &Request, shared: &Arc<Shared>) -> Reply {
    let order: Order = match body(request) {
        Ok(order) => order,
        Err(error) => return refuse(&error),
    };
    if let Err(error) = order.check_seconds() {
        return refuse(&error);
    }
    let stream = match order.stream(shared) {
        Ok(stream) => stream,
        Err(error) => return refuse(&error),
    };
    let Ok(place) = Arc::clone(&shared.renders).try_acquire_owned() else {
        return full("other files are being rendered; come back in a moment");
    };
    let frames = (order.seconds * f64::from(order.rate)).round() as u64;
    let files = &shared.wav_renders;
    send(WavFile {
        stream,
        frames: Some(frames),
        place,
        sending: files.begin(),
        metrics: Arc::clone(&shared.metrics),
        stopping: shared.stopping.clone(),
    })
}
