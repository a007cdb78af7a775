//! Runs the workspace's test programs beside each other, as many as there are cores and at most four: many wait
//! more than they compute (a browser, a server), and one after the other they leave half of two cores idle.
//!
//! What a program prints is shown when it has ended, in one piece.

use std::collections::VecDeque;
use std::env;
use std::fs::File;
use std::io::{Read, Seek, Write};
use std::process::Command;
use std::sync::Mutex;
use std::thread;
use std::time::Instant;

use anyhow::{Context, Result, bail};

use crate::cargo::{self, Built};
use crate::workspace;

/// More programs than this disturb each other's clocks, whatever the machine.
const MOST: usize = 4;

/// One program, or cargo with the examples of the documentation.
struct Job {
    /// How to run it alone.
    again: String,
    command: Command,
}

/// Builds and runs everything that `cargo test --workspace` does, with these variables in its environment.
pub(crate) fn run(variables: &[(&str, &str)]) -> Result<()> {
    // One build for the libraries, the programs and the tests. Not `--bins` before: without the tests,
    // dependencies have other features, and everything would be compiled twice.
    let mut programs = cargo::build(&["test", "--workspace", "--no-run"])?;
    // Integration tests bring the programs that they start.
    programs.retain(|program| program.is_test);
    // Those of whole crates, browsers and servers take longest: they are not left for the end.
    programs.sort_by_key(|program| program.kind != "test");
    // Tests of procedural macros are linked to the compiler's own libraries.
    let folder = workspace::stdout("rustc".as_ref(), &["--print", "target-libdir"])?;
    let libraries = [Some(folder.trim().into()), env::var_os("LD_LIBRARY_PATH")]
        .into_iter()
        .flatten()
        .flat_map(|paths| env::split_paths(&paths).collect::<Vec<_>>());
    let libraries = env::join_paths(libraries)?;
    let mut jobs = VecDeque::from([documentation()]);
    jobs.extend(programs.iter().map(job));
    for job in &mut jobs {
        job.command
            .envs(variables.iter().copied())
            .env("LD_LIBRARY_PATH", &libraries);
    }
    let failed = run_all(jobs)?;
    if !failed.is_empty() {
        bail!(
            "these failed; each runs alone by\n  {}",
            failed.join("\n  ")
        );
    }
    Ok(())
}

/// The examples in the documentation of libraries.
fn documentation() -> Job {
    let arguments = ["test", "--workspace", "--doc", "--no-fail-fast"];
    let mut command = Command::new("cargo");
    command.args(arguments).current_dir(workspace::root());
    Job {
        again: format!("cargo {}", arguments.join(" ")),
        command,
    }
}

fn job(program: &Built) -> Job {
    let which = match program.kind.as_str() {
        "test" => format!("--test {}", program.target),
        "bin" => format!("--bin {}", program.target),
        "bench" => format!("--bench {}", program.target),
        _ => "--lib".to_owned(),
    };
    let mut command = Command::new(&program.executable);
    // As cargo runs them.
    command
        .current_dir(&program.folder)
        .env("CARGO_MANIFEST_DIR", &program.folder);
    Job {
        again: format!("cargo test -p {} {which}", program.package),
        command,
    }
}

/// Runs the jobs and returns how those that failed are run again.
fn run_all(jobs: VecDeque<Job>) -> Result<Vec<String>> {
    let beside = thread::available_parallelism()
        .map_or(1, usize::from)
        .min(MOST);
    let waiting = Mutex::new(jobs);
    let failed = Mutex::new(Vec::new());
    thread::scope(|scope| {
        let workers: Vec<_> = (0..beside)
            .map(|_| {
                scope.spawn(|| {
                    while let Some(job) = next(&waiting) {
                        let again = job.again.clone();
                        if !run_one(job)? {
                            failed.lock().map_err(|_| poisoned())?.push(again);
                        }
                    }
                    Ok(())
                })
            })
            .collect();
        workers
            .into_iter()
            .map(|worker| worker.join().map_err(|_| poisoned())?)
            .collect::<Result<Vec<()>>>()
    })?;
    failed.into_inner().map_err(|_| poisoned())
}

fn poisoned() -> anyhow::Error {
    anyhow::anyhow!("a thread that runs tests has panicked")
}

fn next(waiting: &Mutex<VecDeque<Job>>) -> Option<Job> {
    waiting.lock().ok()?.pop_front()
}

/// Runs one job and shows what it printed; whether it succeeded.
fn run_one(mut job: Job) -> Result<bool> {
    let begun = Instant::now();
    let mut printed = tempfile::tempfile().context("no file for a test's output")?;
    let status = job
        .command
        .stdout(printed.try_clone()?)
        .stderr(printed.try_clone()?)
        .status()
        .with_context(|| format!("cannot start what `{}` starts", job.again))?;
    show(&job.again, begun.elapsed().as_secs_f64(), &mut printed)?;
    if !status.success() {
        eprintln!("`{}` failed with {status}", job.again);
    }
    Ok(status.success())
}

/// Shows a program's output in one piece.
fn show(title: &str, seconds: f64, printed: &mut File) -> Result<()> {
    let mut text = Vec::new();
    printed.rewind()?;
    printed.read_to_end(&mut text)?;
    let mut out = std::io::stdout().lock();
    writeln!(out, "\n$ {title}  # {seconds:.1} s")?;
    out.write_all(&text)?;
    out.flush()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Job {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        Job {
            again: script.to_owned(),
            command,
        }
    }

    #[test]
    fn every_job_runs_and_those_that_fail_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let touch = |name: &str| format!("touch {}", folder.path().join(name).display());
        let jobs = [touch("a"), "exit 3".to_owned(), touch("b")];
        let failed = run_all(jobs.iter().map(|script| shell(script)).collect()).unwrap();
        assert_eq!(failed, ["exit 3"]);
        assert!(folder.path().join("a").exists() && folder.path().join("b").exists());
    }

    #[test]
    fn a_program_that_is_not_there_is_an_error() {
        let missing = Job {
            again: "missing".to_owned(),
            command: Command::new("/nonexistent/program"),
        };
        assert!(run_all(VecDeque::from([missing])).is_err());
    }
}
