//! Sound as files.

use std::io::{Read, Write};

use serde_json::json;
use warpsmith_formats::wav::WavFormat;
use warpsmith_synth::midi_file::midi_file;
use warpsmith_synth::{Params, Preset, Stream, compose};

use crate::requests::{ask, send};
use crate::server;

#[test]
fn a_rendered_file_is_the_stream_of_its_seed() {
    let server = server();
    let order = r#"{"seed":5,"seconds":1.5,"preset":"sleep","params":{"bpm":50}}"#;
    let answer = ask(server.address(), "POST", "/api/render", order);
    assert_eq!(answer.status, 200);
    let params = Params {
        bpm: 50.0,
        ..Params::preset(Preset::Sleep)
    };
    let mut samples = vec![0i16; 2 * 72_000];
    Stream::new(5, params).unwrap().render_into(&mut samples);
    let mut expected = WavFormat::pcm16(48_000, 2).head(72_000);
    expected.extend(samples.iter().flat_map(|sample| sample.to_le_bytes()));
    assert!(answer.body == expected);
}

#[test]
fn the_notes_of_a_piece_are_a_midi_file() {
    let server = server();
    let order = r#"{"seed":5,"seconds":20,"preset":"sleep"}"#;
    let answer = ask(server.address(), "POST", "/api/midi", order);
    assert_eq!(answer.status, 200);
    let params = Params::preset(Preset::Sleep);
    let notes = compose(5, &params, 48_000, 20 * 48_000);
    assert!(answer.body == midi_file(&notes, &params, 5, 48_000));
    for wrong in [
        r#"{"seconds":0}"#,
        r#"{"seconds":4000}"#,
        r#"{"params":{"scale":[0,700,500]}}"#,
    ] {
        assert_eq!(
            ask(server.address(), "POST", "/api/midi", wrong).status,
            400,
            "{wrong}"
        );
    }
}

#[test]
fn the_endless_file_begins_at_once_and_does_not_run_ahead() {
    let server = server();
    let address = server.address();
    let request = format!(
        "GET /stream.wav?seed=5&rate=44100&key=F%23&bpm=90 HTTP/1.1\r\nHost: {address}\r\n\r\n"
    );
    let answer = send(address, &request, 300_000);
    assert_eq!(answer.status, 200);
    assert!(answer.head.contains("audio/wav") && !answer.head.contains("Content-Length"));
    let params = Params {
        bpm: 90.0,
        key: "F#".parse().unwrap(),
        ..Params::default()
    };
    let settings = warpsmith_synth::StreamSettings {
        sample_rate: 44_100,
        ..Default::default()
    };
    let count = (answer.body.len() - 44) / 2;
    let mut samples = vec![0i16; count & !1];
    Stream::with_settings(5, params, settings)
        .unwrap()
        .render_into(&mut samples);
    let expected: Vec<u8> = samples
        .iter()
        .flat_map(|sample| sample.to_le_bytes())
        .collect();
    assert!(answer.body[44..44 + expected.len()] == expected);
    // A thousandth of a second of work per second: what was rendered is what the clock allows.
    let metrics = ask(address, "GET", "/api/metrics", "").json();
    assert_eq!(metrics["listeners"], 0);
}

/// The number behind a name on the metrics page.
fn metric(server: &warpsmith_server::Server, name: &str) -> u64 {
    server.metrics()[name].as_u64().unwrap()
}

#[test]
fn whoever_hears_the_endless_file_is_counted_until_they_leave() {
    let server = server();
    let address = server.address();
    assert_eq!(metric(&server, "wav_listeners"), 0);
    let listen = || {
        let mut socket = std::net::TcpStream::connect(address).unwrap();
        let request = format!("GET /stream.wav HTTP/1.1\r\nHost: {address}\r\n\r\n");
        socket.write_all(request.as_bytes()).unwrap();
        // The head, and some sound.
        socket.read_exact(&mut [0; 4_096]).unwrap();
        socket
    };
    let (one, two) = (listen(), listen());
    assert_eq!(metric(&server, "wav_listeners"), 2);
    let status = ask(address, "GET", "/api/status", "").json();
    assert_eq!(
        (&status["listeners"]["wav"], &status["listeners"]["count"]),
        (&json!(2), &json!(0))
    );
    let page = ask(address, "GET", "/metrics", "");
    let page = String::from_utf8(page.body).unwrap();
    assert!(page.contains("warpsmith_serve_wav_listeners 2\n"), "{page}");
    assert!(server.metrics()["totals"]["wav_bytes"].as_u64() > Some(4_096));
    drop((one, two));
    let begun = std::time::Instant::now();
    while metric(&server, "wav_listeners") > 0 && begun.elapsed().as_secs() < 30 {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    assert_eq!(metric(&server, "wav_listeners"), 0);
}
