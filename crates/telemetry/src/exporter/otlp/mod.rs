//! The board pushed as OpenTelemetry metrics, over OTLP/HTTP in protobuf.

mod conventions;
mod document;
mod names;
mod push;
mod queue;
mod settings;
mod verdict;

pub use conventions::{CONVENTIONS, Convention};
pub use document::Kind;
pub use names::{OtlpName, otlp_name};
pub(super) use push::{OtlpPush, Source, heads};
pub use settings::{OtlpError, OtlpSettings, attribute_list, header_list};
