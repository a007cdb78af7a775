//! Reference records: what healthy machines of a model reached, measured with this program.
//!
//! A record decides where there is one; a datasheet is what no program reaches.

use serde::Deserialize;

/// What a healthy machine of a model reached.
#[derive(Clone, Debug, Deserialize)]
pub struct Record {
    /// Name of the GPU, or of the CPU, as the system gives it.
    pub model: String,
    /// Threads that were used; absent for a GPU.
    pub threads: Option<usize>,
    /// How and when it was measured.
    pub source: String,
    /// Bytes read and written a second by a copy that no cache holds.
    pub memory_rate: Option<f64>,
    /// Single-precision operations a second.
    pub arithmetic_rate: Option<f64>,
    /// Seconds from the launch of an empty kernel or task to the end of the wait.
    pub launch_seconds: Option<f64>,
    /// Bytes a second from page-locked memory to the GPU.
    pub host_to_device_rate: Option<f64>,
    /// Watts of an idle GPU with an open context.
    pub power_at_rest_w: Option<f64>,
    /// Bytes read and written a second by a copy that a core's cache holds.
    pub cached_rate: Option<f64>,
}

const RECORDS: &[&str] = &[
    include_str!("../../records/nvidia-h200.json"),
    include_str!("../../records/intel-xeon-2-threads.json"),
];

fn records() -> impl Iterator<Item = Record> {
    // A record that is no JSON does not pass the tests.
    RECORDS
        .iter()
        .filter_map(|text| serde_json::from_str(text).ok())
}

/// The record of a GPU.
pub fn of_gpu(model: &str) -> Option<Record> {
    records().find(|record| record.threads.is_none() && record.model == model)
}

/// The record of a CPU with this many threads in use.
pub fn of_cpu(model: &str, threads: usize) -> Option<Record> {
    records().find(|record| record.threads == Some(threads) && record.model == model)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_record_can_be_read_and_says_where_it_is_from() {
        assert_eq!(records().count(), RECORDS.len());
        for record in records() {
            assert!(record.source.contains("warpsmith report"), "{record:?}");
            assert!(record.memory_rate.is_some_and(|rate| rate > 1e9));
            assert!(record.arithmetic_rate.is_some_and(|rate| rate > 1e9));
        }
    }

    #[test]
    fn a_record_is_found_by_its_whole_name() {
        assert!(of_gpu("NVIDIA H200").is_some());
        assert!(of_gpu("NVIDIA H200 NVL").is_none());
        assert!(of_cpu("NVIDIA H200", 2).is_none());
    }
}
