//! Many machines: their exporters read at once, and whoever is not like the others.

mod beside;
mod codes;
mod collect;
mod exposition;
mod hosts;
mod judge;
mod kind;
mod prometheus;
mod reading;

use serde::{Deserialize, Serialize};
use warpsmith_core::Finding;

pub use beside::{BesideFleet, beside_fleet};
pub use codes::FAMILY;
pub use collect::{FleetError, Reading, read_fleet};
pub use hosts::{HostError, hosts};
pub use judge::Remark;
pub use kind::{Kind, Load, Typical};
pub use prometheus::{QueryAnswer, prometheus_endpoint, read_prometheus};
pub use reading::{GpuReading, HostReading};

/// What was read from a fleet, and what is remarkable about it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FleetBody {
    /// Every host, in the order in which they were named.
    pub hosts: Vec<HostReading>,
    /// GPUs by model and load.
    pub kinds: Vec<Kind>,
    /// What is not as with the others.
    pub remarks: Vec<Remark>,
}

/// Judges what was read; `before` is an earlier reading of the same hosts.
pub fn judge_fleet(
    hosts: Vec<HostReading>,
    before: Option<&FleetBody>,
) -> (FleetBody, Vec<Finding>) {
    let (kinds, remarks) = judge::judge(&hosts, before.map(|body| &body.hosts[..]));
    let findings = judge::findings(&remarks);
    let body = FleetBody {
        hosts,
        kinds,
        remarks,
    };
    (body, findings)
}
