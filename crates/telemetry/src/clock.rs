//! Time as telemetry keeps it: microseconds since 1970, like the driver's own time stamps, from
//! the system or from a test that turns the hands itself.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

/// Microseconds since 1970-01-01 UTC.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Micros(pub u64);

impl Micros {
    /// This much later.
    pub fn plus(self, span: Duration) -> Self {
        Self(
            self.0
                .saturating_add(u64::try_from(span.as_micros()).unwrap_or(u64::MAX)),
        )
    }

    /// How long after `earlier` this is; zero where it is not after it.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_micros(self.0.saturating_sub(earlier.0))
    }

    /// Seconds since 1970.
    pub fn as_seconds(self) -> f64 {
        self.0 as f64 / 1e6
    }
}

/// Where the time comes from.
#[derive(Clone, Debug)]
pub enum Clock {
    /// The system's wall clock.
    System,
    /// Hands that somebody else turns.
    Virtual(Arc<AtomicU64>),
}

impl Clock {
    /// The time now.
    pub fn now(&self) -> Micros {
        match self {
            // A clock before 1970 reads as 1970: nothing here can do better.
            Self::System => Micros(
                SystemTime::now()
                    .duration_since(UNIX_EPOCH)
                    .map_or(0, |span| {
                        u64::try_from(span.as_micros()).unwrap_or(u64::MAX)
                    }),
            ),
            Self::Virtual(hands) => Micros(hands.load(Ordering::SeqCst)),
        }
    }
}
