//! Memory after a crowd left: a program of its own, because what is resident is the process's.
//!
//! `WARPSMITH_MEMORY_LISTENERS=1000 cargo test -p warpsmith-server --test memory_returned -- --nocapture`
//! prints the figures of a thousand.

#![allow(clippy::print_stdout)] // figures are read

use warpsmith_server::load_test::{self, Plan};
use warpsmith_server::protocol::Hello;
use warpsmith_server::{Limits, Server, Settings};

/// What is resident a while after so many listeners of music have left; `WARPSMITH_MEMORY_LISTENERS`
/// sets how many. The listeners are part of this process: the server alone needs less.
#[test]
fn a_crowd_that_left_leaves_no_memory_behind() {
    let count = std::env::var("WARPSMITH_MEMORY_LISTENERS").ok();
    let clients = count.map_or(150, |count| count.parse().expect("a number of listeners"));
    let server = Server::start(Settings {
        listen: ([127, 0, 0, 1], 0).into(),
        limits: Limits {
            per_client: clients + 1,
            ..Limits::default()
        },
        ..Settings::default()
    })
    .unwrap();
    let plan = Plan {
        address: server.address(),
        token: None,
        clients,
        seconds: 2.0,
        ramp_seconds: 2.0,
        speed: 1.0,
        hello: Hello {
            frame_ms: 100,
            prebuffer_ms: 300,
            ..Hello::default()
        },
        compared: 1,
        threads: 1,
    };
    let resident = || server.metrics()["resident_bytes"].as_u64().unwrap();
    let before = resident();
    let most = std::thread::scope(|scope| {
        let listening = scope.spawn(|| load_test::run(&plan).unwrap());
        let mut most = before;
        while !listening.is_finished() {
            most = most.max(resident());
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
        most
    });
    // Half a minute for those who might come back, and twice the time from one tidying to the next.
    let begun = std::time::Instant::now();
    let limit = before + (most - before) / 4;
    while resident() > limit && begun.elapsed().as_secs() < 60 {
        std::thread::sleep(std::time::Duration::from_millis(250));
    }
    let after = resident();
    let kilobytes = (most - before) / 1_024 / clients as u64;
    println!(
        "{clients} listeners: {} MB before, {} MB at most ({kilobytes} kB a listener, itself included), {} MB after {:.0} s",
        before >> 20,
        most >> 20,
        after >> 20,
        begun.elapsed().as_secs_f64()
    );
    assert!(after <= limit, "{before} → {most} → {after}");
}
