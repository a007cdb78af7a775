//! The exporter over real sockets: formats, keep-alive, many at once, passwords, bad requests.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

use crate::support::answer::body;
use crate::support::{Fake, proc_folder};
use warpsmith_telemetry::exporter::{
    Exporter, ProcessSeries, Serving, WebConfig, check_health, metrics,
};
use warpsmith_telemetry::{Clock, Event, Happening, Inventory, LiveBoard, Presence};

const EIGHT: &str =
    r#"{"gpus": [{"count": 8, "processes": [{"pid": 4711, "count": 40, "memory_mb": 10}]}]}"#;

/// An exporter over events that were sampled from a scenario and moved to the present.
pub(crate) fn served(
    scenario: &str,
    processes: ProcessSeries,
    config: WebConfig,
) -> (Exporter, Sender<Event>) {
    let fake = Fake::new(scenario);
    let proc_root = proc_folder(&[(4711, "train \"x\"\\")]);
    let settings = fake.settings(proc_root.path());
    let (board, sender) = fake.sample_now(&settings, Duration::from_secs(2));
    (started(board, processes, config), sender)
}

fn started(board: Arc<LiveBoard>, processes: ProcessSeries, config: WebConfig) -> Exporter {
    let any: SocketAddr = "127.0.0.1:0".parse().expect("an address");
    let serving = Serving {
        processes,
        config,
        ..Serving::default()
    };
    Exporter::start(any, board, serving).expect("a free port")
}

/// One exchange on an open connection: status and body.
fn exchange(stream: &mut BufReader<impl Read + Write>, request: &str) -> (u16, String) {
    stream
        .get_mut()
        .write_all(request.as_bytes())
        .expect("the exporter reads");
    let mut status = String::new();
    stream.read_line(&mut status).expect("the exporter answers");
    let code = status
        .split(' ')
        .nth(1)
        .and_then(|code| code.parse().ok())
        .expect("a status");
    (code, String::from_utf8(body(stream)).expect("text"))
}

fn connected(exporter: &Exporter) -> BufReader<TcpStream> {
    let stream = TcpStream::connect(exporter.address()).expect("the exporter listens");
    stream
        .set_read_timeout(Some(Duration::from_secs(20)))
        .expect("a timeout");
    BufReader::new(stream)
}

pub(crate) fn get(exporter: &Exporter, path: &str) -> (u16, String) {
    exchange(
        &mut connected(exporter),
        &format!("GET {path} HTTP/1.1\r\nHost: x\r\n\r\n"),
    )
}

#[test]
fn absent_values_have_no_line_and_units_are_base_units() {
    let (exporter, _feed) = served(
        r#"{"gpus": [{"not_supported": ["nvmlDeviceGetUtilizationRates", "nvmlDeviceGetFanSpeed"],
            "throttle": {"power_cap": 0.5}}]}"#,
        ProcessSeries::Off,
        WebConfig::default(),
    );
    let (status, text) = get(&exporter, "/metrics");
    assert_eq!(status, 200);
    assert!(
        !text.contains("warpsmith_gpu_busy_ratio") && !text.contains("warpsmith_gpu_fan_ratio")
    );
    let labels = r#"{gpu="0",uuid="GPU-00000000-0000-0000-0000-000000000000""#;
    for line in [
        format!("warpsmith_gpu_temperature_celsius{labels}}} 34\n"),
        format!("warpsmith_gpu_sm_clock_hertz{labels}}} 345000000\n"),
        format!("warpsmith_gpu_memory_total_bytes{labels}}} 150754820096\n"),
        format!("warpsmith_gpu_thermal_margin_celsius{labels}}} 53\n"),
        format!("warpsmith_gpu_throttle_seconds_total{labels},reason=\"power_cap\"}} 9.7"),
        "warpsmith_gpus 1\n".to_owned(),
    ] {
        assert!(text.contains(&line), "{line}\nis not in\n{text}");
    }
    assert!(!text.contains("9223372036854775") && !text.contains("NaN"));
}

#[test]
fn the_exporter_tells_about_its_own_process_and_what_scrapes_cost() {
    let (exporter, _feed) = served(EIGHT, ProcessSeries::On, WebConfig::default());
    assert_eq!(get(&exporter, "/nope").0, 404);
    let first = get(&exporter, "/metrics").1;
    // Pages are given out again while they are young.
    std::thread::sleep(Duration::from_millis(100));
    let text = get(&exporter, "/metrics").1;
    let value = |name: &str| -> f64 {
        let line = text.lines().find_map(|line| line.strip_prefix(name));
        let line = line.unwrap_or_else(|| panic!("{name} is not in\n{text}"));
        line.trim().parse().expect("a number")
    };
    assert!(value("process_cpu_seconds_total ") > 0.0);
    assert!(value("process_resident_memory_bytes ") > 1e5);
    assert!(value("process_open_fds ") < value("process_max_fds "));
    assert!(value("process_start_time_seconds ") > 1.7e9);
    assert_eq!(value("warpsmith_exporter_page_bytes "), first.len() as f64);
    assert_eq!(value("warpsmith_exporter_render_seconds_count "), 1.0);
    assert!(value("warpsmith_exporter_render_seconds_sum ") > 0.0);
    assert_eq!(
        value("warpsmith_exporter_requests_total{code=\"200\"}"),
        1.0
    );
    assert_eq!(
        value("warpsmith_exporter_requests_total{code=\"404\"}"),
        1.0
    );
    let build = text
        .lines()
        .find(|line| line.starts_with("warpsmith_build_info{"));
    assert!(build.expect("build info").contains("arch="), "{build:?}");
}

#[test]
fn the_list_of_metrics_is_what_the_page_has() {
    let (exporter, _feed) = served(EIGHT, ProcessSeries::On, WebConfig::default());
    get(&exporter, "/metrics");
    std::thread::sleep(Duration::from_millis(100));
    let text = get(&exporter, "/metrics").1;
    let heads: Vec<_> = text
        .lines()
        .filter_map(|line| line.strip_prefix("# TYPE "))
        .collect();
    let listed: Vec<String> = metrics()
        .map(|one| format!("{} {}", one.name, one.kind))
        .collect();
    let mut order = listed.iter();
    for head in &heads {
        assert!(
            order.any(|known| known == head),
            "{head} is not listed, or elsewhere"
        );
    }
    let mut distinct = listed.clone();
    distinct.sort_unstable();
    distinct.dedup();
    assert_eq!(distinct.len(), listed.len());
}

#[test]
fn errors_and_activity_have_series_once_they_are_known() {
    let (exporter, _feed) = served(
        r#"{"gpus": [{"sm_active": 25, "dram_active": 75, "xids": [[0.5, 31], [0.6, 31]]},
            {"sm_active": null}]}"#,
        ProcessSeries::Off,
        WebConfig::default(),
    );
    let text = get(&exporter, "/metrics").1;
    let labels = r#"{gpu="0",uuid="GPU-00000000-0000-0000-0000-000000000000""#;
    for line in [
        format!("warpsmith_gpu_xid_errors_total{labels},xid=\"31\"}} 2\n"),
        format!("warpsmith_gpu_sm_active_ratio{labels}}} 0.25\n"),
        format!("warpsmith_gpu_dram_active_ratio{labels}}} 0.75\n"),
    ] {
        assert!(text.contains(&line), "{line}\nis not in\n{text}");
    }
    let lines = |name: &str| text.lines().filter(|line| line.starts_with(name)).count();
    assert_eq!(
        lines("warpsmith_gpu_sm_active_ratio{"),
        1,
        "only where it is counted"
    );
    assert_eq!(lines("warpsmith_gpu_xid_last_timestamp_seconds{"), 1);
}

#[test]
fn process_series_are_off_by_default_bounded_escaped_and_without_command_lines() {
    let (exporter, _feed) = served(EIGHT, ProcessSeries::Off, WebConfig::default());
    assert!(
        !get(&exporter, "/metrics")
            .1
            .contains("process_memory_bytes")
    );
    let (exporter, _feed) = served(EIGHT, ProcessSeries::On, WebConfig::default());
    let text = get(&exporter, "/metrics").1;
    let series = text
        .lines()
        .filter(|line| line.starts_with("warpsmith_gpu_process_memory_bytes{"));
    assert_eq!(series.count(), 8 * 32, "32 of 40 per GPU");
    assert!(
        text.contains(r#"program="train \"x\"\\""#),
        "names are escaped"
    );
    assert!(!text.contains("--secret"), "a command line leaked");
}

#[test]
fn one_connection_serves_many_scrapes_and_a_hundred_connections_serve_at_once() {
    let (exporter, _feed) = served(EIGHT, ProcessSeries::On, WebConfig::default());
    let mut open: Vec<_> = (0..100).map(|_| connected(&exporter)).collect();
    for round in 0..3 {
        for (nth, stream) in open.iter_mut().enumerate() {
            let (status, body) = exchange(stream, "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
            assert!(
                status == 200 && body.len() > 10_000,
                "round {round}, connection {nth}"
            );
        }
    }
    let address = exporter.address();
    let scrapers: Vec<_> = (0..100)
        .map(|_| {
            std::thread::spawn(move || {
                let mut stream = BufReader::new(TcpStream::connect(address).expect("connected"));
                (0..5).all(|_| exchange(&mut stream, "GET /metrics HTTP/1.1\r\n\r\n").0 == 200)
            })
        })
        .collect();
    assert!(
        scrapers
            .into_iter()
            .all(|scraper| scraper.join().expect("no panic"))
    );
}

#[test]
fn requests_that_are_not_requests_are_told_so() {
    let (exporter, _feed) = served("{}", ProcessSeries::Off, WebConfig::default());
    let say = |request: &str| exchange(&mut connected(&exporter), request).0;
    assert_eq!(say("GET /nope HTTP/1.1\r\n\r\n"), 404);
    assert_eq!(say("POST /metrics HTTP/1.1\r\n\r\n"), 405);
    assert_eq!(
        say("POST /metrics HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello"),
        413
    );
    assert_eq!(say("hello\r\n\r\n"), 400);
    assert_eq!(say("GET / HTTP/2\r\n\r\n"), 505);
    assert_eq!(
        say(&format!(
            "GET / HTTP/1.1\r\nX: {}\r\n\r\n",
            "y".repeat(20_000)
        )),
        431
    );
    assert_eq!(say("GET /metrics?a=b HTTP/1.0\r\n\r\n"), 200);
    // Not text at all: answered or hung up on, and the next one is served.
    let mut stream = connected(&exporter);
    stream.get_mut().write_all(&[0xFF; 64]).expect("sent");
    stream.get_mut().write_all(b"\r\n\r\n").expect("sent");
    let _ = stream.read(&mut [0; 64]);
    assert_eq!(say("GET / HTTP/1.1\r\n\r\n"), 200);
}

#[test]
fn a_password_is_asked_for_metrics_and_not_for_health() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("web.yml");
    // At bcrypt's lowest cost: this is about who is let in, not about how slowly.
    let hash = bcrypt::hash("secret", 4).expect("a hash");
    std::fs::write(&path, format!("basic_auth_users:\n  alice: {hash}\n")).expect("written");
    let config = WebConfig::read(&path).expect("understood");
    let (exporter, _feed) = served("{}", ProcessSeries::Off, config);
    let say = |headers: &str, path: &str| {
        exchange(
            &mut connected(&exporter),
            &format!("GET {path} HTTP/1.1\r\n{headers}\r\n"),
        )
        .0
    };
    assert_eq!(say("", "/metrics"), 401);
    assert_eq!(
        say("Authorization: Basic YWxpY2U6d3Jvbmc=\r\n", "/metrics"),
        401
    );
    assert_eq!(say("", "/healthz"), 200);
    assert_eq!(
        say("Authorization: Basic YWxpY2U6c2VjcmV0\r\n", "/metrics"),
        200
    );
    // The right password has wiped the wrong one out; four more are one more than people mistype.
    let wrong = "Authorization: Basic YWxpY2U6d3Jvbmc=\r\n";
    let guesses: Vec<u16> = (0..5).map(|_| say(wrong, "/metrics")).collect();
    assert_eq!(guesses, [401, 401, 401, 401, 429]);
    let known = "Authorization: Basic YWxpY2U6c2VjcmV0\r\n";
    assert_eq!(say(known, "/metrics"), 200, "a scraper is not held up");
}

#[test]
fn health_and_readiness_follow_the_gpus() {
    let limit = Duration::from_secs(5);
    let (exporter, feed) = served("{}", ProcessSeries::Off, WebConfig::default());
    let plain = WebConfig::default();
    let ask =
        |exporter: &Exporter, path: &str| check_health(exporter.address(), path, limit, &plain);
    assert_eq!(ask(&exporter, "/healthz"), Ok("ok".into()));
    assert_eq!(ask(&exporter, "/readyz"), Ok("ready".into()));
    let say = |presence| {
        let what = Happening::Presence(presence);
        feed.send(Event {
            at: Clock::System.now(),
            gpu: 0,
            what,
        })
        .expect("the exporter listens");
    };
    say(Presence::Stale);
    assert!(
        ask(&exporter, "/healthz").is_err(),
        "a hung driver is not healthy"
    );
    assert!(ask(&exporter, "/readyz").is_err());
    say(Presence::Live);
    assert!(ask(&exporter, "/healthz").is_ok());
    let (_, receiver) = channel();
    let no_driver = Inventory {
        nvml_absent: Some("no driver".into()),
        ..Inventory::default()
    };
    let board = Arc::new(LiveBoard::new(no_driver, receiver));
    let bare = started(board, ProcessSeries::Off, WebConfig::default());
    assert!(ask(&bare, "/healthz").is_ok());
    assert_eq!(ask(&bare, "/readyz"), Err("no driver".into()));
    assert_eq!(get(&bare, "/metrics").0, 200);
}

/// A certificate authority, and what it signs.
pub(crate) struct Authority {
    certificate: rcgen::Certificate,
    issuer: rcgen::Issuer<'static, rcgen::KeyPair>,
}

impl Authority {
    fn new() -> Self {
        let mut parameters = rcgen::CertificateParams::new(Vec::new()).expect("no names");
        parameters.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
        let key = rcgen::KeyPair::generate().expect("a key");
        Self {
            certificate: parameters.self_signed(&key).expect("signed"),
            issuer: rcgen::Issuer::new(parameters, key),
        }
    }

    /// A certificate for loopback and its key, as PEM.
    fn signs(&self) -> (String, String) {
        let parameters = rcgen::CertificateParams::new(vec!["127.0.0.1".into()]).expect("a name");
        let key = rcgen::KeyPair::generate().expect("a key");
        let certificate = parameters.signed_by(&key, &self.issuer).expect("signed");
        (certificate.pem(), key.serialize_pem())
    }

    /// A client that trusts this authority, with a certificate of its own or without.
    fn client(&self, own: Option<(String, String)>) -> Arc<rustls::ClientConfig> {
        use rustls::pki_types::pem::PemObject;
        let mut roots = rustls::RootCertStore::empty();
        roots.add(self.certificate.der().clone()).expect("a root");
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = rustls::ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("versions")
            .with_root_certificates(roots);
        Arc::new(match own {
            None => builder.with_no_client_auth(),
            Some((certificate, key)) => builder
                .with_client_auth_cert(
                    vec![PemObject::from_pem_slice(certificate.as_bytes()).expect("PEM")],
                    PemObject::from_pem_slice(key.as_bytes()).expect("PEM"),
                )
                .expect("they go together"),
        })
    }
}

/// A folder with a web configuration for TLS, and its authority.
pub(crate) fn tls_folder(extra: &str) -> (tempfile::TempDir, std::path::PathBuf, Authority) {
    let folder = tempfile::tempdir().expect("a folder");
    let authority = Authority::new();
    let (certificate, key) = authority.signs();
    let put = |name: &str, text: &str| {
        std::fs::write(folder.path().join(name), text).expect("written");
    };
    put("server.crt", &certificate);
    put("server.key", &key);
    put("ca.crt", &authority.certificate.pem());
    put(
        "web.yml",
        &format!("tls_server_config:\n  cert_file: server.crt\n  key_file: server.key\n{extra}"),
    );
    let path = folder.path().join("web.yml");
    (folder, path, authority)
}

/// One request over TLS; `Err` when the handshake or the connection fails.
fn get_tls(
    exporter: &Exporter,
    client: &Arc<rustls::ClientConfig>,
    path: &str,
) -> std::io::Result<(u16, usize)> {
    let tcp = TcpStream::connect(exporter.address())?;
    tcp.set_read_timeout(Some(Duration::from_secs(20)))?;
    let name = rustls::pki_types::ServerName::from(exporter.address().ip());
    let connection =
        rustls::ClientConnection::new(Arc::clone(client), name).map_err(std::io::Error::other)?;
    let mut stream = BufReader::new(rustls::StreamOwned::new(connection, tcp));
    // A failed handshake shows here; `exchange` takes a working connection for granted. With
    // TLS 1.3 a refused client certificate shows only when something is read.
    stream.get_mut().write_all(b"GET / HTTP/1.1\r\n\r\n")?;
    stream.fill_buf()?;
    let mut seen = String::new();
    while !seen.ends_with("/readyz\n") && stream.read_line(&mut seen)? > 0 {}
    let (code, body) = exchange(&mut stream, &format!("GET {path} HTTP/1.1\r\n\r\n"));
    Ok((code, body.len()))
}

#[test]
fn tls_serves_those_who_trust_it_and_nobody_in_the_clear() {
    let (folder, path, authority) = tls_folder("");
    let config = WebConfig::read(&path).expect("understood");
    let (exporter, _feed) = served(EIGHT, ProcessSeries::On, config);
    let (status, bytes) = get_tls(&exporter, &authority.client(None), "/metrics").expect("served");
    assert!(
        status == 200 && bytes > 64 << 10,
        "{bytes} bytes in one answer"
    );
    let stranger = Authority::new();
    assert!(get_tls(&exporter, &stranger.client(None), "/metrics").is_err());
    let mut plain = connected(&exporter);
    plain
        .get_mut()
        .write_all(b"GET /metrics HTTP/1.1\r\n\r\n")
        .expect("sent");
    let mut said = Vec::new();
    let _ = plain.read_to_end(&mut said);
    assert!(!said.windows(4).any(|part| part == b"HTTP"), "{said:?}");

    let limit = Duration::from_secs(5);
    // Not its health: the events of this test grow old.
    let ask = |config: &WebConfig| check_health(exporter.address(), "/", limit, config).is_ok();
    let config = WebConfig::read(&path).expect("understood");
    assert!(ask(&config));
    assert!(!ask(&WebConfig::default()), "plain against TLS");

    // Renewed: the next connection gets the new one.
    let (certificate, key) = stranger.signs();
    std::fs::write(folder.path().join("server.crt"), "not a certificate").expect("written");
    assert!(
        get_tls(&exporter, &authority.client(None), "/").is_ok(),
        "a half-written certificate leaves the one before in force"
    );
    std::fs::write(folder.path().join("server.key"), key).expect("written");
    std::fs::write(folder.path().join("server.crt"), certificate).expect("written");
    assert!(get_tls(&exporter, &stranger.client(None), "/metrics").is_ok());
    assert!(get_tls(&exporter, &authority.client(None), "/metrics").is_err());
    assert!(ask(&config), "the file is read again");
}

#[test]
fn clients_have_to_show_a_certificate_where_the_file_says_so() {
    let (_folder, path, authority) = tls_folder(
        "  client_auth_type: RequireAndVerifyClientCert\n  client_ca_file: ca.crt\n  \
         min_version: TLS13\n",
    );
    let config = WebConfig::read(&path).expect("understood");
    let (exporter, _feed) = served("{}", ProcessSeries::Off, config);
    let own = authority.client(Some(authority.signs()));
    assert_eq!(get_tls(&exporter, &own, "/metrics").expect("served").0, 200);
    assert!(get_tls(&exporter, &authority.client(None), "/metrics").is_err());
    let foreign = authority.client(Some(Authority::new().signs()));
    assert!(get_tls(&exporter, &foreign, "/metrics").is_err());
}

#[test]
fn certificates_that_cannot_be_used_are_named() {
    let (folder, path, _) = tls_folder("");
    let refused = || {
        let error = WebConfig::read(&path).expect_err("not usable");
        let source = std::error::Error::source(&error).map(ToString::to_string);
        source.unwrap_or_default()
    };
    let (_, other_key) = Authority::new().signs();
    std::fs::write(folder.path().join("server.key"), other_key).expect("written");
    assert!(!refused().is_empty(), "a key of another certificate");
    std::fs::write(folder.path().join("server.key"), "").expect("written");
    assert!(refused().contains("server.key"));
    std::fs::remove_file(folder.path().join("server.crt")).expect("removed");
    assert!(refused().contains("server.crt"));
}

#[test]
fn a_port_in_use_is_an_error_that_names_it() {
    let (exporter, _feed) = served("{}", ProcessSeries::Off, WebConfig::default());
    let (_, receiver) = channel();
    let board = Arc::new(LiveBoard::new(Inventory::default(), receiver));
    let again = Exporter::start(exporter.address(), board, Serving::default());
    let error = again.err().expect("the port is taken").to_string();
    assert!(error.contains(&exporter.address().to_string()), "{error}");
}
