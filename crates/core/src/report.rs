//! The envelope that every verb ends in: who ran what where, a typed body, and the findings.
//!
//! JSON is the contract; text, Markdown and HTML are views of it.

use serde::{Deserialize, Serialize};

use crate::{Finding, Severity};

/// Version of the envelope; raised when a reader of the old one would misread the new one.
pub const REPORT_SCHEMA: u32 = 1;

/// Enough to tell two machines apart and to say which one made a number.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct MachineIdentity {
    /// Operating system and architecture, e.g. `linux x86_64`.
    pub system: String,
    /// CPU model name.
    pub cpu: String,
    /// Cores that this process may use.
    pub cores: usize,
    /// GPU names, in device order.
    pub gpus: Vec<String>,
    /// GPU driver version, where there is a driver.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub driver: Option<String>,
}

/// A verb's result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report<Body> {
    /// [`REPORT_SCHEMA`] of the writer.
    pub schema: u32,
    /// The verb that made it, e.g. `bench`.
    pub verb: String,
    /// Version of Warpsmith.
    pub version: String,
    /// Seconds since 1970-01-01 UTC when the verb began; absent where the caller has no clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_unix: Option<u64>,
    /// Where it ran.
    pub machine: MachineIdentity,
    /// What the verb has to say.
    pub body: Body,
    /// What follows from it.
    #[serde(default)]
    pub findings: Vec<Finding>,
}

impl<Body> Report<Body> {
    /// An envelope around `body`.
    pub fn new(verb: &str, machine: MachineIdentity, body: Body) -> Self {
        Self {
            schema: REPORT_SCHEMA,
            verb: verb.to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            started_unix: None,
            machine,
            body,
            findings: Vec::new(),
        }
    }

    /// The worst severity among the findings.
    pub fn worst(&self) -> Option<Severity> {
        self.findings.iter().map(|finding| finding.severity).max()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_finding_decides() {
        let mut report = Report::new("check", MachineIdentity::default(), ());
        assert_eq!(report.worst(), None);
        report
            .findings
            .push(Finding::new("D001", Severity::Warning, "w"));
        report
            .findings
            .push(Finding::new("D002", Severity::Info, "i"));
        assert_eq!(report.worst(), Some(Severity::Warning));
    }

    #[test]
    fn a_report_survives_json() {
        let report = Report::new("bench", MachineIdentity::default(), vec![1.5, 2.5]);
        let json = serde_json::to_string(&report).unwrap();
        assert_eq!(
            serde_json::from_str::<Report<Vec<f64>>>(&json).unwrap(),
            report
        );
    }
}
