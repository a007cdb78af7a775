//! The exporter: what is known now, as Prometheus reads it, over plain HTTP.

mod metrics_text;
mod server;
mod web_config;

pub use metrics_text::{ProcessSeries, metrics_text};
pub use server::{Exporter, ServeError, check_health};
pub use web_config::{WebConfig, WebConfigError};
