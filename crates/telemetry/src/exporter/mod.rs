//! The exporter: what is known now, as Prometheus reads it, over HTTP, plain or encrypted.

mod basic_auth;
mod health_check;
mod login_throttle;
mod metrics_text;
mod resident;
mod server;
mod tls;
mod web_config;

pub use health_check::check_health;
pub use metrics_text::{ProcessSeries, metrics_text};
pub use resident::give_back_start_up;
pub use server::{Exporter, ServeError};
pub use tls::TlsError;
pub use web_config::{WebConfig, WebConfigError};
