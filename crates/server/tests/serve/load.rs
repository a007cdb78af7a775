//! The load test, small, in one process with its server.

use warpsmith_server::Settings;
use warpsmith_server::load_test::{self, Plan};
use warpsmith_server::protocol::Hello;

use crate::server_with;

fn plan(address: std::net::SocketAddr, codec: &str) -> Plan {
    Plan {
        address,
        token: None,
        clients: 24,
        seconds: 2.0,
        ramp_seconds: 0.5,
        speed: 1.0,
        hello: Hello {
            codecs: vec![codec.into()],
            frame_ms: 100,
            prebuffer_ms: 1_000,
            ..Hello::default()
        },
        compared: 3,
        threads: 1,
    }
}

#[test]
fn every_sample_of_every_listener_is_where_it_belongs() {
    let server = server_with(Settings::default());
    for codec in ["pcm16", "tag"] {
        let figures = load_test::run(&plan(server.address(), codec)).unwrap();
        assert_eq!(
            (figures.played_to_the_end, figures.failures.len()),
            (24, 0),
            "{figures:?}"
        );
        let lost = (
            figures.breaks,
            figures.sequence_gaps,
            figures.wrong_tags,
            figures.wrong_samples,
        );
        assert_eq!(lost, (0, 0, 0, 0));
        // The buffer at least, and what was played.
        assert!(figures.samples >= 24 * 2 * 48_000, "{figures:?}");
    }
    assert_eq!(server.metrics()["totals"]["violations"], 0);
}
