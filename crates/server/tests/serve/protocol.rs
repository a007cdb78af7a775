//! Hello, credit, resume, parameters: as the protocol says.

use std::time::Duration;

use serde_json::json;
use warpsmith_synth::{Params, Preset, Stream, StreamSettings};

use crate::listener::Listener;
use crate::{server, server_with};

/// The bytes of a stream, rendered here.
fn rendered(seed: u64, params: Params, rate: u32, frames: usize) -> Vec<u8> {
    let settings = StreamSettings {
        sample_rate: rate,
        ..StreamSettings::default()
    };
    let mut stream = Stream::with_settings(seed, params, settings).unwrap();
    let mut samples = vec![0i16; 2 * frames];
    stream.render_into(&mut samples);
    samples
        .iter()
        .flat_map(|sample| sample.to_le_bytes())
        .collect()
}

#[test]
fn what_arrives_is_what_was_rendered_whatever_the_frames() {
    let server = server();
    for (rate, frame_ms, prebuffer_ms) in [
        (48_000, 5, 20),
        (48_000, 100, 300),
        (44_100, 20, 120),
        (96_000, 20, 120),
    ] {
        let hello = json!({ "rate": rate, "frame_ms": frame_ms, "prebuffer_ms": prebuffer_ms, "seed": 9, "preset": "bright" });
        let mut listener = Listener::hello(server.address(), hello);
        assert_eq!(
            (&listener.welcome["rate"], &listener.welcome["seed"]),
            (&json!(rate), &json!(9))
        );
        listener.play_until(u64::from(rate));
        assert!(listener.seen.is_whole(), "{:?}", listener.seen);
        let expected = rendered(9, Params::preset(Preset::Bright), rate, rate as usize);
        assert!(
            listener.payload[..expected.len()] == expected,
            "{rate} Hz in frames of {frame_ms} ms"
        );
    }
}

#[test]
fn floats_are_the_same_music() {
    let server = server();
    let mut listener = Listener::hello(
        server.address(),
        json!({ "codecs": ["mp3", "f32"], "seed": 3 }),
    );
    assert_eq!(listener.welcome["codec"], "f32");
    listener.play_until(9_600);
    let mut expected = vec![0f32; 2 * 9_600];
    Stream::new(3, Params::default())
        .unwrap()
        .render_into(&mut expected);
    let expected: Vec<u8> = expected
        .iter()
        .flat_map(|sample| sample.to_le_bytes())
        .collect();
    assert!(listener.payload[..expected.len()] == expected);
}

#[test]
fn two_listeners_hear_different_pieces_and_nothing_beyond_their_credit() {
    let server = server();
    let hello = json!({ "codecs": ["tag"], "prebuffer_ms": 100, "frame_ms": 20 });
    let mut first = Listener::hello(server.address(), hello.clone());
    let mut second = Listener::hello(server.address(), hello);
    assert_ne!(first.welcome["seed"], second.welcome["seed"]);
    assert_ne!(first.welcome["stream"], second.welcome["stream"]);
    first.take_until(4_800);
    second.take_until(4_800);
    second.credit(4_800);
    second.play_until(48_000);
    // The first gave no credit: a pong is all that comes.
    first.say(&json!({ "type": "ping", "id": 5 }));
    assert_eq!(first.message("pong")["id"], 5);
    assert_eq!(first.received(), 4_800);
    assert!(first.seen.is_whole() && second.seen.is_whole());
}

#[test]
fn parameters_change_at_a_boundary_and_the_music_goes_on_from_there() {
    let server = server();
    let mut listener = Listener::hello(server.address(), json!({ "seed": 4, "prebuffer_ms": 40 }));
    listener.play_until(48_000);
    listener.say(&json!({ "type": "control", "params": { "brightness": 1.0, "volume": 0.3 } }));
    let changed = listener.message("params");
    let at = changed["at"].as_u64().unwrap();
    assert_eq!(changed["params"]["volume"], json!(0.3));
    listener.credit(listener.received());
    listener.play_until(at + 48_000);
    assert_eq!(listener.boundaries, [at]);
    assert!(listener.seen.is_whole());
    let mut stream = Stream::new(4, Params::default()).unwrap();
    let mut samples = vec![0i16; 2 * at as usize];
    stream.render_into(&mut samples);
    stream
        .set_params(Params {
            brightness: 1.0,
            volume: 0.3,
            ..Params::default()
        })
        .unwrap();
    let mut after = vec![0i16; 2 * 48_000];
    stream.render_into(&mut after);
    samples.extend(after);
    let expected: Vec<u8> = samples
        .iter()
        .flat_map(|sample| sample.to_le_bytes())
        .collect();
    assert!(listener.payload[..expected.len()] == expected);
    // What cannot be set is refused, and nothing changes.
    listener.say(&json!({ "type": "control", "params": { "bpm": 500 } }));
    assert_eq!(listener.finding(), "Y001");
    listener.say(&json!({ "type": "control", "preset": "disco" }));
    assert_eq!(listener.finding(), "Y002");
}

#[test]
fn a_broken_connection_is_resumed_without_losing_a_sample() {
    let server = server();
    let hello = json!({ "codecs": ["tag"], "prebuffer_ms": 200 });
    let mut listener = Listener::hello(server.address(), hello.clone());
    listener.play_until(30_000);
    let (stream, key) = (
        listener.welcome["stream"].clone(),
        listener.welcome["key"].clone(),
    );
    let next = listener.received();
    // Frames that were under way when the connection broke.
    listener.credit(next);
    let mut seen = listener.seen;
    drop(listener);
    let mut resuming = hello.clone();
    resuming["resume"] = json!({ "stream": stream, "key": key, "next_sample": next });
    let mut again = Listener::connect(server.address());
    seen.reconnected();
    again.seen = seen;
    again.say_hello(resuming.clone());
    assert_eq!(
        (&again.welcome["resumed"], &again.welcome["position"]),
        (&json!(true), &json!(next))
    );
    again.play_until(next + 48_000);
    assert!(again.seen.is_whole(), "{:?}", again.seen);
    // A second connection takes over from one that is still open.
    let next = again.received();
    resuming["resume"]["next_sample"] = json!(next);
    let mut third = Listener::connect(server.address());
    third.seen = again.seen;
    third.seen.reconnected();
    third.say_hello(resuming.clone());
    third.play_until(next + 9_600);
    assert!(third.seen.is_whole());
    assert_eq!(again.closing_code(), 1001);
    // Not for a guessed key, not at another rate, and not after bye.
    drop(third);
    for (field, value) in [
        ("key", json!("0")),
        ("next_sample", json!(0)),
        ("stream", json!(9_999)),
    ] {
        let mut wrong = resuming.clone();
        wrong["type"] = json!("hello");
        wrong["resume"][field] = value;
        let mut stranger = Listener::connect(server.address());
        stranger.say(&wrong);
        assert_eq!(stranger.finding(), "W007", "{field}");
    }
}

#[test]
fn hello_is_checked_and_may_be_said_again_when_it_was_refused() {
    let server = server();
    let mut listener = Listener::connect(server.address());
    for (message, code) in [
        (json!({ "type": "credit", "played": 0 }), "W004"),
        (json!({ "type": "hello", "rate": 1 }), "W003"),
        (json!({ "type": "hello", "preset": "disco" }), "Y002"),
        (json!({ "type": "hello", "params": { "key": "H" } }), "W001"),
        (json!({ "type": "hello", "colour": "red" }), "W001"),
        (json!({ "type": "sing" }), "W001"),
    ] {
        listener.say(&message);
        assert_eq!(listener.finding(), code, "{message}");
    }
    listener.say_hello(json!({}));
    listener.play_until(960);
    listener.say(&json!({ "type": "hello" }));
    assert_eq!(listener.finding(), "W004");
    listener.say(&json!({ "type": "credit", "played": 1_000_000 }));
    assert_eq!(listener.finding(), "W005");
    assert_eq!(listener.closing_code(), 1008);
}

#[test]
fn all_hear_the_same_broadcast_at_the_same_positions() {
    let server = server_with(warpsmith_server::Settings {
        seed: 77,
        ..warpsmith_server::Settings::default()
    });
    let hello = json!({ "shared": true, "prebuffer_ms": 100 });
    let mut first = Listener::hello(server.address(), hello.clone());
    first.play_until(9_600);
    let mut second = Listener::hello(server.address(), hello);
    // Who joins late gets the buffer at once, and then the same as everybody.
    let begin = second.welcome["position"].as_u64().unwrap();
    assert!(begin > 0 && begin <= first.received());
    second.play_until(begin + 24_000);
    first.play_until(begin + 24_000);
    assert!(first.seen.is_whole() && second.seen.is_whole());
    let start = first.welcome["position"].as_u64().unwrap();
    let offset = 4 * (begin - start) as usize;
    let count = second.payload.len().min(first.payload.len() - offset);
    assert!(first.payload[offset..offset + count] == second.payload[..count]);
    let expected = rendered(77, Params::default(), 48_000, first.received() as usize);
    assert!(first.payload[..] == expected[4 * start as usize..]);
    // One listener's wish is heard by all, at the same place.
    second.say(&json!({ "type": "control", "preset": "sleep" }));
    let at = second.message("params")["at"].as_u64().unwrap();
    assert_eq!(first.message("params")["at"], at);
    assert_eq!(server.metrics()["broadcast_listeners"], 2);
}

#[test]
fn the_server_says_goodbye() {
    let server = server();
    let mut listener = Listener::hello(server.address(), json!({}));
    listener.play_until(4_800);
    let stopper = std::thread::spawn(move || server.stop());
    assert_eq!(listener.message("closing")["reason"], "the server ends");
    assert_eq!(listener.closing_code(), 1001);
    drop(listener);
    stopper.join().unwrap();
}

#[test]
fn events_tell_who_comes_and_goes() {
    let server = server();
    let (sender, receiver) = std::sync::mpsc::channel();
    server.on_event(move |line| {
        let _ = sender.send(line.to_owned());
    });
    let mut listener = Listener::hello(server.address(), json!({ "seed": 12 }));
    listener.say(&json!({ "type": "bye" }));
    let mut lines = Vec::new();
    while lines.len() < 2 {
        let line = receiver.recv_timeout(Duration::from_secs(20)).unwrap();
        lines.push(serde_json::from_str::<serde_json::Value>(&line).unwrap());
    }
    assert_eq!(
        (&lines[0]["event"], &lines[0]["seed"]),
        (&json!("welcome"), &json!(12))
    );
    assert_eq!(
        (&lines[1]["event"], &lines[1]["why"]),
        (&json!("left"), &json!("the listener left"))
    );
}

#[test]
fn a_close_is_answered_whatever_its_code_and_what_comes_after_it_is_not() {
    use tungstenite::Message;
    use tungstenite::protocol::CloseFrame;
    use tungstenite::protocol::frame::coding::CloseCode;

    let server = server();
    for (said, answered) in [
        (Some(1000), 1000),
        (Some(1001), 1001),
        (Some(1011), 1011),
        (Some(4321), 4321),
        (None, 1000),
    ] {
        // Before the hello, and while audio is on its way.
        for hello in [
            None,
            Some(json!({ "prebuffer_ms": 2_000, "rate": 192_000 })),
        ] {
            let mut listener = Listener::connect(server.address());
            if let Some(hello) = hello {
                listener.say_hello(hello);
            }
            let close = Message::Close(said.map(|code| CloseFrame {
                code: CloseCode::from(code),
                reason: "enough".into(),
            }));
            listener.socket.send(close).unwrap();
            assert_eq!(listener.closing_code(), answered, "{said:?}");
        }
    }
    // Whoever closed without being done finds the stream again.
    assert_eq!(server.metrics()["parked_streams"], 4);
}

#[test]
fn the_rest_of_a_frame_comes_before_the_answer_to_a_close() {
    use std::io::Write;

    let server = server();
    // More than the sockets hold: the server is in the middle of a frame when the close comes.
    let hello =
        json!({ "rate": 192_000, "codecs": ["f32"], "prebuffer_ms": 2_000, "frame_ms": 200 });
    let mut listener = Listener::hello(server.address(), hello);
    std::thread::sleep(Duration::from_millis(300));
    let close = [0x88, 0x82, 0, 0, 0, 0, 0x03, 0xe9];
    listener.socket.get_mut().write_all(&close).unwrap();
    assert_eq!(listener.closing_code(), 1001);
    assert!(listener.seen.is_whole(), "{:?}", listener.seen);
}

#[test]
fn pings_are_answered_in_their_order_with_their_bytes() {
    use tungstenite::Message;

    let server = server();
    let mut listener = Listener::connect(server.address());
    let payloads: Vec<Vec<u8>> = (0..10u8)
        .map(|nth| vec![nth; 12 * usize::from(nth)])
        .collect();
    for payload in &payloads {
        let ping = Message::Ping(payload.clone().into());
        listener.socket.send(ping).unwrap();
    }
    let mut answers = Vec::new();
    while answers.len() < payloads.len() {
        if let Message::Pong(payload) = listener.socket.read().unwrap() {
            answers.push(payload.to_vec());
        }
    }
    assert_eq!(answers, payloads);
}
