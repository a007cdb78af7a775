//! What clients send to the server, and what a client reads from it; the frames that carry both.

use warpsmith_http::websocket::{Role, decode};
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

/// Longer messages are refused, as the server does.
const LONGEST: usize = 1 << 16;

pub(super) const WEBSOCKET: Target = Target {
    name: "websocket",
    run: |data| {
        for role in [Role::Server, Role::Client] {
            let _ = decode(role, LONGEST, data);
        }
    },
    dictionary: &["\u{81}", "\u{82}", "\u{88}", "\u{89}", "\u{7f}", "\u{7e}"],
};
