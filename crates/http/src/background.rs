//! A server beside a program that does something else: one thread, and a runtime that only it uses.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use tokio::runtime::Builder;
use tokio::sync::watch;

use crate::answer::Application;
use crate::doors::Doors;
use crate::limits::Limits;
use crate::listen::{Listening, TlsSource, accept, bind};

/// What a handshake's or a password's arithmetic needs.
const STACK_BYTES: usize = 512 << 10;
/// Threads for work that would keep the others waiting.
const BLOCKING_THREADS: usize = 2;
/// How long answers may take when the server stops.
const GRACE: Duration = Duration::from_secs(1);

/// A running server; finishes its answers and stops when dropped.
pub struct Background {
    address: SocketAddr,
    stop: watch::Sender<bool>,
    thread: Option<JoinHandle<()>>,
}

impl Background {
    /// Binds `address` and serves from a thread with this name.
    pub fn start<A: Application>(
        name: &str,
        address: SocketAddr,
        application: Arc<A>,
        limits: Limits,
        tls: Option<TlsSource>,
    ) -> io::Result<Self> {
        let runtime = Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .max_blocking_threads(BLOCKING_THREADS)
            .thread_stack_size(STACK_BYTES)
            .build()?;
        let listener = {
            let _entered = runtime.enter();
            bind(address)?
        };
        let address = listener.local_addr()?;
        let (stop, stopping) = watch::channel(false);
        let doors = Arc::new(Doors::default());
        let listening = Listening {
            application,
            limits,
            doors: Arc::clone(&doors),
            tls,
            stopping,
        };
        let serve = move || {
            runtime.block_on(async {
                accept(listener, listening).await;
                let deadline = Instant::now() + GRACE;
                while doors.count() > 0 && Instant::now() < deadline {
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
            });
            // A password that is still being checked is nobody's any more.
            runtime.shutdown_background();
        };
        let thread = thread::Builder::new()
            .name(name.to_owned())
            .stack_size(STACK_BYTES)
            .spawn(serve)?;
        Ok(Self {
            address,
            stop,
            thread: Some(thread),
        })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        // Without a receiver the thread has ended already.
        let _ = self.stop.send(true);
        if let Some(thread) = self.thread.take() {
            // A panic was told when it happened.
            let _ = thread.join();
        }
    }
}

/// Does work that takes a while without keeping other connections waiting; `None` where it
/// panicked or the server ends.
pub async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    tokio::task::spawn_blocking(work).await.ok()
}
