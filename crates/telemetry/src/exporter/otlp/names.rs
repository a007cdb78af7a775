//! What our metrics are called in OpenTelemetry: dots instead of the first underscores, the unit as a
//! field of its own, and no `_total`.
//!
//! Invariant: a Prometheus that takes OTLP writes units and `_total` behind names, which gives the
//! names of the exporter's own page back.

use crate::exporter::text_format::Head;

/// A metric's name and unit in OpenTelemetry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OtlpName {
    /// The name, with dots.
    pub name: String,
    /// The unit, as UCUM writes it; empty where a number has none.
    pub unit: &'static str,
}

const PARTS: [&str; 5] = ["gpu", "mig", "host", "exporter", "kubelet"];
/// Endings of our names, the longest first, and their units.
const UNITS: [(&str, &str); 8] = [
    ("_bytes_per_second", "By/s"),
    ("_celsius", "Cel"),
    ("_seconds", "s"),
    ("_joules", "J"),
    ("_bytes", "By"),
    ("_hertz", "Hz"),
    ("_watts", "W"),
    ("_ratio", "1"),
];

/// The name of a metric of the page.
pub fn otlp_name(head: &Head) -> OtlpName {
    let name = head.name.strip_suffix("_total").unwrap_or(head.name);
    let unit = UNITS
        .iter()
        .find_map(|(ending, unit)| Some((name.strip_suffix(ending)?, *unit)));
    let (name, unit) = unit.unwrap_or((name, ""));
    let name = match name.strip_prefix("warpsmith_") {
        None => name.to_owned(),
        Some(rest) => match rest.split_once('_') {
            Some((part, rest)) if PARTS.contains(&part) => format!("warpsmith.{part}.{rest}"),
            _ => format!("warpsmith.{rest}"),
        },
    };
    OtlpName { name, unit }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exporter::metrics;

    /// As Prometheus' OTLP receiver makes a name: letters, digits and underscores, then the unit in
    /// words, then `_total` for what only grows.
    fn in_prometheus(head: &Head) -> String {
        let OtlpName { name, unit } = otlp_name(head);
        let words = UNITS.iter().find(|(_, known)| *known == unit);
        let words = words.map_or("", |(ending, _)| ending);
        let total = if head.kind == "counter" { "_total" } else { "" };
        format!("{}{words}{total}", name.replace('.', "_"))
    }

    #[test]
    fn prometheus_makes_the_pages_names_of_them() {
        for head in metrics().filter(|head| head.name.starts_with("warpsmith_")) {
            assert_eq!(in_prometheus(head), head.name);
        }
    }

    #[test]
    fn names_have_dots_and_units() {
        let named = |name| {
            let OtlpName { name, unit } = otlp_name(&Head::new(name, "gauge", "", ""));
            (name, unit)
        };
        for (ours, name, unit) in [
            ("warpsmith_gpu_power_watts", "warpsmith.gpu.power", "W"),
            (
                "warpsmith_gpu_energy_joules_total",
                "warpsmith.gpu.energy",
                "J",
            ),
            (
                "warpsmith_gpu_nvlink_sent_bytes_per_second",
                "warpsmith.gpu.nvlink_sent",
                "By/s",
            ),
            ("warpsmith_gpu_up", "warpsmith.gpu.up", ""),
            ("warpsmith_build_info", "warpsmith.build_info", ""),
            ("warpsmith_gpus", "warpsmith.gpus", ""),
        ] {
            assert_eq!(named(ours), (name.to_owned(), unit));
        }
    }
}
