//! What happens, as JSON lines, for whoever listens; nobody who does can hold the server up.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use tokio::sync::broadcast;

/// Events that a reader may be behind.
const BEHIND: usize = 256;

/// Where events go.
#[derive(Debug)]
pub(crate) struct Events(broadcast::Sender<Arc<str>>);

impl Events {
    pub(crate) fn new() -> Self {
        Self(broadcast::channel(BEHIND).0)
    }

    /// Tells everybody; costs nothing where nobody listens.
    pub(crate) fn tell(&self, event: &str, details: impl FnOnce() -> Value) {
        if self.0.receiver_count() == 0 {
            return;
        }
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let mut line = json!({
            "event": event,
            "unix_seconds": now.map_or(0.0, |now| now.as_secs_f64()),
        });
        if let (Some(line), Value::Object(details)) = (line.as_object_mut(), details()) {
            line.extend(details);
        }
        // The last reader may just have gone.
        let _ = self.0.send(line.to_string().into());
    }

    pub(crate) fn subscribe(&self) -> broadcast::Receiver<Arc<str>> {
        self.0.subscribe()
    }
}
