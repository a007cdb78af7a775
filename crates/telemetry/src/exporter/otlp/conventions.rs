//! What OpenTelemetry's own conventions for hardware have a name for, under that name.
//!
//! They come beside our metrics, for dashboards that know GPUs of any maker. The conventions are in
//! development: <https://opentelemetry.io/docs/specs/semconv/hardware/gpu/>.

use super::document::{Document, Kind, Metric};
use crate::GpuIdentity;
use crate::board::{Board, GpuBoard};
use crate::event::Presence;
use crate::exporter::metrics_text::scaled;

/// A metric of the conventions.
#[derive(Clone, Copy, Debug)]
pub struct Convention {
    /// Its name.
    pub name: &'static str,
    /// Its unit.
    pub unit: &'static str,
    /// How its values add up.
    pub kind: Kind,
    /// What it is.
    pub help: &'static str,
    /// What tells its values apart, beside the GPU: attribute, and a value for each.
    pub by: Option<&'static str>,
    values: &'static [(&'static str, Pick)],
}

impl Convention {
    /// The values of the attribute that tells its values apart.
    pub fn apart(&self) -> impl Iterator<Item = &'static str> {
        self.values.iter().map(|(what, _)| *what)
    }
}

type Pick = fn(&GpuIdentity, &GpuBoard) -> Option<f64>;

fn percent(value: Option<i64>) -> Option<f64> {
    scaled(value, 0.01)
}

fn is(gpu: &GpuBoard, presence: &[Presence]) -> Option<f64> {
    Some(f64::from(u8::from(presence.contains(&gpu.presence))))
}

/// All that are pushed.
pub const CONVENTIONS: &[Convention] = &[
    Convention {
        name: "hw.status",
        unit: "1",
        kind: Kind::UpDownCounter,
        help: "Whether the GPU answers (`ok`), or is lost or hung (`failed`): 1 for the state that holds.",
        by: Some("hw.state"),
        values: &[
            ("ok", |_, gpu| is(gpu, &[Presence::Live])),
            ("failed", |_, gpu| {
                is(gpu, &[Presence::Lost, Presence::Stale])
            }),
        ],
    },
    Convention {
        name: "hw.gpu.utilization",
        unit: "1",
        kind: Kind::Gauge,
        help: "Share of time with a kernel running, or the encoder or decoder busy.",
        by: Some("hw.gpu.task"),
        values: &[
            ("general", |_, gpu| percent(gpu.state.busy_percent)),
            ("encoder", |_, gpu| percent(gpu.steady.encoder_percent)),
            ("decoder", |_, gpu| percent(gpu.steady.decoder_percent)),
        ],
    },
    Convention {
        name: "hw.gpu.memory.usage",
        unit: "By",
        kind: Kind::UpDownCounter,
        help: "Device memory in use by programs.",
        by: None,
        values: &[("", |_, gpu| scaled(gpu.state.memory_used_bytes, 1.0))],
    },
    Convention {
        name: "hw.gpu.memory.limit",
        unit: "By",
        kind: Kind::UpDownCounter,
        help: "Device memory.",
        by: None,
        values: &[("", |identity, _| scaled(identity.memory_total_bytes, 1.0))],
    },
    Convention {
        name: "hw.gpu.memory.utilization",
        unit: "1",
        kind: Kind::Gauge,
        help: "Device memory in use, as a share of all.",
        by: None,
        values: &[("", |identity, gpu| {
            let total = identity.memory_total_bytes.filter(|total| *total > 0)?;
            scaled(gpu.state.memory_used_bytes, 1.0 / total as f64)
        })],
    },
    Convention {
        name: "hw.gpu.io",
        unit: "By",
        kind: Kind::Counter,
        help: "Bytes over PCIe.",
        by: Some("network.io.direction"),
        values: &[
            ("transmit", |_, gpu| scaled(gpu.slow.pcie_sent_bytes, 1.0)),
            ("receive", |_, gpu| {
                scaled(gpu.slow.pcie_received_bytes, 1.0)
            }),
        ],
    },
    Convention {
        name: "hw.power",
        unit: "W",
        kind: Kind::Gauge,
        help: "Board power, as averaged by the driver.",
        by: None,
        values: &[("", |_, gpu| scaled(gpu.state.power_mw, 1e-3))],
    },
    Convention {
        name: "hw.energy",
        unit: "J",
        kind: Kind::Counter,
        help: "Energy since the driver was loaded.",
        by: None,
        values: &[("", |_, gpu| scaled(gpu.energy_mj, 1e-3))],
    },
    Convention {
        name: "hw.temperature",
        unit: "Cel",
        kind: Kind::Gauge,
        help: "Temperature of core and memory.",
        by: Some("hw.sensor_location"),
        values: &[
            ("core", |_, gpu| scaled(gpu.state.temperature_c, 1.0)),
            ("memory", |_, gpu| {
                scaled(gpu.state.memory_temperature_c, 1.0)
            }),
        ],
    },
    Convention {
        name: "hw.errors",
        unit: "{error}",
        kind: Kind::Counter,
        help: "Memory errors since the driver was loaded.",
        by: Some("error.type"),
        values: &[
            ("corrected", |_, gpu| scaled(gpu.slow.ecc_corrected, 1.0)),
            ("uncorrected", |_, gpu| {
                scaled(gpu.slow.ecc_uncorrected, 1.0)
            }),
        ],
    },
];

/// Writes every convention for every GPU; of a GPU that does not answer only its status.
pub(super) fn conventional(board: &Board, out: &mut Document) {
    let driver = board.inventory.driver.as_deref().unwrap_or("");
    let gpus = || board.inventory.gpus.iter().zip(&board.gpus);
    for convention in CONVENTIONS {
        out.metric(Metric {
            name: convention.name,
            help: convention.help,
            unit: convention.unit,
            kind: convention.kind,
        });
        for (identity, gpu) in gpus() {
            if gpu.presence != Presence::Live && convention.name != "hw.status" {
                continue;
            }
            let name = format!("GPU {}", identity.index);
            for (what, pick) in convention.values {
                let Some(value) = pick(identity, gpu) else {
                    continue;
                };
                let attributes = [
                    ("hw.id", identity.uuid.as_str()),
                    ("hw.type", "gpu"),
                    ("hw.name", &name),
                    ("hw.model", &identity.name),
                    ("hw.vendor", identity.vendor.name()),
                    (
                        "hw.driver_version",
                        identity.driver.as_deref().unwrap_or(driver),
                    ),
                    (convention.by.unwrap_or(""), what),
                ];
                out.point(&attributes, value);
            }
        }
    }
}
