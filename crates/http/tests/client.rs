//! Pages from servers that behave, and from those that do not.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

use warpsmith_http::client::{Page, ReadError, ReadLimits, Target, read_pages};

const LIMITS: ReadLimits = ReadLimits {
    deadline: Duration::from_secs(5),
    body_bytes: 1000,
    at_once: 8,
    pages_at_once: 8,
};

/// A server that does this to one connection.
fn server(act: impl FnOnce(TcpStream) + Send + 'static) -> Target {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = listener.local_addr().expect("an address").port();
    thread::spawn(move || {
        let (socket, _) = listener.accept().expect("a client");
        act(socket);
    });
    target("127.0.0.1", port)
}

fn target(host: &str, port: u16) -> Target {
    Target {
        host: host.to_owned(),
        port,
        path: "/metrics".to_owned(),
        ..Target::default()
    }
}

/// Reads the request's head.
fn head(socket: &mut TcpStream) -> String {
    let mut text = Vec::new();
    let mut byte = [0];
    while !text.ends_with(b"\r\n\r\n") && socket.read(&mut byte).expect("bytes") == 1 {
        text.push(byte[0]);
    }
    String::from_utf8(text).expect("text")
}

fn answering(answer: &'static str) -> Target {
    server(move |mut socket| {
        head(&mut socket);
        // A client that has read enough may have hung up.
        let _ = socket.write_all(answer.as_bytes());
    })
}

fn read(target: &Target, limits: ReadLimits) -> Result<Page, ReadError> {
    let mut pages = Vec::new();
    let targets = std::slice::from_ref(target);
    read_pages(targets, limits, |_, page| pages.push(page)).expect("a runtime");
    pages.pop().expect("one page")
}

#[test]
fn lengths_chunks_and_ends_of_connections_are_understood() {
    for answer in [
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n",
        "HTTP/1.0 200 OK\r\n\r\nhello",
    ] {
        let page = read(&answering(answer), LIMITS).expect("a page");
        assert_eq!((page.status, &page.body[..]), (200, &b"hello"[..]));
    }
    let moved = "HTTP/1.1 302 Found\r\nLocation: http://elsewhere/\r\nContent-Length: 0\r\n\r\n";
    assert_eq!(read(&answering(moved), LIMITS).expect("a page").status, 302);
}

#[test]
fn the_request_names_its_host_and_carries_the_password() {
    let (sender, said) = std::sync::mpsc::channel();
    let mut target = server(move |mut socket| {
        sender.send(head(&mut socket)).expect("the test listens");
        let _ = socket.write_all(b"HTTP/1.1 401 No\r\nContent-Length: 0\r\n\r\n");
    });
    target.headers = vec![("authorization".into(), "Basic YWxpY2U6c2VjcmV0".into())];
    assert_eq!(read(&target, LIMITS).expect("a page").status, 401);
    let said = said.recv().expect("a request");
    assert!(said.starts_with("GET /metrics HTTP/1.1\r\n"), "{said}");
    let lower = said.to_lowercase();
    assert!(lower.contains(&format!("host: 127.0.0.1:{}\r\n", target.port)));
    assert!(said.contains("Basic YWxpY2U6c2VjcmV0"), "{said}");
}

#[test]
fn long_bodies_are_refused_with_and_without_a_length() {
    let told = "HTTP/1.1 200 OK\r\nContent-Length: 1000000000000\r\n\r\nx";
    assert_eq!(
        read(&answering(told), LIMITS).expect_err("too long"),
        ReadError::TooLong(1000)
    );
    let flood = server(|mut socket| {
        head(&mut socket);
        let _ = socket.write_all(b"HTTP/1.1 200 OK\r\n\r\n");
        while socket.write_all(&[b'x'; 4096]).is_ok() {}
    });
    assert_eq!(
        read(&flood, LIMITS).expect_err("too long"),
        ReadError::TooLong(1000)
    );
}

#[test]
fn who_hangs_is_given_up_and_what_it_did_is_named() {
    let short = ReadLimits {
        deadline: Duration::from_millis(200),
        ..LIMITS
    };
    let until_gone = |mut socket: TcpStream| {
        let _ = socket.read_to_end(&mut Vec::new());
    };
    assert_eq!(
        read(&server(until_gone), short).expect_err("silent"),
        ReadError::TooSlow("waiting for the answer")
    );
    let slow = server(move |mut socket| {
        head(&mut socket);
        let _ = socket.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf");
        until_gone(socket);
    });
    assert_eq!(
        read(&slow, short).expect_err("half a page"),
        ReadError::TooSlow("reading the page")
    );
}

#[test]
fn what_is_no_server_is_told_apart() {
    let ssh = answering("SSH-2.0-OpenSSH_9.2\r\n");
    assert!(matches!(read(&ssh, LIMITS), Err(ReadError::NotHttp(_))));
    let closed = server(drop);
    assert!(matches!(read(&closed, LIMITS), Err(ReadError::NotHttp(_))));
    let port = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let nobody = target("127.0.0.1", port.local_addr().expect("an address").port());
    drop(port);
    assert_eq!(
        read(&nobody, LIMITS).expect_err("refused"),
        ReadError::Connect("connection refused".to_owned())
    );
    let nameless = target("no-such-host.invalid", 80);
    assert!(matches!(
        read(&nameless, LIMITS),
        Err(ReadError::Name(_) | ReadError::TooSlow("resolving the name"))
    ));
}

#[test]
fn one_that_hangs_does_not_hold_up_the_others() {
    let mut targets = vec![server(|mut socket| {
        let _ = socket.read_to_end(&mut Vec::new());
    })];
    let answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
    targets.extend((0..20).map(|_| answering(answer)));
    let limits = ReadLimits {
        deadline: Duration::from_secs(3),
        at_once: 2,
        ..LIMITS
    };
    let mut order = Vec::new();
    let take = |position, page: Result<Page, ReadError>| order.push((position, page.is_ok()));
    read_pages(&targets, limits, take).expect("a runtime");
    assert_eq!(order.pop(), Some((0, false)), "it comes last");
    assert!(order.len() == 20 && order.iter().all(|(_, read)| *read));
}
