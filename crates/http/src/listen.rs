//! Connections as they come: counted, encrypted where that is wanted, and each served by a task.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use rustls::ServerConfig;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;

use crate::answer::Application;
use crate::connection;
use crate::doors::Doors;
use crate::guarded::Transport;
use crate::handshake::off_thread;
use crate::limits::Limits;
use crate::refusal::Refusal;

/// Gives the certificates that hold for the next connection.
pub type TlsSource = Box<dyn Fn() -> Arc<ServerConfig> + Send + Sync>;

/// Whom to serve, and how.
pub struct Listening<A> {
    /// What answers.
    pub application: Arc<A>,
    /// How much of what.
    pub limits: Limits,
    /// Counts the connections.
    pub doors: Arc<Doors>,
    /// Connections are plain where it is absent.
    pub tls: Option<TlsSource>,
    /// Becomes true when everything ends.
    pub stopping: watch::Receiver<bool>,
}

/// Takes connections until the server stops; those that are open then end by themselves.
pub async fn accept<A: Application>(listener: TcpListener, listening: Listening<A>) {
    let Listening {
        application,
        limits,
        doors,
        tls,
        mut stopping,
    } = listening;
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = stopping.wait_for(|stopping| *stopping) => return,
        };
        let Ok((socket, peer)) = accepted else {
            // Out of file descriptors, most likely: some connection will end.
            tokio::time::sleep(Duration::from_millis(10)).await;
            continue;
        };
        // Without it small frames would wait for the answer to the one before.
        let _ = socket.set_nodelay(true);
        let door = match doors.enter(peer.ip(), &limits) {
            Ok(door) => door,
            Err(full) => {
                let answer = application.refuse(Refusal::Full(full)).encode();
                // Over TLS this would take a handshake: that connection is just closed. Otherwise it
                // fits into the socket's empty buffer, or is not worth waiting for.
                if tls.is_none() {
                    let _ = socket.try_write(&answer);
                }
                continue;
            }
        };
        let application = Arc::clone(&application);
        let stopping = stopping.clone();
        let config = tls.as_ref().map(|current| current());
        tokio::spawn(async move {
            let progress = Arc::clone(door.progress());
            let served = async {
                if let Some(transport) = encrypted(socket, config, &limits).await {
                    let progress = Arc::clone(door.progress());
                    connection::serve(transport, peer, application, limits, progress, stopping)
                        .await;
                }
            };
            tokio::select! {
                () = served => {}
                () = progress.dismissal() => {}
            }
            drop(door);
        });
    }
}

/// The connection after its handshake, where it has one; `None` where that failed or took too long.
async fn encrypted(
    socket: TcpStream,
    config: Option<Arc<ServerConfig>>,
    limits: &Limits,
) -> Option<Transport> {
    let Some(config) = config else {
        return Some(Transport::Plain(socket));
    };
    let handshake = async {
        // A client that says nothing takes no thread.
        socket.readable().await.ok()?;
        off_thread(TlsAcceptor::from(config).accept(socket)).await
    };
    let stream = timeout(limits.head, Box::pin(handshake)).await.ok()??;
    Some(Transport::Tls(Box::new(stream)))
}

/// Binds an address that a server of before may still hold connections of.
pub(crate) fn bind(address: SocketAddr) -> std::io::Result<TcpListener> {
    let listener = std::net::TcpListener::bind(address)?;
    listener.set_nonblocking(true)?;
    TcpListener::from_std(listener)
}
