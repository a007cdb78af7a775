//! How often the search ends near the best point of recorded spaces, beside random points.
//!
//!     WARPSMITH_TUNING_SPACES=FOLDER cargo bench -p warpsmith-case --bench search
//!
//! The folder holds Kernel Tuner's cache files (`.json`: `tune_params_keys`, and `cache` with every point and
//! its `time`). Thirty subsets of 200 points of each space are searched with a quarter, a fifth and a sixth of
//! their points, at most eight at a time in work as on sixteen cores; a run counts where it ends within 2 % of
//! the subset's best. A space of fewer than 220 points is searched whole thirty times.

#![allow(clippy::print_stdout, reason = "a bench prints its figures")]

use std::collections::VecDeque;
use std::path::Path;

use warpsmith_case::{Point, Search, Space, TunableValue};
use warpsmith_workload::random::Random;

const RUNS: u64 = 30;
const POINTS: usize = 200;
/// Shares of the points that are measured.
const SHARES: [f64; 3] = [0.25, 0.2, 0.17];
/// Points that are compiled at once.
const WIDTH: usize = 8;

fn main() {
    let Some(folder) = std::env::var_os("WARPSMITH_TUNING_SPACES") else {
        println!("WARPSMITH_TUNING_SPACES names no folder of recorded spaces: nothing to search");
        return;
    };
    let mut files: Vec<_> = match std::fs::read_dir(&folder) {
        Ok(entries) => entries.flatten().map(|entry| entry.path()).collect(),
        Err(error) => {
            println!("cannot read {}: {error}", Path::new(&folder).display());
            return;
        }
    };
    files.sort();
    print!("{:<32}", "within 2 % of the best");
    for share in SHARES {
        print!(" {:>9} {:>9}", format!("{:.0} %", 100.0 * share), "random");
    }
    println!();
    for file in files
        .iter()
        .filter(|file| file.extension().is_some_and(|one| one == "json"))
    {
        let Some(recorded) = read(file) else {
            println!("{}: not a cache file of Kernel Tuner", file.display());
            continue;
        };
        let mut columns = Vec::new();
        for share in SHARES {
            let (mut by_search, mut by_chance) = (0, 0);
            for run in 0..RUNS {
                let (searched, random) = one_run(&recorded, share, run);
                by_search += usize::from(searched <= 1.02);
                by_chance += usize::from(random <= 1.02);
            }
            columns.push(format!("{by_search} of {RUNS}"));
            columns.push(format!("{by_chance} of {RUNS}"));
        }
        let name = file.file_stem().unwrap_or_default().to_string_lossy();
        let columns: Vec<String> = columns.iter().map(|one| format!("{one:>9}")).collect();
        println!("{name:<32} {}", columns.join(" "));
    }
}

/// The points of a recorded space with their times; infinite where one did not run.
fn read(file: &Path) -> Option<Vec<(Point, f64)>> {
    let text = std::fs::read_to_string(file).ok()?;
    let json: serde_json::Value = serde_json::from_str(&text).ok()?;
    let names: Vec<&str> = json["tune_params_keys"]
        .as_array()?
        .iter()
        .filter_map(|name| name.as_str())
        .collect();
    let mut points = Vec::new();
    for entry in json["cache"].as_object()?.values() {
        let value = |name: &&str| match &entry[*name] {
            serde_json::Value::Number(number) if number.is_i64() => {
                TunableValue::Whole(number.as_i64().unwrap_or(0))
            }
            other => TunableValue::Word(other.to_string()),
        };
        let point = names.iter().map(|name| ((*name).to_owned(), value(name)));
        points.push((
            point.collect(),
            entry["time"].as_f64().unwrap_or(f64::INFINITY),
        ));
    }
    Some(points)
}

/// What the launch of a point is made of, as a case's own launch says it: threads of a block for Kernel Tuner's
/// names, also blocks and shared memory for those of our tiled product.
fn threads(point: &Point) -> Vec<f64> {
    let value = |name: &str| {
        let found = point.iter().find(|(one, _)| one == name);
        found.and_then(|(_, value)| match value {
            TunableValue::Whole(value) => Some(*value as f64),
            TunableValue::Word(_) => None,
        })
    };
    if let (Some(bm), Some(bn), Some(tm), Some(tn)) =
        (value("BM"), value("BN"), value("TM"), value("TN"))
    {
        return vec![bm / tm * bn / tn, 1e6 / (bm * bn)];
    }
    if let (Some(x), Some(y)) = (value("MDIMC"), value("NDIMC")) {
        return vec![x * y];
    }
    let along = ["block_size_x", "block_size_y", "block_size_z"];
    vec![along.iter().filter_map(|name| value(name)).product()]
}

/// Best found over best there is: by the search, and by as many random points.
fn one_run(recorded: &[(Point, f64)], share: f64, run: u64) -> (f64, f64) {
    let mut random = Random::seeded(1000 + run);
    let mut chosen: Vec<usize> = (0..recorded.len()).collect();
    random.shuffle(&mut chosen);
    if chosen.len() >= POINTS + 20 {
        chosen.truncate(POINTS);
    }
    let times: Vec<f64> = chosen.iter().map(|at| recorded[*at].1).collect();
    let points: Vec<Point> = chosen.iter().map(|at| recorded[*at].0.clone()).collect();
    let derived: Vec<Vec<f64>> = points.iter().map(threads).collect();
    let space = Space::of_points(points, &derived);
    let best = times.iter().copied().fold(f64::INFINITY, f64::min);
    let mut search = Search::new(&space, share, run);
    let mut found = f64::INFINITY;
    let mut open: VecDeque<usize> = VecDeque::new();
    loop {
        let room = search.room(&space, WIDTH, open.len(), false);
        open.extend(search.propose(&space, room));
        let Some(at) = open.pop_front() else {
            break;
        };
        search.tell(at, Some(times[at]).filter(|time| time.is_finite()));
        found = found.min(times[at]);
    }
    let mut blind: Vec<usize> = (0..times.len()).collect();
    random.shuffle(&mut blind);
    blind.truncate(search.budget());
    let by_chance = blind
        .iter()
        .map(|at| times[*at])
        .fold(f64::INFINITY, f64::min);
    (found / best, by_chance / best)
}
