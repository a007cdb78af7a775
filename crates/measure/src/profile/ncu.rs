//! Nsight Compute's CSV (`--csv --page=details`): one line per metric of each launch.

use serde::{Deserialize, Serialize};
use thiserror::Error;
use warpsmith_formats::csv;

/// Why a CSV could not be read.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum NcuError {
    /// No line names the columns.
    #[error(
        "no heading with `Kernel Name` and `Metric Value`; was it made with `--csv --page=details`?"
    )]
    NoHeading,
    /// A line ends before the value.
    #[error("line {line} has {found} fields, and the metric's value is number {expected}")]
    ShortLine {
        /// From 1.
        line: usize,
        /// Fields there.
        found: usize,
        /// Fields up to the value.
        expected: usize,
    },
}

/// One metric of one launch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Metric {
    /// Number of the launch.
    pub launch: String,
    /// The kernel.
    pub kernel: String,
    /// Section of the report.
    pub section: String,
    /// The metric.
    pub name: String,
    /// Its unit, as ncu names it.
    pub unit: String,
    /// Its value; absent where it is no number.
    pub value: Option<f64>,
}

/// Reads every metric. Lines before the heading (`==PROF==` and the program's own output) and empty
/// lines are skipped.
pub fn read(text: &str) -> Result<Vec<Metric>, NcuError> {
    let mut heading: Option<Vec<String>> = None;
    let mut metrics = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let fields = csv::fields(line);
        let Some(heading) = &heading else {
            let named = |name: &str| fields.iter().any(|field| field == name);
            if named("Kernel Name") && named("Metric Value") {
                heading = Some(fields);
            }
            continue;
        };
        if line.trim().is_empty() || line.starts_with("==") {
            continue;
        }
        let place = |name: &str| heading.iter().position(|column| column == name);
        // Columns of rules follow the value, and ncu leaves them out where there is no rule.
        let expected = place("Metric Value").map_or(0, |place| place + 1);
        if fields.len() < expected {
            return Err(NcuError::ShortLine {
                line: index + 1,
                found: fields.len(),
                expected,
            });
        }
        let get = |name: &str| {
            let field = place(name).and_then(|place| fields.get(place));
            field.cloned().unwrap_or_default()
        };
        // Lines that hold a rule's advice instead of a metric have no metric name.
        if get("Metric Name").is_empty() {
            continue;
        }
        metrics.push(Metric {
            launch: get("ID"),
            kernel: get("Kernel Name"),
            section: get("Section Name"),
            name: get("Metric Name"),
            unit: get("Metric Unit"),
            // Thousands are separated by commas.
            value: get("Metric Value").replace(',', "").parse().ok(),
        });
    }
    match heading {
        Some(_) => Ok(metrics),
        None => Err(NcuError::NoHeading),
    }
}

/// What a roofline needs: bytes of device memory, and single-precision operations by kind.
pub const ROOFLINE_METRICS: [&str; 4] = [
    "dram__bytes.sum",
    "smsp__sass_thread_inst_executed_op_fadd_pred_on.sum",
    "smsp__sass_thread_inst_executed_op_fmul_pred_on.sum",
    "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum",
];
/// Operations that each of [`ROOFLINE_METRICS`] but the first counts for.
const OPERATIONS: [f64; 3] = [1.0, 1.0, 2.0];

/// What one launch moved and computed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LaunchWork {
    /// The kernel.
    pub kernel: String,
    /// Its time.
    pub seconds: f64,
    /// Bytes read from and written to device memory.
    pub bytes: f64,
    /// Single-precision additions and multiplications, without the matrix units.
    pub flops: f64,
}

/// The launches whose time and [`ROOFLINE_METRICS`] are all there, in their order.
pub fn work(metrics: &[Metric]) -> Vec<LaunchWork> {
    let mut launches: Vec<&str> = metrics.iter().map(|m| m.launch.as_str()).collect();
    launches.dedup();
    let of_launch = |launch: &str| -> Option<LaunchWork> {
        let of = || metrics.iter().filter(|metric| metric.launch == launch);
        let value = |name: &str| {
            let metric = of().find(|metric| metric.name == name)?;
            Some(metric.value? * scale(&metric.unit)?)
        };
        let [bytes, operations @ ..] = ROOFLINE_METRICS;
        let mut flops = 0.0;
        for (name, each) in operations.into_iter().zip(OPERATIONS) {
            flops += each * value(name)?;
        }
        Some(LaunchWork {
            kernel: of().next()?.kernel.clone(),
            seconds: value("Duration")?,
            bytes: value(bytes)?,
            flops,
        })
    };
    launches.into_iter().filter_map(of_launch).collect()
}

/// Seconds, bytes or a count in one of ncu's units; nothing for other units.
fn scale(unit: &str) -> Option<f64> {
    Some(match unit {
        "s" | "second" | "byte" | "inst" | "" => 1.0,
        "ms" | "msecond" => 1e-3,
        "us" | "usecond" => 1e-6,
        "ns" | "nsecond" => 1e-9,
        "Kbyte" => 1e3,
        "Mbyte" => 1e6,
        "Gbyte" => 1e9,
        "Tbyte" => 1e12,
        _ => return None,
    })
}

/// Times of launches in seconds, by kernel, in the order of the launches.
pub fn durations(metrics: &[Metric]) -> Vec<(String, f64)> {
    metrics
        .iter()
        .filter(|metric| metric.name == "Duration")
        .filter_map(|metric| Some((metric.kernel.clone(), metric.value? * scale(&metric.unit)?)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const CSV: &str = r#"==PROF== Connected to process 12
hello from the program
"ID","Process ID","Kernel Name","Stream","Section Name","Metric Name","Metric Unit","Metric Value"
"0","12","void f<int>(T1 *, int)","7","GPU Speed Of Light Throughput","Duration","usecond","1,234.50"
"0","12","void f<int>(T1 *, int)","7","GPU Speed Of Light Throughput","Memory Throughput","%","81.20"
"0","12","void f<int>(T1 *, int)","7","Launch Statistics","Function Cache Configuration","","CachePreferNone"
"#;

    #[test]
    fn metrics_are_read_to_exact_fields() {
        let metrics = read(CSV).unwrap();
        assert_eq!(metrics.len(), 3);
        assert_eq!(metrics[0].kernel, "void f<int>(T1 *, int)");
        assert_eq!(metrics[1].value, Some(81.2));
        assert_eq!(metrics[2].value, None);
        let durations = durations(&metrics);
        assert!(durations.len() == 1 && (durations[0].1 - 1234.5e-6).abs() < 1e-12);
    }

    #[test]
    fn metrics_without_a_rule_and_rules_without_a_metric_are_told_apart() {
        // As ncu 2025.3 writes them.
        let csv = r#""ID","Kernel Name","Section Name","Metric Name","Metric Unit","Metric Value","Rule Name","Rule Type","Rule Description"
"0","saxpy","GPU Speed Of Light Throughput","Duration","ns","64,288",
"0","saxpy","SpeedOfLight","","","","SOLBottleneck","INF","Compute and Memory are well-balanced: ""both"" must be reduced."
"#;
        let metrics = read(csv).unwrap();
        assert_eq!(metrics.len(), 1);
        assert_eq!(durations(&metrics), [("saxpy".to_owned(), 64288.0 * 1e-9)]);
    }

    #[test]
    fn bytes_and_operations_of_a_launch_make_its_work() {
        let mut csv = CSV.to_owned();
        for (name, unit, value) in [
            (ROOFLINE_METRICS[0], "Mbyte", "12.58"),
            (ROOFLINE_METRICS[1], "inst", "1,000"),
            (ROOFLINE_METRICS[2], "inst", "500"),
            (ROOFLINE_METRICS[3], "inst", "2,000"),
        ] {
            csv += &format!(
                "\"0\",\"12\",\"f\",\"7\",\"Command line profiler metrics\",\"{name}\",\"{unit}\",\"{value}\"\n"
            );
        }
        let work = work(&read(&csv).unwrap());
        assert_eq!(work.len(), 1);
        assert!((work[0].bytes - 12.58e6).abs() < 1.0 && work[0].flops == 5500.0);
        assert!((work[0].seconds - 1234.5e-6).abs() < 1e-12);
        assert!(
            super::work(&read(CSV).unwrap()).is_empty(),
            "without them there is no roof"
        );
    }

    #[test]
    fn what_is_no_details_page_is_refused() {
        assert_eq!(read("a,b\n1,2\n"), Err(NcuError::NoHeading));
        let short = format!("{CSV}\"1\",\"12\"\n");
        assert!(matches!(
            read(&short),
            Err(NcuError::ShortLine {
                line: 7,
                found: 2,
                expected: 8
            })
        ));
    }
}
