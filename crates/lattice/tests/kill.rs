//! Kills a run in borrowed memory at random moments and holds the file against what it was.
//!
//! The program is its own victim: started with `--run FILE` or `--restore FILE` it does that until
//! it is killed.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use libtest_mimic::{Arguments, Failed, Trial};
use warpsmith_lattice::catalytic::{journal_path, restore, run_in_file};
use warpsmith_lattice::{Cell, Shape};
use warpsmith_workload::random::Random;

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if let [_, role, path] = &arguments[..] {
        match role.as_str() {
            "--run" => return run(Path::new(path)),
            "--restore" => {
                restore(Path::new(path)).expect("it can be restored");
                return;
            }
            _ => {}
        }
    }
    let trials = vec![Trial::test(
        "a_killed_run_is_restored_bit_for_bit",
        killed_runs,
    )];
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}

fn shape() -> Shape {
    Shape::new(&[24, 40, 70]).expect("a lattice")
}

/// Whole programmes of a few milliseconds until it is killed, so that every phase is hit.
fn run(path: &Path) {
    let ends = (Cell([3, 3, 3]), Cell([4, 3, 3]));
    loop {
        run_in_file(path, shape(), 40, ends, Some((15.0, 9)), &mut |_| {}).expect("it runs");
    }
}

fn start(role: &str, path: &Path) -> Result<Child, Failed> {
    Ok(Command::new(std::env::current_exe()?)
        .args([role.as_ref(), path.as_os_str()])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn()?)
}

fn killed_runs() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("memory");
    let mut random = Random::seeded(2024);
    let contents: Vec<u8> = (0..8 * shape().cells() + 5)
        .map(|_| random.bits() as u8)
        .collect();
    fs::write(&path, &contents)?;
    let mut changed = 0;
    for trial in 0..25 {
        let mut victim = start("--run", &path)?;
        let begun = Instant::now();
        while !journal_path(&path).exists() {
            if begun.elapsed() > Duration::from_secs(20) {
                return Err("the run did not begin".into());
            }
            sleep(Duration::from_millis(1));
        }
        sleep(Duration::from_micros(random.below(60_000) as u64));
        victim.kill()?;
        victim.wait()?;
        changed += u32::from(fs::read(&path)? != contents);
        // A restoration that is killed as well must not lose anything either.
        if trial % 3 == 0 {
            let mut victim = start("--restore", &path)?;
            sleep(Duration::from_micros(random.below(20_000) as u64));
            victim.kill()?;
            victim.wait()?;
        }
        restore(&path).map_err(|error| error.to_string())?;
        if fs::read(&path)? != contents {
            return Err(format!("trial {trial}: the memory is not what it was").into());
        }
        if journal_path(&path).exists() {
            return Err("the journal is still there".into());
        }
    }
    if changed < 10 {
        return Err(format!("only {changed} of 25 kills hit a changed memory: no test").into());
    }
    Ok(())
}
