//! What the server is doing, for people, programs and Prometheus.

use serde_json::json;
use warpsmith_http::Answer;
use warpsmith_synth::{Mode, Params, Patch};
use warpsmith_telemetry::Clock;
use warpsmith_telemetry::exporter::{ProcessSeries, metrics_text};

use crate::protocol::{BUFFER_MS, Codec, FRAME_MS, SUBPROTOCOL};
use crate::response;
use crate::server::Shared;

/// Listeners that are listed one by one.
const LISTED: usize = 200;
const PATHS: [&str; 15] = [
    "GET /",
    "GET /ws",
    "GET /stream.wav",
    "GET /metrics",
    "GET /api/status",
    "GET /api/health",
    "GET /api/metrics",
    "GET|POST /api/presets",
    "DELETE /api/presets/NAME",
    "POST /api/presets/NAME/load",
    "POST /api/control",
    "POST /api/render",
    "POST /api/midi",
    "GET|POST /api/matrix",
    "GET /api/events",
];

pub(super) fn status(shared: &Shared) -> Answer {
    let ranges: serde_json::Map<_, _> = Params::RANGES
        .iter()
        .map(|(name, least, most)| ((*name).to_owned(), json!([least, most])))
        .collect();
    let broadcast = &shared.broadcast;
    response::json(
        200,
        &json!({
            "version": env!("CARGO_PKG_VERSION"),
            "protocol": SUBPROTOCOL,
            "device": shared.device(),
            "findings": shared.desk.as_ref().and_then(|desk| desk.loss()).into_iter().collect::<Vec<_>>(),
            "codecs": Codec::offered().map(Codec::name).collect::<Vec<_>>(),
            "frame_ms": [FRAME_MS.start(), FRAME_MS.end()],
            "prebuffer_ms": [BUFFER_MS.start(), BUFFER_MS.end()],
            "limits": {
                "connections": shared.limits.connections,
                "listeners": shared.limits.listeners,
                "per_client": shared.limits.per_client,
                "messages_per_second": shared.limits.messages_per_second,
            },
            "params": { "ranges": ranges, "modes": Mode::NAMES, "instruments": Patch::NAMES, "default": shared.params },
            "broadcast": {
                "seed": broadcast.seed(),
                "position": broadcast.position(),
                "listeners": broadcast.listeners(),
                "params": broadcast.params(),
                "steered_by_all": shared.access.check_owner(None).is_ok(),
            },
            "listeners": { "count": shared.seats.count(), "wav": shared.wav_listeners.count(), "first": shared.seats.json(LISTED) },
            "paths": PATHS,
        }),
    )
}

/// Well unless it is ending, or has no room.
pub(super) fn health(shared: &Shared) -> Answer {
    let stopping = *shared.stopping.borrow();
    let room = shared.listeners.available_permits();
    let (status, word) = match (stopping, room) {
        (true, _) => (503, "stopping"),
        (false, 0) => (503, "full"),
        (false, _) => (200, "ok"),
    };
    response::json(
        status,
        &json!({
            "status": word,
            "room_for_listeners": room,
            "uptime_seconds": shared.metrics.uptime_seconds(),
        }),
    )
}

pub(super) fn metrics(shared: &Shared) -> Answer {
    response::json(200, &shared.metrics.json(&shared.gauges()))
}

pub(super) fn prometheus(shared: &Shared) -> Answer {
    let mut text = shared.metrics.text(&shared.gauges());
    if let Some(board) = &shared.board {
        metrics_text(
            &board.now(),
            Clock::System.now(),
            ProcessSeries::Off,
            &mut text,
        );
    }
    response::whole(200, "text/plain; version=0.0.4; charset=utf-8", text)
}

/// The GPUs and the host, as the sampler sees them.
pub(super) fn telemetry(shared: &Shared) -> Answer {
    match &shared.board {
        Some(board) => response::json(200, &*board.now()),
        None => response::json(200, &json!({ "absent": "this server samples no GPUs" })),
    }
}
