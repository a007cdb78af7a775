//! A socket that hyper reads and writes, and that gives up on clients who do neither in time.
//!
//! hyper answers what it cannot parse by itself, without a body. Such an answer is recognised by
//! its moment, when no request is being served, and held back: the application has words for it.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use hyper::rt::ReadBufCursor;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::sync::Notify;
use tokio::time::{Instant, Sleep, sleep};
use tokio_rustls::server::TlsStream;

use crate::limits::Limits;

/// Read at once; requests are small.
const READ_BYTES: usize = 4 << 10;

/// What a connection is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Phase {
    /// A request is arriving, or the first one is to come.
    Head,
    /// A request is being served.
    Busy,
    /// Its answer is complete, and may still be on its way to the socket.
    Answered,
    /// The next request has not begun.
    Idle,
}

/// Where a connection is, as the socket and the service above hyper both know it. They run in one
/// task, and whoever looks for a place to give away may see a moment ago: nothing is ordered by these
/// values.
#[derive(Debug)]
pub(crate) struct Progress {
    phase: AtomicU8,
    /// Changes of the phase so far: tells the wait for one head from the wait for the next.
    changes: AtomicU64,
    blocked: AtomicBool,
    /// Its place was given to somebody else.
    dismissed: AtomicBool,
    /// It was dismissed, or has nothing more to serve since.
    may_leave: Notify,
}

impl Progress {
    pub(crate) fn new() -> Self {
        Self {
            phase: AtomicU8::new(Phase::Head as u8),
            changes: AtomicU64::new(0),
            blocked: AtomicBool::new(false),
            dismissed: AtomicBool::new(false),
            may_leave: Notify::new(),
        }
    }

    /// Ends the connection; a request that arrives first is answered before.
    pub(crate) fn dismiss(&self) {
        self.dismissed.store(true, Ordering::Relaxed);
        self.may_leave.notify_one();
    }

    /// Waits until it is dismissed and no request is being served.
    pub(crate) async fn dismissal(&self) {
        loop {
            self.may_leave.notified().await;
            if !self.is_serving() {
                return;
            }
        }
    }

    pub(crate) fn phase(&self) -> Phase {
        let phase = self.phase.load(Ordering::Relaxed);
        let all = [Phase::Head, Phase::Busy, Phase::Answered, Phase::Idle];
        // Only `enter` writes it.
        all[usize::from(phase) % all.len()]
    }

    pub(crate) fn enter(&self, phase: Phase) {
        self.phase.store(phase as u8, Ordering::Relaxed);
        self.changes.fetch_add(1, Ordering::Relaxed);
        if phase == Phase::Idle && self.dismissed.load(Ordering::Relaxed) {
            self.may_leave.notify_one();
        }
    }

    /// Whether a request is being served or its answer is on its way.
    pub(crate) fn is_serving(&self) -> bool {
        matches!(self.phase(), Phase::Busy | Phase::Answered)
    }

    /// Whether the socket took less than it was given.
    pub(crate) fn is_blocked(&self) -> bool {
        self.blocked.load(Ordering::Relaxed)
    }
}

/// Bytes in the clear or encrypted.
pub(crate) enum Transport {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

macro_rules! either {
    ($transport:expr, $stream:ident => $call:expr) => {
        match $transport {
            Transport::Plain($stream) => {
                let $stream = Pin::new($stream);
                $call
            }
            Transport::Tls($stream) => {
                let $stream = Pin::new(&mut **$stream);
                $call
            }
        }
    };
}

impl AsyncRead for Transport {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        either!(self.get_mut(), stream => stream.poll_read(cx, buffer))
    }
}

impl AsyncWrite for Transport {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        either!(self.get_mut(), stream => stream.poll_write(cx, bytes))
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        either!(self.get_mut(), stream => stream.poll_flush(cx))
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        either!(self.get_mut(), stream => stream.poll_shutdown(cx))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        either!(self.get_mut(), stream => stream.poll_write_vectored(cx, pieces))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }
}

/// What is being waited for; another value is another wait.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wait {
    /// The client's bytes, since this change of the phase.
    Read(u64),
    /// Room for ours, after so many.
    Write(u64),
}

/// A transport under hyper.
pub(crate) struct Guarded {
    transport: Transport,
    progress: Arc<Progress>,
    limits: Limits,
    written: u64,
    waiting: Option<Wait>,
    timer: Option<Pin<Box<Sleep>>>,
}

impl Guarded {
    pub(crate) fn new(transport: Transport, progress: Arc<Progress>, limits: Limits) -> Self {
        Self {
            transport,
            progress,
            limits,
            written: 0,
            waiting: None,
            timer: None,
        }
    }

    pub(crate) fn into_transport(self) -> Transport {
        self.transport
    }

    /// Goes on waiting, unless that has taken too long.
    fn wait<T>(&mut self, cx: &mut Context<'_>, wait: Wait, most: Duration) -> Poll<io::Result<T>> {
        let timer = self.timer.get_or_insert_with(|| Box::pin(sleep(most)));
        if self.waiting != Some(wait) {
            self.waiting = Some(wait);
            timer.as_mut().reset(Instant::now() + most);
        }
        ready!(timer.as_mut().poll(cx));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }

    fn write(
        &mut self,
        cx: &mut Context<'_>,
        length: usize,
        write: impl FnOnce(Pin<&mut Transport>, &mut Context<'_>) -> Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        if !self.progress.is_serving() {
            // hyper's own answer to what is no request.
            return Poll::Ready(Ok(length));
        }
        let written = write(Pin::new(&mut self.transport), cx);
        let blocked = written.is_pending();
        self.progress.blocked.store(blocked, Ordering::Relaxed);
        match written {
            Poll::Ready(Ok(count)) => {
                self.written += count as u64;
                Poll::Ready(Ok(count))
            }
            Poll::Ready(error) => Poll::Ready(error),
            Poll::Pending => self.wait(cx, Wait::Write(self.written), self.limits.write),
        }
    }
}

impl hyper::rt::Read for Guarded {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        mut cursor: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let mut bytes = [0; READ_BYTES];
        let room = cursor.remaining().min(READ_BYTES);
        let mut buffer = ReadBuf::new(&mut bytes[..room]);
        match Pin::new(&mut this.transport).poll_read(cx, &mut buffer) {
            Poll::Ready(read) => {
                read?;
                if !buffer.filled().is_empty() && this.progress.phase() == Phase::Idle {
                    this.progress.enter(Phase::Head);
                }
                cursor.put_slice(buffer.filled());
                Poll::Ready(Ok(()))
            }
            Poll::Pending => {
                let most = match this.progress.phase() {
                    Phase::Head => this.limits.head,
                    Phase::Idle => this.limits.idle,
                    // Bodies have a deadline of their own.
                    Phase::Busy | Phase::Answered => return Poll::Pending,
                };
                let changes = this.progress.changes.load(Ordering::Relaxed);
                this.wait(cx, Wait::Read(changes), most)
            }
        }
    }
}

impl hyper::rt::Write for Guarded {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let write =
            |transport: Pin<&mut Transport>, cx: &mut Context<'_>| transport.poll_write(cx, bytes);
        self.get_mut().write(cx, bytes.len(), write)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let length = pieces.iter().map(|piece| piece.len()).sum();
        let write = |transport: Pin<&mut Transport>, cx: &mut Context<'_>| {
            transport.poll_write_vectored(cx, pieces)
        };
        self.get_mut().write(cx, length, write)
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let flushed = Pin::new(&mut this.transport).poll_flush(cx);
        let blocked = flushed.is_pending();
        this.progress.blocked.store(blocked, Ordering::Relaxed);
        if blocked {
            // An encrypted stream keeps what did not fit.
            return this.wait(cx, Wait::Write(this.written), this.limits.write);
        }
        // hyper flushes once it has handed everything over.
        if this.progress.phase() == Phase::Answered {
            this.progress.enter(Phase::Idle);
        }
        flushed
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().transport).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::task::Waker;

    use super::*;

    #[test]
    fn a_request_is_answered_before_its_connection_leaves() {
        let progress = Progress::new();
        let mut dismissal = pin!(progress.dismissal());
        let mut leaves = || {
            let mut cx = Context::from_waker(Waker::noop());
            dismissal.as_mut().poll(&mut cx).is_ready()
        };
        assert!(!leaves());
        progress.enter(Phase::Busy);
        progress.dismiss();
        assert!(!leaves());
        progress.enter(Phase::Answered);
        assert!(!leaves());
        progress.enter(Phase::Idle);
        assert!(leaves());
    }
}
