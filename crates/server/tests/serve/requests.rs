//! Plain HTTP, as a person at a terminal would do it.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::{Value, json};
use warpsmith_server::{Limits, ServeError, Server, Settings};

use crate::listener::Listener;
use crate::{server, server_with};

pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }
}

/// Sends `request` and reads at most `most` bytes of the answer.
pub(crate) fn send(address: SocketAddr, request: &str, most: u64) -> Answer {
    let mut stream = TcpStream::connect(address).unwrap();
    stream
        .set_read_timeout(Some(Duration::from_secs(20)))
        .unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut bytes = Vec::new();
    stream.take(most).read_to_end(&mut bytes).unwrap();
    let end = bytes
        .windows(4)
        .position(|four| four == b"\r\n\r\n")
        .unwrap();
    let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
    Answer {
        status: head[9..12].parse().unwrap(),
        head,
        body: bytes[end + 4..].to_vec(),
    }
}

pub(crate) fn ask(address: SocketAddr, method: &str, path: &str, body: &str) -> Answer {
    let length = body.len();
    let request = format!(
        "{method} {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{body}"
    );
    send(address, &request, u64::MAX)
}

#[test]
fn the_page_is_there_with_everything_it_loads() {
    let server = server();
    let page = ask(server.address(), "GET", "/", "");
    assert!(
        page.head
            .contains("Cross-Origin-Opener-Policy: same-origin")
    );
    assert!(
        page.head
            .contains("Cross-Origin-Embedder-Policy: require-corp")
    );
    let mut text = String::from_utf8(page.body).unwrap();
    for file in [
        "/style.css",
        "/manifest.webmanifest",
        "/page.js",
        "/score.js",
        "/offline.js",
        "/player.js",
        "/machine.js",
        "/socket.js",
        "/playback.js",
        "/icon.svg",
    ] {
        assert!(text.contains(file), "nothing loads {file}");
        let answer = ask(server.address(), "GET", file, "");
        assert_eq!(answer.status, 200, "{file}");
        text.push_str(&String::from_utf8(answer.body).unwrap());
    }
}

#[test]
fn status_health_and_metrics_answer() {
    let server = server();
    let mut listener = Listener::hello(server.address(), json!({ "seed": 6 }));
    listener.play_until(4_800);
    let status = ask(server.address(), "GET", "/api/status", "").json();
    assert_eq!(status["listeners"]["count"], 1);
    assert_eq!(status["listeners"]["first"][0]["seed"], 6);
    assert!(
        !status
            .to_string()
            .contains(listener.welcome["key"].as_str().unwrap())
    );
    assert_eq!(
        ask(server.address(), "GET", "/api/health", "").json()["status"],
        "ok"
    );
    let metrics = ask(server.address(), "GET", "/api/metrics", "").json();
    assert!(metrics["totals"]["frames"].as_u64() >= Some(5), "{metrics}");
    assert_eq!(metrics["first_audio"]["count"], 1);
    let text = ask(server.address(), "GET", "/metrics", "");
    let text = String::from_utf8(text.body).unwrap();
    for name in [
        "warpsmith_serve_listeners 1\n",
        "warpsmith_serve_render_seconds_bucket{le=\"+Inf\"}",
        "process_resident_memory_bytes ",
    ] {
        assert!(text.contains(name), "{name} in {text}");
    }
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let value = line.rsplit(' ').next().unwrap();
        assert!(value.parse::<f64>().is_ok(), "{line}");
    }
    assert!(ask(server.address(), "GET", "/api/telemetry", "").json()["absent"].is_string());
}

#[test]
fn presets_are_kept_loaded_and_deleted() {
    let server = server();
    let address = server.address();
    let made = ask(
        address,
        "POST",
        "/api/presets",
        r#"{"name":"rain","preset":"sleep","params":{"bpm":41}}"#,
    );
    assert_eq!(
        (made.status, &made.json()["params"]["bpm"]),
        (201, &json!(41.0))
    );
    let list = ask(address, "GET", "/api/presets", "").json();
    assert_eq!(list.as_array().unwrap().len(), 7);
    let mut listener = Listener::hello(address, json!({ "preset": "rain" }));
    assert_eq!(listener.welcome["params"]["bpm"], 41.0);
    let who = json!({ "stream": listener.welcome["stream"], "key": listener.welcome["key"] });
    let loaded = ask(
        address,
        "POST",
        "/api/presets/bright/load",
        &who.to_string(),
    );
    assert_eq!(loaded.status, 200);
    assert_eq!(listener.message("params")["params"]["mode"], "lydian");
    assert_eq!(ask(address, "DELETE", "/api/presets/rain", "").status, 200);
    assert_eq!(ask(address, "DELETE", "/api/presets/rain", "").status, 404);
    assert_eq!(ask(address, "DELETE", "/api/presets/focus", "").status, 404);
    assert_eq!(
        ask(address, "POST", "/api/presets", r#"{"name":"focus"}"#).status,
        400
    );
}

#[test]
fn control_reaches_a_stream_by_its_key_alone() {
    let server = server();
    let address = server.address();
    let mut listener = Listener::hello(address, json!({}));
    let mut wish = json!({ "stream": listener.welcome["stream"], "key": listener.welcome["key"], "params": { "intensity": 0.9 } });
    assert_eq!(
        ask(address, "POST", "/api/control", &wish.to_string()).status,
        200
    );
    assert_eq!(
        listener.message("params")["params"]["intensity"],
        json!(0.9)
    );
    wish["params"]["intensity"] = json!(7);
    let refused = ask(address, "POST", "/api/control", &wish.to_string());
    assert_eq!(
        (refused.status, &refused.json()["finding"]["code"]),
        (400, &json!("Y001"))
    );
    wish["key"] = json!("guess");
    assert_eq!(
        ask(address, "POST", "/api/control", &wish.to_string()).status,
        404
    );
    // Without a stream it is the broadcast's.
    assert_eq!(
        ask(address, "POST", "/api/control", r#"{"preset":"sleep"}"#).status,
        200
    );
    assert_eq!(
        ask(address, "GET", "/api/status", "").json()["broadcast"]["params"]["mode"],
        "phrygian"
    );
}

#[test]
fn only_its_owner_steers_the_broadcast() {
    let owner = "the-owners-own-token";
    let server = server_with(Settings {
        owner: Some(owner.into()),
        ..Settings::default()
    });
    let address = server.address();
    let mode =
        || ask(address, "GET", "/api/status", "").json()["broadcast"]["params"]["mode"].clone();
    let before = mode();
    let mut listener = Listener::hello(address, json!({ "shared": true }));
    // Not without the token: by name, as a listener of it, by a preset, and over its connection.
    let key = json!({ "stream": listener.welcome["stream"], "key": listener.welcome["key"], "preset": "sleep" });
    for (path, wish) in [
        ("/api/control", json!({ "preset": "sleep" })),
        (
            "/api/control",
            json!({ "preset": "sleep", "owner": "a-guess-of-that-token" }),
        ),
        ("/api/control", key),
        ("/api/presets/sleep/load", json!({})),
    ] {
        let answer = ask(address, "POST", path, &wish.to_string());
        assert_eq!(
            (answer.status, &answer.json()["finding"]["code"]),
            (403, &json!("W008")),
            "{path} {wish}"
        );
    }
    listener.say(&json!({ "type": "control", "preset": "sleep" }));
    assert_eq!(listener.finding(), "W008");
    assert_eq!(mode(), before, "nobody changed it");
    // A stream of one's own is one's own.
    let mut own = Listener::hello(address, json!({}));
    own.say(&json!({ "type": "control", "params": { "intensity": 0.9 } }));
    assert_eq!(own.message("params")["params"]["intensity"], json!(0.9));
    // The owner does.
    listener.say(&json!({ "type": "control", "preset": "sleep", "owner": owner }));
    assert_eq!(listener.message("params")["params"]["mode"], "phrygian");
    let wish = json!({ "params": { "intensity": 0.5 }, "owner": owner });
    assert_eq!(
        ask(address, "POST", "/api/control", &wish.to_string()).status,
        200
    );
}

#[test]
fn what_is_not_there_is_said_with_a_finding() {
    let server = server();
    for (method, path, body, status, code) in [
        ("GET", "/etc/passwd", "", 404, "W011"),
        ("GET", "/../Cargo.toml", "", 404, "W011"),
        ("PUT", "/api/status", "", 405, "W011"),
        ("GET", "/ws", "", 426, "W011"),
        ("POST", "/api/control", "{", 400, "W001"),
        ("POST", "/api/control", r#"{"preset":"disco"}"#, 400, "Y002"),
        ("POST", "/api/render", r#"{"seconds":1e9}"#, 400, "W001"),
        ("POST", "/api/render", r#"{"rate":7}"#, 400, "Y003"),
        ("GET", "/stream.wav?bpm=9999", "", 400, "Y001"),
    ] {
        let answer = ask(server.address(), method, path, body);
        assert_eq!(
            (answer.status, &answer.json()["finding"]["code"]),
            (status, &json!(code)),
            "{method} {path}"
        );
    }
    assert_eq!(
        send(server.address(), "nonsense\r\n\r\n", 1_000).status,
        400
    );
}

#[test]
fn foreign_pages_are_refused_also_for_websockets() {
    let server = server();
    let address = server.address();
    for header in ["Origin: http://evil.example", "Origin: null"] {
        let request = format!(
            "GET /ws HTTP/1.1\r\nHost: {address}\r\n{header}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
             Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
        );
        assert_eq!(send(address, &request, 500).status, 403, "{header}");
    }
    let rebound = "GET /api/status HTTP/1.1\r\nHost: evil.example\r\n\r\n";
    assert_eq!(send(address, rebound, 500).status, 403);
}

#[test]
fn pages_of_an_allowed_origin_can_read_answers() {
    let server = server_with(Settings {
        origins: vec!["https://radio.example".into()],
        token: Some("0123456789abcdef0123456789abcdef".into()),
        ..Settings::default()
    });
    let address = server.address();
    let say = |method: &str, path: &str, headers: &str| {
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: {address}\r\n{headers}Connection: close\r\n\r\n"
        );
        send(address, &request, u64::MAX)
    };
    let origin = "Origin: https://radio.example\r\n";
    // A browser asks first, and has no token then.
    let asked = say(
        "OPTIONS",
        "/api/control",
        &format!("{origin}Access-Control-Request-Method: POST\r\n"),
    );
    assert_eq!(asked.status, 204);
    assert!(
        asked
            .head
            .contains("Access-Control-Allow-Headers: authorization")
    );
    let with_token = format!("{origin}Authorization: Bearer 0123456789abcdef0123456789abcdef\r\n");
    for (headers, status) in [(with_token.as_str(), 200), (origin, 401)] {
        let answer = say("GET", "/api/status", headers);
        assert_eq!(answer.status, status);
        let allowed = "Access-Control-Allow-Origin: https://radio.example\r\n";
        assert!(answer.head.contains(allowed), "{}", answer.head);
        assert!(answer.head.contains("Vary: Origin"));
    }
    // Nobody else is told anything.
    let foreign = say(
        "OPTIONS",
        "/api/control",
        "Origin: https://evil.example\r\n",
    );
    assert_eq!(foreign.status, 403);
    assert!(!foreign.head.contains("Access-Control"));
    assert!(!say("GET", "/", "").head.contains("Access-Control"));
}

#[test]
fn reading_the_matrix_does_not_measure_it() {
    let server = server();
    let address = server.address();
    let mut follower = TcpStream::connect(address).unwrap();
    let request = format!("GET /api/matrix?again HTTP/1.1\r\nHost: {address}\r\n\r\n");
    follower.write_all(request.as_bytes()).unwrap();
    let wait = |seconds| Some(Duration::from_secs(seconds));
    follower.set_read_timeout(wait(20)).unwrap();
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        follower.read_exact(&mut byte).unwrap();
        head.extend(byte);
    }
    // The first line names the device, before anything is measured.
    follower.set_read_timeout(wait(1)).unwrap();
    follower.read_exact(&mut [0]).unwrap_err();
    assert_eq!(ask(address, "POST", "/api/matrix", "").status, 202);
    follower.set_read_timeout(wait(20)).unwrap();
    follower.read_exact(&mut [0]).unwrap();
}

#[test]
fn beyond_loopback_a_token_is_needed() {
    let open = Settings {
        listen: ([0, 0, 0, 0], 0).into(),
        ..Settings::default()
    };
    assert!(matches!(
        Server::start(open.clone()),
        Err(ServeError::Open { .. })
    ));
    let short = Settings {
        token: Some("secret".into()),
        ..open
    };
    assert!(matches!(Server::start(short), Err(ServeError::Token)));
    let token = "a-token-of-some-length";
    let server = server_with(Settings {
        token: Some(token.into()),
        ..Settings::default()
    });
    let address = server.address();
    assert_eq!(ask(address, "GET", "/", "").status, 200);
    assert_eq!(ask(address, "GET", "/api/health", "").status, 200);
    for path in ["/api/status", "/stream.wav", "/ws", "/metrics"] {
        let answer = ask(address, "GET", path, "");
        assert_eq!(
            (answer.status, &answer.json()["finding"]["code"]),
            (401, &json!("W008")),
            "{path}"
        );
    }
    let request = format!(
        "GET /api/status HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\nConnection: close\r\n\r\n"
    );
    assert_eq!(send(address, &request, u64::MAX).status, 200);
}

#[test]
fn listeners_beyond_the_limit_are_told_to_come_back() {
    let limits = Limits {
        listeners: 1,
        ..Limits::default()
    };
    let server = server_with(Settings {
        limits,
        ..Settings::default()
    });
    let mut first = Listener::hello(server.address(), json!({}));
    let mut second = Listener::connect(server.address());
    second.say(&json!({ "type": "hello" }));
    assert_eq!(second.finding(), "W009");
    assert_eq!(ask(server.address(), "GET", "/stream.wav", "").status, 503);
    assert_eq!(
        ask(server.address(), "GET", "/api/health", "").json()["status"],
        "full"
    );
    first.play_until(48_000);
    assert!(first.seen.is_whole());
}

#[test]
fn requests_that_a_proxy_could_read_otherwise_are_refused() {
    let server = server();
    let address = server.address();
    for (head, status) in [
        ("Host: 127.0.0.1\r\nContent-Length: +2\r\n", 400),
        (
            "Host: 127.0.0.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n",
            400,
        ),
        ("Host: 127.0.0.1\r\nHost: 127.0.0.1\r\n", 400),
        ("Host: 127.0.0.1:80@evil\r\n", 400),
        ("Host: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n", 411),
        ("Host: 127.0.0.1\r\nContent-Length: 99999999\r\n", 413),
    ] {
        let request = format!("POST /api/control HTTP/1.1\r\n{head}\r\n{{}}");
        let answer = send(address, &request, u64::MAX);
        assert_eq!(answer.status, status, "{head}");
        assert_eq!(answer.json()["finding"]["code"], "W001", "{head}");
    }
    let whole = format!("GET http://{address}/api/health HTTP/1.1\r\nConnection: close\r\n\r\n");
    assert_eq!(send(address, &whole, u64::MAX).status, 200);
    let foreign = format!("GET http://evil.example/ HTTP/1.1\r\nHost: {address}\r\n\r\n");
    assert_eq!(send(address, &foreign, 500).status, 403);
}
