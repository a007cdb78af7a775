//! Runs one target on mutated seeds until its time is over; `cargo xtask fuzz` starts it.
//!
//! The input under test lies in a file while it runs, so that an abort, which ends this process, leaves it
//! behind. The exit status says what happened: 0 nothing, 1 a panic, 3 a hang.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::exit;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use clap::Parser;
use warpsmith_fuzz::mutation::{self, Random};
use warpsmith_fuzz::{TARGETS, Target, target};

/// Fuzzes one target.
#[derive(Parser)]
struct Arguments {
    /// Print the targets and do nothing else.
    #[arg(long)]
    list: bool,
    /// The target.
    #[arg(required_unless_present = "list")]
    target: Option<String>,
    /// Seconds to run for.
    #[arg(long, default_value_t = 5)]
    seconds: u64,
    /// Number that decides on the mutations.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Folder with the seeds.
    #[arg(long)]
    corpus: Option<PathBuf>,
    /// File that holds the input under test.
    #[arg(long)]
    current: Option<PathBuf>,
    /// Run this input alone.
    #[arg(long)]
    replay: Option<PathBuf>,
    /// Seconds that one input may take.
    #[arg(long, default_value_t = 10)]
    limit: u64,
}

/// Milliseconds since the start at which the input under test began, and a bit that says that there is one.
static BEGAN: AtomicU64 = AtomicU64::new(0);

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    if arguments.list {
        for target in TARGETS {
            println!("{}", target.name);
        }
        return Ok(());
    }
    let name = arguments.target.as_deref().unwrap_or_default();
    let target = target(name).with_context(|| format!("there is no target `{name}`"))?;
    let start = Instant::now();
    let limit = Duration::from_secs(arguments.limit);
    std::thread::spawn(move || watch(start, limit));
    if let Some(path) = &arguments.replay {
        let data = fs::read(path).with_context(|| format!("cannot read `{}`", path.display()))?;
        if !survives(target, &data, start) {
            exit(1);
        }
        println!("{name}: no failure in {:.1?}", start.elapsed());
        return Ok(());
    }
    let seeds = seeds(arguments.corpus.as_deref())?;
    let mut random = Random::new(arguments.seed);
    let mut runs = 0_u64;
    let end = Duration::from_secs(arguments.seconds);
    // The seeds themselves come first: what they show needs no luck.
    let mut pending = seeds.clone().into_iter();
    while start.elapsed() < end {
        let data = pending
            .next()
            .unwrap_or_else(|| mutation::input(&seeds, target.dictionary, &mut random));
        if let Some(path) = &arguments.current {
            fs::write(path, &data).with_context(|| format!("cannot write `{}`", path.display()))?;
        }
        if !survives(target, &data, start) {
            exit(1);
        }
        runs += 1;
    }
    println!("{name}: {runs} inputs from {} seeds", seeds.len());
    Ok(())
}

/// Whether the target returns.
fn survives(target: &Target, data: &[u8], start: Instant) -> bool {
    let now = u64::try_from(start.elapsed().as_millis()).unwrap_or(u64::MAX >> 1);
    BEGAN.store(now << 1 | 1, Ordering::Relaxed);
    let outcome = catch_unwind(AssertUnwindSafe(|| (target.run)(data)));
    BEGAN.store(0, Ordering::Relaxed);
    outcome.is_ok()
}

/// Ends the process when an input takes too long.
fn watch(start: Instant, limit: Duration) {
    loop {
        std::thread::sleep(Duration::from_millis(200));
        let began = BEGAN.load(Ordering::Relaxed);
        let taken = start
            .elapsed()
            .saturating_sub(Duration::from_millis(began >> 1));
        if began & 1 == 1 && taken > limit {
            eprintln!("an input took more than {limit:?}");
            exit(3);
        }
    }
}

/// The files of a corpus, in the order of their names.
fn seeds(folder: Option<&Path>) -> Result<Vec<Vec<u8>>> {
    let Some(folder) = folder else {
        return Ok(Vec::new());
    };
    let entries =
        fs::read_dir(folder).with_context(|| format!("cannot read `{}`", folder.display()))?;
    let mut paths = entries
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<std::io::Result<Vec<_>>>()?;
    paths.sort();
    let seeds = paths.iter().map(fs::read).collect::<Result<_, _>>();
    seeds.with_context(|| format!("cannot read the seeds in `{}`", folder.display()))
}
