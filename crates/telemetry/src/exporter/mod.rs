//! The exporter: what is known now, as Prometheus reads it, over HTTP, plain or encrypted.

mod basic_auth;
mod dcgm_text;
mod health_check;
mod login_throttle;
mod metrics_text;
mod otlp;
mod own_metrics;
mod peers;
mod pod_resources;
mod protobuf;
mod resident;
mod server;
mod text_format;
mod tls;
mod web_config;

pub use health_check::check_health;
pub use metrics_text::{ProcessSeries, metrics_text};
pub use otlp::{
    CONVENTIONS, Convention, Kind, OtlpError, OtlpName, OtlpSettings, attribute_list, header_list,
    otlp_name,
};
pub use peers::{PEERS, Peers};
pub use pod_resources::{Assignment, KUBELET_SOCKET, PodWatch, Pods};
pub use resident::give_back_start_up;
pub use server::{Exporter, Names, ServeError, Serving};
pub use text_format::Head;
pub use tls::TlsError;
pub(crate) use tls::provider;
pub use web_config::{WebConfig, WebConfigError};

/// Every metric of the exporter's page, in its order: the machine's, then the exporter's own.
pub fn metrics() -> impl Iterator<Item = &'static Head> {
    metrics_text::heads()
        .chain(own_metrics::heads())
        .chain(otlp::heads())
}

/// Every metric under the names of dcgm-exporter.
pub fn dcgm_metrics() -> impl Iterator<Item = &'static Head> {
    dcgm_text::heads()
}
