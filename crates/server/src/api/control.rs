//! Steering from outside a connection: parameters and presets.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use warpsmith_core::Finding;
use warpsmith_http::{Answer, Request};
use warpsmith_synth::Params;

use super::route::missing;
use crate::error::ProtocolError;
use crate::protocol::merged;
use crate::response;
use crate::server::Shared;

/// Whom to steer: a listener by stream and key, or the broadcast.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Wish {
    stream: Option<u32>,
    key: String,
    /// The token of the broadcast's owner.
    owner: Option<String>,
    preset: Option<String>,
    params: Map<String, Value>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct NewPreset {
    name: String,
    #[serde(default)]
    preset: Option<String>,
    #[serde(default)]
    params: Map<String, Value>,
}

/// Reads a body of JSON; an empty one is an empty object.
pub(super) fn body<T: DeserializeOwned>(request: &Request) -> Result<T, ProtocolError> {
    let bytes = match request.body() {
        [] => b"{}",
        bytes => bytes,
    };
    serde_json::from_slice(bytes).map_err(|error| ProtocolError::Message {
        what: error.to_string().chars().take(200).collect(),
    })
}

pub(super) fn refused(error: &ProtocolError) -> Answer {
    response::finding(error.status(), &error.finding())
}

pub(super) fn control(request: &Request, shared: &Shared) -> Answer {
    match body(request) {
        Ok(wish) => apply(&wish, shared),
        Err(error) => refused(&error),
    }
}

fn apply(wish: &Wish, shared: &Shared) -> Answer {
    let seat = match wish.stream {
        None => None,
        Some(stream) => match shared.seats.find(stream, &wish.key) {
            Some(seat) => Some(seat),
            None => return missing(404, "no listener has this stream and key"),
        },
    };
    // Those who hear the broadcast steer the broadcast.
    let seat = seat.filter(|seat| !seat.shared);
    if seat.is_none()
        && let Err(error) = shared.access.check_owner(wish.owner.as_deref())
    {
        return refused(&error);
    }
    let current = seat
        .as_ref()
        .map_or_else(|| shared.broadcast.params(), |seat| seat.params());
    let params = match wanted(shared, &current, wish.preset.as_deref(), &wish.params) {
        Ok(params) => params,
        Err(error) => return refused(&error),
    };
    match &seat {
        Some(seat) => seat.wish(params),
        None => shared.broadcast.set_params(params),
    }
    shared.events.tell(
        "control",
        || json!({ "stream": seat.as_ref().map(|seat| seat.stream), "params": params }),
    );
    response::json(200, &json!({ "params": params }))
}

/// The preset's parameters, or the current ones, with some replaced.
pub(crate) fn wanted(
    shared: &Shared,
    current: &Params,
    preset: Option<&str>,
    changes: &Map<String, Value>,
) -> Result<Params, ProtocolError> {
    let preset = preset.map(|name| shared.presets.find(name)).transpose()?;
    merged(current, preset, changes)
}

pub(super) fn keep_preset(request: &Request, shared: &Shared) -> Answer {
    let kept = |new: NewPreset| -> Result<Params, Box<Finding>> {
        let params = wanted(shared, &shared.params, new.preset.as_deref(), &new.params)
            .map_err(|error| Box::new(error.finding()))?;
        shared.presets.keep(&new.name, params)?;
        Ok(params)
    };
    match body(request)
        .map_err(|error| Box::new(error.finding()))
        .and_then(kept)
    {
        Ok(params) => response::json(201, &json!({ "params": params })),
        Err(finding) => response::finding(400, &finding),
    }
}

/// `/api/presets/NAME` and `/api/presets/NAME/load`.
pub(super) fn preset(method: &str, rest: &str, request: &Request, shared: &Shared) -> Answer {
    match (method, rest.strip_suffix("/load")) {
        ("POST", Some(name)) => match body::<Wish>(request) {
            Ok(wish) => apply(
                &Wish {
                    preset: Some(name.to_owned()),
                    ..wish
                },
                shared,
            ),
            Err(error) => refused(&error),
        },
        ("DELETE", None) => match shared.presets.forget(rest) {
            true => response::json(200, &json!({ "forgotten": rest })),
            false => missing(404, "no preset of this name is kept; built-in ones stay"),
        },
        ("GET" | "HEAD", None) => match shared.presets.find(rest) {
            Ok(params) => response::json(200, &params),
            Err(error) => response::finding(404, &error.finding()),
        },
        _ => missing(405, "presets take GET, DELETE and POST …/load"),
    }
}
