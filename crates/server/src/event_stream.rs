//! Server-sent events: what happens, and the matrix as it is measured.

use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;
use warpsmith_http::write_within;

use crate::server::{PATIENCE, Shared};

/// Everything that happens.
pub(crate) async fn follow_events(
    mut socket: TcpStream,
    mut events: Receiver<Arc<str>>,
    shared: Arc<Shared>,
) {
    let mut stopping = shared.stopping.clone();
    loop {
        let line = tokio::select! {
            event = events.recv() => match event {
                Ok(line) => format!("data: {line}\n\n"),
                Err(RecvError::Lagged(missed)) => format!(": {missed} missed\n\n"),
                Err(_) => return,
            },
            // Shows whether anybody is still there.
            () = tokio::time::sleep(Duration::from_secs(15)) => ": still here\n\n".to_owned(),
            _ = stopping.wait_for(|stopping| *stopping) => return,
        };
        if write_within(&mut socket, line.as_bytes(), PATIENCE)
            .await
            .is_err()
        {
            return;
        }
    }
}

/// The matrix, a row to an event.
pub(crate) async fn follow_matrix(mut socket: TcpStream, shared: Arc<Shared>) {
    let mut stopping = shared.stopping.clone();
    let mut changes = shared.matrix.changes();
    let mut seen = 0;
    loop {
        let (rows, done) = shared.matrix.after(seen);
        seen += rows.len();
        for row in rows {
            let line = format!("data: {row}\n\n");
            if write_within(&mut socket, line.as_bytes(), PATIENCE)
                .await
                .is_err()
            {
                return;
            }
        }
        if done {
            let last = b"event: done\ndata: {}\n\n";
            let _ = write_within(&mut socket, last, PATIENCE).await;
            return;
        }
        tokio::select! {
            _ = changes.changed() => {}
            _ = stopping.wait_for(|stopping| *stopping) => return,
        }
    }
}
