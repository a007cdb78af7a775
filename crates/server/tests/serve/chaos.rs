//! Clients that stop, stall, flood and lie, while another one listens and must not notice.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;
use tungstenite::Message;
use warpsmith_server::Server;

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
