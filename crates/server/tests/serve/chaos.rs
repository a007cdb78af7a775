//! Clients that stop, stall, flood and lie, while another one listens and must not notice.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;
use tungstenite::Message;
use warpsmith_server::{Limits, Server, Settings};
use warpsmith_synth::{CpuVoices, DryEngine, DryRequest, EngineLost, Params, Stream};

use crate::listener::Listener;
use crate::requests::ask;
use crate::server;

/// A well-behaved listener of the tag stream, on a thread, until told to stop.
struct Witness {
    done: Arc<AtomicBool>,
    thread: std::thread::JoinHandle<Listener>,
}

impl Witness {
    fn of(server: &Server) -> Self {
        let done = Arc::new(AtomicBool::new(false));
        let (address, stop) = (server.address(), Arc::clone(&done));
        let thread = std::thread::spawn(move || {
            let mut listener =
                Listener::hello(address, json!({ "codecs": ["tag"], "prebuffer_ms": 500 }));
            let (begun, mut position) = (Instant::now(), 0);
            while !stop.load(Ordering::Relaxed) || position == 0 {
                position = (begun.elapsed().as_secs_f64() * 48_000.0) as u64;
                listener.take_until(position + 960);
                listener.credit(position.min(listener.received()));
                std::thread::sleep(Duration::from_millis(20));
            }
            listener
        });
        Self { done, thread }
    }

    /// Every sample arrived, in its place.
    fn heard_everything(self) {
        self.done.store(true, Ordering::Relaxed);
        let listener = self.thread.join().unwrap();
        assert!(
            listener.seen.is_whole() && listener.seen.wrong_tags == 0,
            "{:?}",
            listener.seen
        );
        assert!(listener.seen.samples > 0);
    }
}

#[test]
fn a_thousand_idle_sockets_keep_nobody_from_listening() {
    let server = server();
    warpsmith_server::process::allow_many_files();
    let witness = Witness::of(&server);
    let idle: Vec<TcpStream> = (0..1_000)
        .map(|_| TcpStream::connect(server.address()).unwrap())
        .collect();
    let silent: Vec<Listener> = (0..50)
        .map(|_| Listener::connect(server.address()))
        .collect();
    let mut late = Listener::hello(server.address(), json!({ "codecs": ["tag"] }));
    late.play_until(48_000);
    assert!(late.seen.is_whole());
    assert!(server.metrics()["connections"].as_u64() >= Some(1_051));
    drop((idle, silent));
    witness.heard_everything();
}

#[test]
fn a_listener_that_stops_reading_is_closed_and_can_come_back() {
    let server = server();
    let witness = Witness::of(&server);
    let (sender, events) = std::sync::mpsc::channel();
    server.on_event(move |line| {
        let _ = sender.send(line.to_owned());
    });
    // Two seconds of floats at 192 kHz are more than the sockets hold.
    let hello =
        json!({ "rate": 192_000, "codecs": ["f32"], "prebuffer_ms": 2_000, "frame_ms": 100 });
    let mut stopped = Listener::hello(server.address(), hello.clone());
    let begun = Instant::now();
    while server.metrics()["totals"]["slow_clients"] == 0
        && begun.elapsed() < Duration::from_secs(20)
    {
        std::thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(
        server.metrics()["totals"]["slow_clients"],
        1,
        "{:?}",
        events.try_iter().collect::<Vec<_>>()
    );
    assert_eq!(server.metrics()["parked_streams"], 1);
    // What had left the server is still readable; the rest is had by resuming.
    while let Ok(message) = stopped.socket.read() {
        if let Message::Binary(frame) = message {
            let (head, payload) = warpsmith_server::protocol::FrameHead::parse(&frame).unwrap();
            stopped.seen.take(&head, payload);
        }
    }
    let mut resuming = hello;
    resuming["resume"] = json!({ "stream": stopped.welcome["stream"], "key": stopped.welcome["key"], "next_sample": stopped.received() });
    let mut again = Listener::connect(server.address());
    again.seen = stopped.seen;
    again.seen.reconnected();
    again.say_hello(resuming);
    again.play_until(384_000);
    assert!(again.seen.is_whole(), "{:?}", again.seen);
    witness.heard_everything();
}

#[test]
fn a_slow_reader_of_the_broadcast_is_told_what_it_missed() {
    let server = server();
    let mut quick = Listener::hello(server.address(), json!({ "shared": true }));
    let slow = Listener::hello(server.address(), json!({ "shared": true }));
    // The slow one reads nothing; the broadcast goes on for the other.
    quick.play_until(quick.received() + 48_000);
    assert!(quick.seen.is_whole());
    drop(slow);
    quick.play_until(quick.received() + 9_600);
    assert!(quick.seen.is_whole());
}

#[test]
fn garbage_floods_and_lies_hurt_only_their_sender() {
    let server = server();
    let witness = Witness::of(&server);
    let address = server.address();
    // Bytes that are no frames, after a proper handshake.
    for (bytes, code) in [
        (vec![0xff; 64], 1002),
        (vec![0x81, 0x01, b'a'], 1002),
        (vec![0x81, 0xff, 0, 0, 0, 0, 0x7f, 0xff, 0xff, 0xff], 1009),
        (vec![0x81, 0x81, 0, 0, 0, 0, 0xff], 1007),
        (vec![0x82, 0x80, 0, 0, 0, 0], 1003),
    ] {
        let mut listener = Listener::connect(address);
        listener.socket.get_mut().write_all(&bytes).unwrap();
        assert_eq!(listener.closing_code(), code, "{bytes:x?}");
    }
    // Half a frame, then nothing.
    let mut half = Listener::connect(address);
    half.socket
        .get_mut()
        .write_all(&[0x81, 0xfe, 0x10])
        .unwrap();
    drop(half);
    // Too much of something.
    let mut long = Listener::connect(address);
    long.socket
        .send(Message::text("x".repeat(17 << 10)))
        .unwrap();
    assert_eq!(long.closing_code(), 1009);
    let strict = crate::server_with(warpsmith_server::Settings::default());
    let mut flood = Listener::hello(strict.address(), json!({}));
    let ping = json!({ "type": "ping" }).to_string();
    for _ in 0..400 {
        if flood.socket.send(Message::text(ping.clone())).is_err() {
            break;
        }
    }
    // Closed by the server, whether or not its reasons could still be read.
    while let Ok(message) = flood.socket.read() {
        if let Message::Close(frame) = message {
            assert_eq!(u16::from(frame.unwrap().code), 1008);
        }
    }
    // Connections that break in every phase.
    for request in [
        "",
        "GET",
        "GET /ws HTTP/1.1\r\n",
        "POST /api/render HTTP/1.1\r\nContent-Length: 50\r\n\r\n{",
    ] {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
    }
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(&[b'A'; 40_000]).unwrap();
    let _ = stream.read(&mut [0; 100]);
    assert_eq!(ask(address, "GET", "/api/health", "").status, 200);
    witness.heard_everything();
}

#[test]
fn listeners_come_and_go_under_load_and_nobody_loses_a_sample() {
    let server = server();
    let witness = Witness::of(&server);
    let busy = Arc::new(AtomicBool::new(true));
    let burners: Vec<_> = (0..4)
        .map(|_| {
            let busy = Arc::clone(&busy);
            std::thread::spawn(move || {
                while busy.load(Ordering::Relaxed) {
                    std::hint::spin_loop()
                }
            })
        })
        .collect();
    for round in 0..10 {
        let mut listeners: Vec<_> = (0..5)
            .map(|_| {
                Listener::hello(
                    server.address(),
                    json!({ "codecs": ["tag"], "frame_ms": 10 }),
                )
            })
            .collect();
        for listener in &mut listeners {
            listener.play_until(4_800 * (round + 1));
            assert!(listener.seen.is_whole());
        }
    }
    busy.store(false, Ordering::Relaxed);
    for burner in burners {
        burner.join().unwrap();
    }
    witness.heard_everything();
}

/// A GPU that falls off the bus after so many batches; until then, its specification.
struct FallsOff {
    after: usize,
}

impl DryEngine for FallsOff {
    fn name(&self) -> String {
        "one that falls off".to_owned()
    }

    fn render(&mut self, batch: &mut [DryRequest]) -> Result<(), EngineLost> {
        let lost = EngineLost {
            reason: "the GPU has fallen off the bus".to_owned(),
        };
        self.after = self.after.checked_sub(1).ok_or(lost)?;
        CpuVoices.render(batch)
    }
}

#[test]
fn a_gpu_that_disappears_is_a_finding_and_no_listener_hears_it() {
    let settings = Settings {
        listen: ([127, 0, 0, 1], 0).into(),
        limits: Limits {
            messages_per_second: 1_000_000,
            ..Limits::default()
        },
        ..Settings::default()
    };
    let server = Server::start_with(settings, Some(Box::new(FallsOff { after: 40 }))).unwrap();
    assert_eq!(server.device(), "one that falls off");
    let frames = 48_000 * 6;
    let listen = |seed: u64| {
        let address = server.address();
        std::thread::spawn(move || {
            let hello = json!({ "seed": seed, "frame_ms": 50, "prebuffer_ms": 100 });
            let mut listener = Listener::hello(address, hello);
            listener.play_until(48_000);
            let change = json!({ "type": "control", "params": { "volume": 0.5 } });
            listener.say(&change);
            listener.play_until(frames);
            let at = listener.message("params")["at"].as_u64().unwrap();
            (listener, at)
        })
    };
    let listeners: Vec<_> = (0..4).map(|seed| (seed, listen(seed))).collect();
    for (seed, listener) in listeners {
        let (listener, at) = listener.join().unwrap();
        assert!(listener.seen.is_whole(), "{:?}", listener.seen);
        let mut expected = vec![0i16; 2 * frames as usize];
        let (before, after) = expected.split_at_mut(2 * at as usize);
        let mut stream = Stream::new(seed, Params::default()).unwrap();
        stream.render_into(before);
        let quieter = Params {
            volume: 0.5,
            ..Params::default()
        };
        stream.set_params(quieter).unwrap();
        stream.render_into(after);
        let worst = largest_difference(&listener.payload, &expected);
        assert!(worst <= 1, "seed {seed}: {worst}");
    }
    let finding = server.finding().expect("a finding");
    assert_eq!(finding.code, "Y005");
    assert!(server.device().starts_with("cpu"), "{}", server.device());
    let status = ask(server.address(), "GET", "/api/status", "").json();
    assert_eq!(status["findings"][0]["code"], "Y005");
    // Whoever comes later is rendered by the CPU from the start.
    let mut late = Listener::hello(server.address(), json!({ "seed": 9 }));
    late.play_until(9_600);
    assert!(late.seen.is_whole());
}

#[test]
fn the_broadcast_of_a_gpu_goes_on_when_it_disappears() {
    let settings = Settings {
        listen: ([127, 0, 0, 1], 0).into(),
        seed: 6,
        ..Settings::default()
    };
    let server = Server::start_with(settings, Some(Box::new(FallsOff { after: 20 }))).unwrap();
    let mut listener = Listener::hello(
        server.address(),
        json!({ "shared": true, "prebuffer_ms": 100 }),
    );
    listener.take_until(48_000);
    assert!(listener.seen.is_whole(), "{:?}", listener.seen);
    assert_eq!(server.finding().expect("a finding").code, "Y005");
    let mut expected = vec![0i16; listener.payload.len() / 2];
    Stream::new(6, Params::default())
        .unwrap()
        .render_into(&mut expected);
    assert!(largest_difference(&listener.payload, &expected) <= 1);
}

/// In 16-bit steps; an engine's sums are rounded elsewhere, which is one at most.
fn largest_difference(heard: &[u8], expected: &[i16]) -> u32 {
    let heard = heard
        .chunks_exact(2)
        .map(|bytes| i16::from_le_bytes([bytes[0], bytes[1]]));
    let pairs = heard.zip(expected);
    pairs
        .map(|(heard, expected)| i32::from(heard).abs_diff(i32::from(*expected)))
        .max()
        .unwrap_or(0)
}
