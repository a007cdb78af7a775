//! Memory over simulated hours: a program of its own, because what is resident is the process's.

use warpsmith_server::load_test::{self, Plan};
use warpsmith_server::protocol::Hello;
use warpsmith_server::{Limits, Server, Settings, process};

#[test]
fn an_hour_of_sixty_listeners_costs_no_memory() {
    // They play as fast as they can.
    let limits = Limits {
        messages_per_second: 1_000_000,
        ..Limits::default()
    };
    let server = Server::start(Settings {
        listen: ([127, 0, 0, 1], 0).into(),
        limits,
        ..Settings::default()
    })
    .unwrap();
    // A minute for each in a second: an hour of tags for all, again and again, and nothing may be
    // left over. Streams whose listeners went are kept for them for a while, up to a number that
    // the first hours reach.
    let plan = Plan {
        address: server.address(),
        token: None,
        clients: 60,
        seconds: 1.0,
        ramp_seconds: 0.5,
        speed: 60.0,
        hello: Hello {
            codecs: vec!["tag".into()],
            frame_ms: 100,
            prebuffer_ms: 1_000,
            ..Hello::default()
        },
        compared: 3,
        threads: 1,
    };
    // Nine half hours for everybody, however many rounds a slow machine needs for them.
    let (mut played, mut resident) = (0, Vec::new());
    while played < 9 * 60 * 30 * 48_000 || resident.len() < 9 {
        assert!(resident.len() < 90, "{played} samples in 90 rounds");
        let figures = load_test::run(&plan).unwrap();
        assert_eq!((figures.breaks, figures.wrong_tags), (0, 0));
        played += figures.samples;
        // What is free and only kept comes and goes with the server's housekeeping.
        process::give_memory_back();
        resident.push(server.metrics()["resident_bytes"].as_u64().unwrap());
    }
    let (last, before) = (resident.len() - 1, resident.len() * 2 / 3 - 1);
    assert!(
        resident[last] < resident[before] + (4 << 20),
        "{resident:?}"
    );
}
