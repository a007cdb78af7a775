//! Results of other benchmark programs and of profilers, and the history's database.

use warpsmith_history::{nsys, samples_blob, store::History};
use warpsmith_measure::{import, profile::ncu};
use warpsmith_report::chapters::changes;

use super::{Target, text};
use crate::scratch;

pub(super) const IMPORT: Target = Target {
    name: "import",
    run: |data| {
        scratch::file("results.json", data, |path| {
            let _ = import::read(path);
        });
    },
    dictionary: &[
        "\"benchmarks\"",
        "\"samples\"",
        "\"times\"",
        "\"iters\"",
        "\"results\"",
        "\"name\"",
        "\"devices\"",
        "\"states\"",
        "\"summaries\"",
        "null",
        "[]",
        "{}",
        "1e308",
        "-0.0",
    ],
};

pub(super) const NCU: Target = Target {
    name: "ncu",
    run: |data| {
        text(data, |table| {
            let _ = ncu::read(table);
        });
    },
    dictionary: &[
        "\"ID\"",
        "\"Kernel Name\"",
        "\"Metric Name\"",
        "\"Metric Unit\"",
        "\"Metric Value\"",
        "\",\"",
        "==PROF==",
        "%",
        "Kbyte",
        "nsecond",
    ],
};

pub(super) const NSYS: Target = Target {
    name: "nsys",
    run: |data| {
        scratch::file("report.sqlite", data, |path| {
            let _ = nsys::read(path);
        });
    },
    dictionary: &[
        "SQLite format 3\0",
        "CUPTI_ACTIVITY_KIND_KERNEL",
        "StringIds",
        "CREATE TABLE",
    ],
};

pub(super) const HISTORY: Target = Target {
    name: "history",
    run: |data| {
        let _ = samples_blob::unpack(data);
        scratch::file("history.sqlite", data, |path| {
            let Ok(history) = History::open(path) else {
                return;
            };
            for key in history.keys().unwrap_or_default() {
                let _ = history.series(&key);
            }
        });
    },
    dictionary: &["SQLite format 3\0", "CREATE TABLE"],
};

pub(super) const REPORT: Target = Target {
    name: "report",
    run: |data| {
        let _ = changes::read(data, "old.json");
    },
    dictionary: &[
        "{\"verb\": \"report\"",
        "\"body\": {",
        "\"document\": 2",
        "\"raw\": {\"latency\": [",
        "\"measurement\": {",
        "\"seconds\": [",
        "\"fitness\": {",
        "1e-9",
        "null",
    ],
};
