//! Pushing to receivers that behave, and to those that do not. What batches say is read by
//! OpenTelemetry's own classes, in the trials of the program.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::exporter::{get, served, tls_folder};
use crate::support::{Fake, proc_folder};
use warpsmith_telemetry::LiveBoard;
use warpsmith_telemetry::exporter::{Exporter, OtlpSettings, ProcessSeries, Serving, WebConfig};

/// A request: its head in lower case, and its body.
type Request = (String, Vec<u8>);

/// A receiver that does this to every connection, with the request's number.
struct Hearing {
    port: u16,
    requests: Receiver<Request>,
    stopping: Arc<AtomicBool>,
}

impl Hearing {
    fn start(act: impl Fn(usize, &mut TcpStream) + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = listener.local_addr().expect("an address").port();
        let (send, requests) = channel();
        let stopping = Arc::new(AtomicBool::new(false));
        let stop = Arc::clone(&stopping);
        std::thread::spawn(move || {
            for (nth, socket) in listener.incoming().enumerate() {
                let Ok(mut socket) = socket else { return };
                if stop.load(Ordering::Relaxed) {
                    return;
                }
                if let Some(request) = request(&socket) {
                    let _ = send.send(request);
                }
                act(nth, &mut socket);
            }
        });
        Self {
            port,
            requests,
            stopping,
        }
    }

    /// Answers with this status and these further headers, and an empty message.
    fn answering(answer: &'static str) -> Self {
        Self::start(move |_, socket| say(socket, answer))
    }

    fn next(&self) -> Request {
        let request = self.requests.recv_timeout(Duration::from_secs(60));
        request.expect("a push within a minute")
    }
}

impl Drop for Hearing {
    fn drop(&mut self) {
        self.stopping.store(true, Ordering::Relaxed);
        // Wakes it up.
        let _ = TcpStream::connect(("127.0.0.1", self.port));
    }
}

fn say(socket: &mut TcpStream, answer: &str) {
    // Whoever has given up does not read it.
    let _ = write!(
        socket,
        "HTTP/1.1 {answer}\r\ncontent-type: application/x-protobuf\r\ncontent-length: 0\r\n\r\n"
    );
}

fn request(socket: &TcpStream) -> Option<Request> {
    socket
        .set_read_timeout(Some(Duration::from_secs(20)))
        .expect("a timeout");
    let mut reader = BufReader::new(socket);
    let mut head = String::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        if line.trim().is_empty() {
            break;
        }
        head.push_str(&line.to_lowercase());
    }
    let length = head.lines().find_map(|line| {
        let length = line.strip_prefix("content-length:")?;
        length.trim().parse().ok()
    })?;
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some((head, body))
}

type Said = Arc<Mutex<Vec<String>>>;

fn settings(address: &str, said: &Said) -> OtlpSettings {
    let said = Arc::clone(said);
    OtlpSettings {
        endpoint: OtlpSettings::endpoint(address).expect("an address"),
        headers: vec![("api-key".into(), "s3cret".into())],
        attributes: vec![("rack".into(), "r1".into())],
        interval: Duration::from_millis(50),
        timeout: Duration::from_millis(300),
        authorities: None,
        say: Arc::new(move |text| said.lock().expect("no panic").push(text.to_owned())),
    }
}

/// An exporter over a second of an idle GPU that pushes to the receiver.
fn pushing(otlp: OtlpSettings) -> Exporter {
    let fake = Fake::new("{}");
    let proc_root = proc_folder(&[]);
    let settings = fake.settings(proc_root.path());
    let (board, _feed) = fake.sample_now(&settings, Duration::from_secs(1));
    let serving = Serving {
        otlp: Some(otlp),
        ..Serving::default()
    };
    let any = "127.0.0.1:0".parse().expect("an address");
    Exporter::start(any, board, serving).expect("it starts")
}

/// A value of the exporter's page, which has to answer.
fn value(exporter: &Exporter, series: &str) -> f64 {
    let (status, page) = get(exporter, "/metrics");
    assert_eq!(status, 200);
    let line = page.lines().find_map(|line| line.strip_prefix(series));
    let line = line.unwrap_or_else(|| panic!("no {series} in\n{page}"));
    line.trim().parse().expect("a number")
}

fn until(what: &str, mut seen: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !seen() {
        assert!(begun.elapsed() < Duration::from_secs(60), "never: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

const SENT: &str = "warpsmith_exporter_otlp_batches_total{result=\"sent\"}";
const REFUSED: &str = "warpsmith_exporter_otlp_batches_total{result=\"refused\"}";
const FAILURES: &str = "warpsmith_exporter_otlp_failures_total";
const WAITING: &str = "warpsmith_exporter_otlp_waiting_batches";

fn has(body: &[u8], text: &str) -> bool {
    body.windows(text.len()).any(|part| part == text.as_bytes())
}

#[test]
fn a_receiver_gets_batch_after_batch_with_headers_and_attributes() {
    let receiver = Hearing::answering("200 OK");
    let said = Said::default();
    let exporter = pushing(settings(&format!("127.0.0.1:{}", receiver.port), &said));
    for _ in 0..3 {
        let (head, body) = receiver.next();
        assert!(head.starts_with("post /v1/metrics http/1.1\r\n"), "{head}");
        assert!(head.contains("content-type: application/x-protobuf\r\n"));
        assert!(head.contains("api-key: s3cret\r\n"), "{head}");
        for text in [
            "warpsmith.gpu.power",
            "hw.gpu.utilization",
            "GPU-00000000",
            "rack",
            "service.name",
        ] {
            assert!(has(&body, text), "{text}");
        }
    }
    until("three counted", || value(&exporter, SENT) >= 3.0);
    drop(exporter);
    assert!(said.lock().expect("no panic").is_empty(), "nothing to say");
}

#[test]
fn an_exporter_that_stops_pushes_once_more() {
    let receiver = Hearing::answering("200 OK");
    let seldom = OtlpSettings {
        interval: Duration::from_secs(3600),
        ..settings(&format!("127.0.0.1:{}", receiver.port), &Said::default())
    };
    let exporter = pushing(seldom);
    assert!(
        receiver.requests.try_recv().is_err(),
        "an hour has not passed"
    );
    drop(exporter);
    assert!(has(&receiver.next().1, "warpsmith.gpu.power"));
    assert!(receiver.requests.try_recv().is_err(), "once");
}

#[test]
fn a_receiver_that_hangs_closes_or_floods_keeps_nothing_waiting() {
    let hang = |_, socket: &mut TcpStream| {
        let mut rest = Vec::new();
        let _ = socket.read_to_end(&mut rest);
    };
    let close = |_, _: &mut TcpStream| {};
    let garbage = |_, socket: &mut TcpStream| {
        let _ = socket.write_all(b"SSH-2.0-OpenSSH_9.2\r\n");
    };
    let flood = |_, socket: &mut TcpStream| {
        let _ = socket.write_all(b"HTTP/1.1 200 OK\r\n\r\n");
        while socket.write_all(&[b'x'; 4096]).is_ok() {}
    };
    let busy = |_, socket: &mut TcpStream| say(socket, "503 Busy\r\nretry-after: 1");
    for (name, receiver) in [
        ("hang", Hearing::start(hang)),
        ("close", Hearing::start(close)),
        ("garbage", Hearing::start(garbage)),
        ("flood", Hearing::start(flood)),
        ("busy", Hearing::start(busy)),
    ] {
        let said = Said::default();
        let exporter = pushing(settings(&format!("127.0.0.1:{}", receiver.port), &said));
        until(name, || value(&exporter, FAILURES) >= 1.0);
        // Readings go on meanwhile, and what waits is bounded.
        until("the queue fills", || value(&exporter, WAITING) >= 2.0);
        assert!(value(&exporter, WAITING) <= 60.0);
        assert_eq!(value(&exporter, SENT), 0.0, "{name}");
        // The end is not kept waiting either: this returns.
        drop(exporter);
        let said = said.lock().expect("no panic");
        assert!(said[0].starts_with("OTLP receiver 127.0.0.1:"), "{said:?}");
    }
}

#[test]
fn what_is_refused_is_dropped_once_and_said_once() {
    for (answer, hint) in [
        ("500 Broken", "status 500"),
        ("401 No", "--otlp-header"),
        ("404 Nothing", "/v1/metrics"),
    ] {
        let receiver = Hearing::answering(answer);
        let said = Said::default();
        let exporter = pushing(settings(&format!("127.0.0.1:{}", receiver.port), &said));
        until(answer, || value(&exporter, REFUSED) >= 3.0);
        let mut bodies: Vec<Vec<u8>> = receiver.requests.try_iter().map(|(_, body)| body).collect();
        let all = bodies.len();
        bodies.sort_unstable();
        bodies.dedup();
        assert_eq!(bodies.len(), all, "no batch comes twice");
        assert_eq!(value(&exporter, FAILURES), 0.0);
        drop(exporter);
        let said = said.lock().expect("no panic");
        assert_eq!(said.len(), 1, "{said:?}");
        assert!(said[0].contains(hint), "{said:?}");
        assert!(!said[0].contains("s3cret"));
    }
}

#[test]
fn batches_that_waited_arrive_in_order_once_the_receiver_is_back() {
    let receiver = Hearing::start(|nth, socket| match nth {
        0 => say(socket, "503 Busy"),
        _ => say(socket, "200 OK"),
    });
    let said = Said::default();
    let exporter = pushing(settings(
        &format!("http://127.0.0.1:{}/x", receiver.port),
        &said,
    ));
    let first = receiver.next();
    assert!(first.0.starts_with("post /x http/1.1"), "{}", first.0);
    assert_eq!(
        receiver.next().1,
        first.1,
        "the same batch, not a newer one"
    );
    until("the others follow", || {
        value(&exporter, SENT) >= 5.0 && value(&exporter, WAITING) <= 1.0
    });
    drop(exporter);
    let said = said.lock().expect("no panic").clone();
    assert!(said[0].contains("status 503"), "{said:?}");
    assert!(said[1].contains("takes metrics again"), "{said:?}");
}

#[test]
fn tls_is_spoken_with_whom_the_authority_vouches_for_and_nobody_else() {
    // An exporter takes no pushes, and says so: over TLS, to those who trust it.
    let (folder, path, _authority) = tls_folder("");
    let config = WebConfig::read(&path).expect("understood");
    let (receiver, _feed) = served("{}", ProcessSeries::Off, config);
    let stranger = tls_folder("");
    for (folder, expected) in [
        (folder.path(), "status 4"),
        (stranger.0.path(), "TLS handshake failed"),
    ] {
        let said = Said::default();
        let address = format!("https://{}", receiver.address());
        let exporter = pushing(OtlpSettings {
            authorities: Some(folder.join("ca.crt")),
            timeout: Duration::from_secs(10),
            ..settings(&address, &said)
        });
        until(expected, || {
            let said = said.lock().expect("no panic");
            said.iter().any(|line| line.contains(expected))
        });
        assert_eq!(value(&exporter, SENT), 0.0);
    }
}

#[test]
fn a_receiver_with_tls_needs_an_authority() {
    let fake = Fake::new("{}");
    let proc_root = proc_folder(&[]);
    let (inventory, _) = fake
        .sample(&fake.settings(proc_root.path()), Duration::from_millis(100))
        .expect("it opens");
    let said = Said::default();
    let serving = Serving {
        otlp: Some(settings("https://127.0.0.1:1", &said)),
        ..Serving::default()
    };
    let board = Arc::new(LiveBoard::new(inventory, channel().1));
    let any = "127.0.0.1:0".parse().expect("an address");
    let error = Exporter::start(any, board, serving).err().expect("refused");
    assert!(error.to_string().contains("--otlp-ca"), "{error}");
}
