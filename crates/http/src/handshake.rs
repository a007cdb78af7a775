//! A TLS handshake's arithmetic beside the thread that serves.
//!
//! A signature with an RSA key of 4,096 bits takes milliseconds. On the one thread of
//! [`Background`](crate::Background) every other client would wait for them, and whoever opens
//! connections in a row could keep a scrape from being answered.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

use tokio::net::TcpStream;
use tokio::sync::Notify;
use tokio_rustls::Accept;
use tokio_rustls::server::TlsStream;

use crate::background::blocking;

/// Finishes a handshake: every step is taken by a thread for such work, and between two steps, while
/// the client has the word, none is. `None` where it failed.
pub(crate) async fn off_thread(mut accept: Accept<TcpStream>) -> Option<TlsStream<TcpStream>> {
    let woken = Arc::new(Woken(Notify::new()));
    loop {
        let waker = Waker::from(Arc::clone(&woken));
        let step = move || {
            let polled: Poll<io::Result<_>> =
                Pin::new(&mut accept).poll(&mut Context::from_waker(&waker));
            (accept, polled)
        };
        let (back, polled) = blocking(step).await?;
        if let Poll::Ready(stream) = polled {
            return stream.ok();
        }
        accept = back;
        woken.0.notified().await;
    }
}

/// Remembers a wake that comes while the step is still being taken.
struct Woken(Notify);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.notify_one();
    }
}
