//! How often `report --compare` is wrong: every pair of the reports given, all of one program on one
//! machine, must have no SLOWER and no FASTER.
//!
//! `cargo bench -p warpsmith-report --bench report_pairs -- one/report.json two/report.json …`

#![allow(clippy::print_stdout, clippy::print_stderr)] // What a bench prints is its result.

use std::process::ExitCode;

use warpsmith_report::chapters::changes;

fn main() -> ExitCode {
    let paths: Vec<String> = std::env::args()
        .skip(1)
        .filter(|word| !word.starts_with("--"))
        .collect();
    if paths.len() < 2 {
        println!("give two or more report.json files of one program on one machine");
        return ExitCode::SUCCESS;
    }
    let mut reports = Vec::new();
    for path in &paths {
        let read = std::fs::read(path)
            .map_err(|error| format!("`{path}`: {error}"))
            .and_then(|text| changes::read(&text, path));
        match read {
            Ok(report) => reports.push(report),
            Err(error) => {
                eprintln!("{error}");
                return ExitCode::FAILURE;
            }
        }
    }
    let mut total = changes::Tally::default();
    let mut pairs = 0;
    for (index, old) in reports.iter().enumerate() {
        for new in &reports[index + 1..] {
            let tally = changes::tally(old, new);
            total.add(&tally);
            pairs += 1;
        }
    }
    println!("{pairs} pairs of {} reports: {total}", reports.len());
    ExitCode::SUCCESS
}
