//! A gRPC call against servers on a unix socket: one that behaves, and some that do not.

use std::io::Write;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use hyper::body::Bytes;
use warpsmith_http::grpc::{CallError, CallLimits, call};

const LIMITS: CallLimits = CallLimits {
    deadline: Duration::from_secs(10),
    bytes: 100_000,
};
const METHOD: &str = "/v1.PodResourcesLister/List";

/// What a server answers: data, and the status in its trailers.
struct Script {
    data: Vec<u8>,
    status: &'static str,
    words: &'static str,
}

/// An HTTP/2 server for one connection; the message that it got comes back.
fn server(script: Script) -> (tempfile::TempDir, PathBuf, thread::JoinHandle<Vec<u8>>) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("kubelet.sock");
    let listener = UnixListener::bind(&path).expect("a socket");
    listener.set_nonblocking(true).expect("for tokio");
    let thread = thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .build()
            .expect("a runtime");
        runtime.block_on(async {
            let listener = tokio::net::UnixListener::from_std(listener).expect("a socket");
            let (socket, _) = listener.accept().await.expect("a client");
            let mut connection = h2::server::handshake(socket).await.expect("HTTP/2");
            let (request, mut respond) = connection.accept().await.expect("one").expect("whole");
            assert_eq!(request.uri().path(), METHOD);
            assert_eq!(request.headers()["content-type"], "application/grpc");
            let serve = tokio::spawn(async move {
                let mut body = request.into_body();
                let mut message = Vec::new();
                while let Some(data) = body.data().await {
                    message.extend_from_slice(&data.expect("data"));
                }
                let head = hyper::Response::builder().header("content-type", "application/grpc");
                let head = head.body(()).expect("a head");
                let mut stream = respond.send_response(head, false).expect("sent");
                // Whoever has read enough may have hung up.
                let _ = stream.send_data(Bytes::from(script.data), false);
                let mut trailers = hyper::HeaderMap::new();
                trailers.insert("grpc-status", script.status.parse().expect("a value"));
                trailers.insert("grpc-message", script.words.parse().expect("a value"));
                let _ = stream.send_trailers(trailers);
                message
            });
            // Drives the connection until the client leaves.
            while let Some(Ok(_)) = connection.accept().await {}
            serve.await.expect("no panic")
        })
    });
    (folder, path, thread)
}

fn framed(message: &[u8]) -> Vec<u8> {
    let mut data = vec![0];
    data.extend_from_slice(&(message.len() as u32).to_be_bytes());
    data.extend_from_slice(message);
    data
}

#[test]
fn a_message_goes_and_one_comes_back_larger_than_any_window() {
    let long = vec![7; 90_000];
    let script = Script {
        data: framed(&long),
        status: "0",
        words: "",
    };
    let (_folder, path, server) = server(script);
    assert_eq!(
        call(&path, METHOD, b"question", LIMITS).expect("an answer"),
        long
    );
    assert_eq!(server.join().expect("no panic"), framed(b"question"));
}

#[test]
fn refusals_long_answers_and_broken_ones_are_told_apart() {
    let ask = |data: Vec<u8>, status: &'static str, words: &'static str, bytes: usize| {
        let (_folder, path, server) = server(Script {
            data,
            status,
            words,
        });
        let answer = call(&path, METHOD, b"", CallLimits { bytes, ..LIMITS });
        server.join().expect("no panic");
        answer.expect_err("no answer")
    };
    let refused = ask(Vec::new(), "12", "unknown service", 1000);
    assert!(matches!(refused, CallError::Refused(12, words) if words == "unknown service"));
    let long = ask(framed(&[7; 2000]), "0", "", 1000);
    assert!(matches!(long, CallError::TooLong(1000)));
    for data in [
        vec![],
        vec![0; 4],
        vec![1, 0, 0, 0, 0],
        vec![0, 0, 0, 0, 9, 1],
    ] {
        let broken = ask(data, "0", "", 1000);
        assert!(matches!(broken, CallError::Protocol(_)), "{broken}");
    }
}

#[test]
fn who_is_not_there_hangs_or_speaks_something_else_is_named() {
    let nobody = call(Path::new("/nonexistent/kubelet.sock"), METHOD, b"", LIMITS);
    assert!(matches!(nobody, Err(CallError::Connect(_))));
    let folder = tempfile::tempdir().expect("a folder");
    let silent = folder.path().join("silent.sock");
    let _listener = UnixListener::bind(&silent).expect("a socket");
    let short = CallLimits {
        deadline: Duration::from_millis(100),
        ..LIMITS
    };
    assert!(matches!(
        call(&silent, METHOD, b"", short),
        Err(CallError::TooSlow(_))
    ));
    let other = folder.path().join("other.sock");
    let listener = UnixListener::bind(&other).expect("a socket");
    let server = thread::spawn(move || {
        let (mut socket, _) = listener.accept().expect("a client");
        let _ = socket.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n");
    });
    assert!(matches!(
        call(&other, METHOD, b"", LIMITS),
        Err(CallError::Protocol(_))
    ));
    server.join().expect("no panic");
}
