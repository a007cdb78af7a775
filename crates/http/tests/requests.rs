//! The layer over real sockets: what is no request, deadlines, limits, takeovers and the end.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::{Arc, Mutex, mpsc};
use std::time::{Duration, Instant};

use warpsmith_http::{Answer, Application, Background, Limits, Refusal, Reply, Request};

/// Says back what it was asked.
struct Echo;

impl Application for Echo {
    async fn answer(&self, request: Request, _: SocketAddr) -> Reply {
        match request.path() {
            "/slow" => tokio_sleep(Duration::from_millis(300)).await,
            "/stream" => {
                let head = Answer::empty(200).with("content-type", "text/plain");
                return Reply::Stream(head, Box::new(|socket, bytes| Box::pin(say(socket, bytes))));
            }
            "/upgrade" => {
                let head = Answer::empty(101).with("upgrade", "echo");
                return Reply::Upgrade(
                    head,
                    Box::new(|socket, bytes| Box::pin(say(socket, bytes))),
                );
            }
            "/large" => return Reply::Whole(Answer::new(200, "text/plain", vec![b'x'; 16 << 20])),
            _ => {}
        }
        let said = format!(
            "{} {} {} {}",
            request.method(),
            request.host(),
            request.path(),
            String::from_utf8_lossy(request.body())
        );
        Reply::Whole(Answer::new(200, "text/plain", said))
    }

    fn refuse(&self, refusal: Refusal) -> Answer {
        Answer::new(refusal.status(), "text/plain", refusal.to_string())
    }
}

async fn tokio_sleep(time: Duration) {
    warpsmith_http::blocking(move || std::thread::sleep(time)).await;
}

async fn say(socket: tokio::net::TcpStream, bytes: warpsmith_http::Bytes) {
    let mut socket = socket.into_std().expect("a socket");
    socket.set_nonblocking(false).expect("a socket");
    let said = format!("<{}>", String::from_utf8_lossy(&bytes));
    let _ = socket.write_all(said.as_bytes());
}

const LIMITS: Limits = Limits {
    connections: 100,
    per_client: 100,
    head_bytes: 8 << 10,
    body_bytes: 1 << 10,
    head: Duration::from_millis(400),
    body: Duration::from_millis(400),
    idle: Duration::from_millis(400),
    write: Duration::from_millis(400),
};

fn server(limits: Limits) -> Background {
    let any = ([127, 0, 0, 1], 0).into();
    Background::start("http", any, Arc::new(Echo), limits, None).expect("a free port")
}

fn connected(server: &Background) -> TcpStream {
    let stream = TcpStream::connect(server.address()).expect("it listens");
    let patience = Some(Duration::from_secs(20));
    stream.set_read_timeout(patience).expect("a timeout");
    stream
}

/// Everything that is said until the connection ends.
fn rest(stream: &mut TcpStream) -> String {
    let mut said = Vec::new();
    // A connection may be cut rather than closed.
    let _ = stream.read_to_end(&mut said);
    String::from_utf8_lossy(&said).into_owned()
}

fn ask(server: &Background, request: &str) -> String {
    let mut stream = connected(server);
    // A connection that is one too many may be closed before it says anything.
    let _ = stream.write_all(request.as_bytes());
    rest(&mut stream)
}

/// The status of each answer.
fn statuses(said: &str) -> Vec<u16> {
    let lines = said.split("HTTP/1.1 ").skip(1);
    lines
        .map(|line| line[..3].parse().expect("a status"))
        .collect()
}

#[test]
fn what_is_no_request_is_told_so_and_hung_up_on() {
    let server = server(LIMITS);
    let headers = |count: usize| "X: y\r\n".repeat(count);
    for (request, status) in [
        ("hello\r\n\r\n".to_owned(), 400),
        ("\x16\x03\x01\x02\x00\r\n\r\n".to_owned(), 400),
        ("GET  / HTTP/1.1\r\n\r\n".to_owned(), 400),
        ("GET / HTTP/2\r\n\r\n".to_owned(), 505),
        ("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_owned(), 505),
        ("GET / HTTP/1.1\r\nNo colon\r\n\r\n".to_owned(), 400),
        ("GET / HTTP/1.1\r\nA : b\r\n\r\n".to_owned(), 400),
        (
            "GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n".to_owned(),
            400,
        ),
        ("GET / HTTP/1.1\r\nHost: a:80@evil\r\n\r\n".to_owned(), 400),
        (
            "GET http://b@c/ HTTP/1.1\r\nHost: a\r\n\r\n".to_owned(),
            400,
        ),
        (
            "GET / HTTP/1.1\r\nContent-Length: +2\r\n\r\nab".to_owned(),
            400,
        ),
        (
            "GET / HTTP/1.1\r\nContent-Length: -2\r\n\r\nab".to_owned(),
            400,
        ),
        (
            "GET / HTTP/1.1\r\nContent-Length: x\r\n\r\nab".to_owned(),
            400,
        ),
        (
            "GET / HTTP/1.1\r\nContent-Length: 0x2\r\n\r\nab".to_owned(),
            400,
        ),
        (
            "GET / HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\n".to_owned(),
            400,
        ),
        (
            "GET / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab".to_owned(),
            400,
        ),
        (
            "GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n".to_owned(),
            411,
        ),
        (
            "GET / HTTP/1.1\r\nTransfer-Encoding: gzip\r\n\r\n".to_owned(),
            400,
        ),
        (
            "POST / HTTP/1.1\r\nContent-Length: 1025\r\n\r\n".to_owned(),
            413,
        ),
        (format!("GET / HTTP/1.1\r\n{}\r\n", headers(65)), 431),
        (
            format!("GET / HTTP/1.1\r\nX: {}\r\n\r\n", "y".repeat(20_000)),
            431,
        ),
        (format!("GET /{} HTTP/1.1\r\n\r\n", "y".repeat(20_000)), 431),
    ] {
        // What follows must not be taken for a request of its own.
        let said = ask(&server, &format!("{request}GET /next HTTP/1.1\r\n\r\n"));
        assert_eq!(statuses(&said), [status], "{request:.60}\n{said:.300}");
        assert!(said.contains("\r\nConnection: close\r\n"), "{said:.300}");
        assert!(!said.ends_with("\r\n\r\n"), "a body says why: {said:.300}");
    }
    let mut stream = connected(&server);
    stream
        .write_all(b"GET / HTTP/1.1\r\nX: \xff\r\n\r\n")
        .expect("sent");
    assert_eq!(statuses(&rest(&mut stream)), [400]);
}

#[test]
fn requests_in_every_form_are_answered_in_their_order() {
    let server = server(LIMITS);
    let said = ask(
        &server,
        "GET /a%20b?c HTTP/1.1\r\nHost: x:1\r\n\r\n\
         \r\nGET http://y/c HTTP/1.1\r\nHost: x\r\n\r\n\
         POST / HTTP/1.1\r\nhost:x\r\nCONTENT-LENGTH: 3\r\n\r\nabc\
         POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nContent-Length: 3\r\n\r\nabc\
         HEAD /h HTTP/1.1\r\nHost: x\r\n\r\n\
         OPTIONS * HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
    );
    assert_eq!(statuses(&said), [200; 6], "{said}");
    for words in ["GET x:1 /a b ", "GET y /c ", "POST x / abc", "OPTIONS x * "] {
        assert!(said.contains(words), "{words} in {said}");
    }
    assert!(!said.contains("HEAD x"), "{said}");
    assert_eq!(said.matches("Connection: keep-alive").count(), 5, "{said}");
    // HTTP/1.0 closes unless it says otherwise.
    let said = ask(&server, "GET / HTTP/1.0\r\n\r\n");
    assert!(said.contains("Connection: close"), "{said}");
}

#[test]
fn a_client_that_has_said_everything_gets_its_answers() {
    let server = server(LIMITS);
    let mut stream = connected(&server);
    let request = b"GET /slow HTTP/1.1\r\n\r\nGET / HTTP/1.1\r\n\r\n";
    stream.write_all(request).expect("sent");
    stream
        .shutdown(std::net::Shutdown::Write)
        .expect("a socket");
    assert_eq!(statuses(&rest(&mut stream)), [200, 200]);
}

#[test]
fn a_client_that_expects_to_be_told_is_told() {
    let server = server(LIMITS);
    let mut stream = connected(&server);
    let head = "POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 3\r\n";
    write!(stream, "{head}Connection: close\r\n\r\n").expect("sent");
    let mut said = [0; 25];
    stream.read_exact(&mut said).expect("told");
    assert_eq!(&said, b"HTTP/1.1 100 Continue\r\n\r\n");
    stream.write_all(b"abc").expect("sent");
    assert!(rest(&mut stream).ends_with("POST x / abc"));
}

#[test]
fn heads_bodies_and_silence_have_deadlines() {
    let server = server(LIMITS);
    let begun = Instant::now();
    for (request, statuses_said) in [
        ("", &[][..]),
        ("GET / HTT", &[]),
        ("POST / HTTP/1.1\r\nContent-Length: 9\r\n\r\nabc", &[408]),
        ("GET / HTTP/1.1\r\n\r\n", &[200]),
        ("GET / HTTP/1.1\r\n\r\nGET /", &[200]),
    ] {
        assert_eq!(statuses(&ask(&server, request)), statuses_said, "{request}");
    }
    // A byte now and then is no progress.
    let mut slow = connected(&server);
    let mut ended = false;
    for _ in 0..100 {
        ended = slow.write_all(b"G").is_err();
        if ended {
            break;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    assert!(ended, "still open");
    assert!(begun.elapsed() >= 5 * LIMITS.head);
}

#[test]
fn a_client_that_takes_nothing_is_left() {
    let server = server(LIMITS);
    let mut stream = connected(&server);
    stream
        .write_all(b"GET /large HTTP/1.1\r\n\r\n")
        .expect("sent");
    std::thread::sleep(3 * LIMITS.write);
    assert!(rest(&mut stream).len() < 16 << 20);
}

/// A connection whose answer has begun and is not taken.
fn served(server: &Background) -> TcpStream {
    let mut stream = connected(server);
    stream
        .write_all(b"GET /large HTTP/1.1\r\n\r\n")
        .expect("sent");
    stream.read_exact(&mut [0]).expect("an answer");
    stream
}

#[test]
fn connections_beyond_the_limit_are_told_to_come_back() {
    let server = server(Limits {
        connections: 3,
        write: Duration::from_secs(20),
        ..LIMITS
    });
    let open: Vec<_> = (0..3).map(|_| served(&server)).collect();
    let said = rest(&mut connected(&server));
    assert_eq!(statuses(&said), [503], "{said}");
    drop(open);
    let deadline = Instant::now() + Duration::from_secs(20);
    let request = "GET / HTTP/1.1\r\nConnection: close\r\n\r\n";
    while statuses(&ask(&server, request)) != [200] {
        assert!(Instant::now() < deadline, "places are given back");
    }
}

#[test]
fn who_says_nothing_locks_nobody_out() {
    // Longer than anybody reads here.
    let long = Duration::from_secs(60);
    let server = server(Limits {
        connections: 3,
        head: long,
        idle: long,
        write: long,
        ..LIMITS
    });
    let mut busy = served(&server);
    let mut silent = connected(&server);
    let mut slow = connected(&server);
    slow.write_all(b"GET / HT").expect("sent");
    let request = "GET / HTTP/1.1\r\nConnection: close\r\n\r\n";
    let mut others = Vec::new();
    for _ in 0..20 {
        assert_eq!(statuses(&ask(&server, request)), [200]);
        // The next one comes while all places are taken.
        others.push(connected(&server));
    }
    // Both were sent away, long before their time, and whoever was served was not.
    for stream in [&mut silent, &mut slow] {
        let left = stream.read(&mut [0]).map_err(|error| error.kind());
        assert!(
            matches!(left, Ok(0) | Err(ErrorKind::ConnectionReset)),
            "{left:?}"
        );
    }
    busy.read_exact(&mut [0; 4096]).expect("more of the answer");
}

#[test]
fn a_socket_is_handed_over_with_what_had_arrived() {
    let server = server(LIMITS);
    let said = ask(
        &server,
        "GET / HTTP/1.1\r\n\r\nGET /stream HTTP/1.1\r\n\r\nmore",
    );
    let expected = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\n<more>";
    assert!(said.ends_with(expected), "{said}");
    assert_eq!(statuses(&said), [200, 200]);
    let said = ask(
        &server,
        "GET /upgrade HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\nmore",
    );
    assert!(
        said.starts_with("HTTP/1.1 101 Switching Protocols\r\n"),
        "{said}"
    );
    assert!(said.contains("Upgrade: echo\r\n") && said.contains("Connection: Upgrade\r\n"));
    assert!(said.ends_with("\r\n\r\n<more>"), "{said}");
}

#[test]
fn the_end_lets_answers_finish_and_closes_what_is_idle() {
    let server = server(Limits {
        head: Duration::from_secs(20),
        idle: Duration::from_secs(20),
        ..LIMITS
    });
    let (mut silent, mut idle) = (connected(&server), connected(&server));
    idle.write_all(b"GET / HTTP/1.1\r\n\r\n").expect("sent");
    let mut busy = connected(&server);
    busy.write_all(b"GET /slow HTTP/1.1\r\n\r\n").expect("sent");
    std::thread::sleep(Duration::from_millis(100));
    let begun = Instant::now();
    drop(server);
    assert!(begun.elapsed() < Duration::from_secs(10));
    assert_eq!(statuses(&rest(&mut busy)), [200]);
    assert_eq!(statuses(&rest(&mut idle)), [200]);
    assert_eq!(rest(&mut silent), "");
}

/// Gives every client the same certificate; one that calls the server `slow.example` waits for it, as
/// for a signature that takes long.
#[derive(Debug)]
struct SlowForSome {
    key: Arc<rustls::sign::CertifiedKey>,
    begun: Mutex<mpsc::Sender<()>>,
    go_on: Mutex<mpsc::Receiver<()>>,
}

impl rustls::server::ResolvesServerCert for SlowForSome {
    fn resolve(
        &self,
        hello: rustls::server::ClientHello<'_>,
    ) -> Option<Arc<rustls::sign::CertifiedKey>> {
        if hello.server_name() == Some("slow.example") {
            self.begun.lock().unwrap().send(()).unwrap();
            // Ends as well when the test has failed.
            let _ = self.go_on.lock().unwrap().recv();
        }
        Some(Arc::clone(&self.key))
    }
}

/// A request over TLS to a server that the client calls by this name.
fn ask_encrypted(
    server: &Background,
    client: &Arc<rustls::ClientConfig>,
    name: &'static str,
) -> String {
    let name = name.try_into().expect("a name");
    let session = rustls::ClientConnection::new(Arc::clone(client), name).expect("a session");
    let mut stream = rustls::StreamOwned::new(session, connected(server));
    if let Err(error) = stream.write_all(b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
    {
        return error.to_string();
    }
    let mut said = String::new();
    let _ = stream.read_to_string(&mut said);
    said
}

#[test]
fn a_slow_handshake_keeps_nobody_else_waiting() {
    let own = rcgen::generate_simple_self_signed(["slow.example".into(), "quick.example".into()])
        .expect("a certificate");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let private = rustls::pki_types::PrivatePkcs8KeyDer::from(own.signing_key.serialize_der());
    let chain = vec![own.cert.der().clone()];
    let key =
        rustls::sign::CertifiedKey::from_der(chain, private.into(), &provider).expect("a key");
    let (begun, has_begun) = mpsc::channel();
    let (release, go_on) = mpsc::channel();
    let config = rustls::ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_no_client_auth()
        .with_cert_resolver(Arc::new(SlowForSome {
            key: Arc::new(key),
            begun: Mutex::new(begun),
            go_on: Mutex::new(go_on),
        }));
    let config = Arc::new(config);
    let mut roots = rustls::RootCertStore::empty();
    roots.add(own.cert.der().clone()).expect("a root");
    let client = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_root_certificates(roots)
        .with_no_client_auth();
    let client = Arc::new(client);
    // The slow one is slow for as long as the other one takes on this machine.
    let limits = Limits {
        head: Duration::from_secs(60),
        ..LIMITS
    };
    let tls: warpsmith_http::TlsSource = Box::new(move || Arc::clone(&config));
    let any = ([127, 0, 0, 1], 0).into();
    let server = Background::start("http", any, Arc::new(Echo), limits, Some(tls)).expect("a port");
    std::thread::scope(|threads| {
        let slow = threads.spawn(|| ask_encrypted(&server, &client, "slow.example"));
        has_begun.recv().expect("its handshake begins");
        let quick = ask_encrypted(&server, &client, "quick.example");
        release.send(()).expect("the slow one waits");
        assert_eq!(statuses(&quick), [200], "{quick}");
        let slow = slow.join().expect("no panic");
        assert_eq!(statuses(&slow), [200], "{slow}");
    });
}

#[test]
fn a_handshake_has_a_deadline() {
    let own = rcgen::generate_simple_self_signed(["a.example".into()]).expect("a certificate");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let private = rustls::pki_types::PrivatePkcs8KeyDer::from(own.signing_key.serialize_der());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_no_client_auth()
        .with_single_cert(vec![own.cert.der().clone()], private.into())
        .expect("they go together");
    let config = Arc::new(config);
    let tls: warpsmith_http::TlsSource = Box::new(move || Arc::clone(&config));
    let any = ([127, 0, 0, 1], 0).into();
    let server = Background::start("http", any, Arc::new(Echo), LIMITS, Some(tls)).expect("a port");
    // Nothing; the beginning of a record that never ends; what is no handshake at all.
    for beginning in [&b""[..], b"\x16\x03\x01\x02\x00", b"GET / HTTP/1.1\r\n\r\n"] {
        let mut stream = connected(&server);
        stream.write_all(beginning).expect("it listens");
        let mut said = Vec::new();
        let ended = stream.read_to_end(&mut said);
        let waited = ended.as_ref().err().map(std::io::Error::kind);
        assert_ne!(
            waited,
            Some(std::io::ErrorKind::WouldBlock),
            "{beginning:?}"
        );
        assert!(statuses(&String::from_utf8_lossy(&said)).is_empty());
    }
}
