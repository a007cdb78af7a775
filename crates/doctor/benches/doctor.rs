//! What `check` and `audit` cost here. `cargo bench -p warpsmith-doctor [-- PROJECT…]` prints the
//! median of each, and the time of walking and reading the same files as the peer that bounds it.

#![allow(clippy::print_stdout)] // A bench prints.

use std::hint::black_box;
use std::path::Path;
use std::time::{Duration, Instant};

use warpsmith_doctor::{
    AuditOptions, RealHost, audit_project, check_machine, collect_machine, database,
};

fn median(samples: usize, mut run: impl FnMut()) -> Duration {
    let mut times: Vec<Duration> = (0..samples)
        .map(|_| {
            let start = Instant::now();
            run();
            start.elapsed()
        })
        .collect();
    times.sort();
    times[times.len() / 2]
}

/// Reads every file below a folder: nothing that reads a project can be faster.
fn read_all(folder: &Path) -> u64 {
    let mut bytes = 0;
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let Ok(kind) = entry.file_type() else {
            continue;
        };
        if kind.is_dir() && entry.file_name() != ".git" {
            bytes += read_all(&entry.path());
        } else if kind.is_file() {
            bytes += std::fs::read(entry.path()).map_or(0, |b| b.len() as u64);
        }
    }
    bytes
}

fn main() {
    let start = Instant::now();
    black_box(database());
    println!("database, once: {:?}", start.elapsed());
    let time = median(21, || {
        black_box(check_machine(&collect_machine(&RealHost::new())));
    });
    println!("check of this machine: {time:?} (median of 21, warm)");
    for argument in std::env::args().skip(1).filter(|a| !a.starts_with('-')) {
        let root = Path::new(&argument);
        let audit = median(5, || {
            black_box(audit_project(root, &AuditOptions::default()).ok());
        });
        let reading = median(5, || {
            black_box(read_all(root));
        });
        println!(
            "audit of {argument}: {audit:?} (median of 5, warm), {:.2} of reading every file on one thread",
            audit.as_secs_f64() / reading.as_secs_f64()
        );
    }
}
