//! What clients send to the server, and what a client reads from it.

use warpsmith_server::protocol::{FrameHead, parse_client};

use super::{Target, text};

pub(super) const MESSAGE: Target = Target {
    name: "server_message",
    run: |data| {
        text(data, |message| {
            let _ = parse_client(message);
        });
    },
    dictionary: &[
        "{\"type\":\"",
        "\"start\"",
        "\"stop\"",
        "\"seed\":",
        "\"params\":",
        "\"id\":",
        "null",
        "[[",
        "1e400",
        "\\ud800",
    ],
};

pub(super) const FRAME: Target = Target {
    name: "server_frame",
    run: |data| {
        let _ = FrameHead::parse(data);
    },
    dictionary: &["WSM1"],
};
