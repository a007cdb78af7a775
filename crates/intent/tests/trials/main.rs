//! Whether the kernels of every family compute what the family's NumPy reference computes.
//!
//! The Warp-style kernel runs on the interpreter and is verified like any case. The CUDA kernels run on the
//! CPU, thread by thread (`tests/host`). Both need a Python with NumPy, the latter a C++ compiler, too: where
//! there is none they count as ignored.

use std::fmt::Write;
use std::path::Path;
use std::process::{Command, ExitCode};

use libtest_mimic::{Arguments, Failed, Trial, run};
use tempfile::TempDir;
use warpsmith_case::{Case, Plan, Settings, Verifier};
use warpsmith_device::{Device, DeviceChoice};
use warpsmith_intent::{Specification, files};

fn main() -> ExitCode {
    let python = std::env::var("WARPSMITH_PYTHON").unwrap_or_else(|_| "python3".into());
    let numpy = works(Command::new(&python).args(["-c", "import numpy, tomllib"]));
    let compiler = works(Command::new("g++").arg("--version"));
    let families = Specification::families().len() as u64;
    let mut trials: Vec<Trial> = (0..families)
        .filter_map(Specification::at)
        .map(|one| {
            let name = format!("warp/{}", one.family());
            Trial::test(name, move || warp(&one)).with_ignored_flag(!numpy)
        })
        .collect();
    trials.push(
        Trial::test("cuda_on_the_host", move || cuda(&python, families))
            .with_ignored_flag(!numpy || !compiler),
    );
    run(&Arguments::from_args(), trials).exit_code()
}

fn works(command: &mut Command) -> bool {
    command.output().is_ok_and(|output| output.status.success())
}

fn write(folder: &Path, specification: &Specification) -> Result<(), Failed> {
    std::fs::create_dir_all(folder)?;
    for (name, text) in files(specification) {
        std::fs::write(folder.join(name), text)?;
    }
    Ok(())
}

fn warp(specification: &Specification) -> Result<(), Failed> {
    let folder = TempDir::new()?;
    write(folder.path(), specification)?;
    let case = Case::open(&folder.path().join("warp.toml")).map_err(|error| error.to_string())?;
    let device = Device::open(DeviceChoice::Cpu).map_err(|error| error.to_string())?;
    let words = |fault: warpsmith_case::Fault| fault.to_string();
    let mut verifier =
        Verifier::prepare(&case, &[], &device, Settings::default()).map_err(words)?;
    let plan = Plan {
        inputs: 3,
        seed: 11,
        special: false,
    };
    let sizes = case
        .verification_sizes(&[])
        .map_err(|error| error.to_string())?
        .sizes;
    // Every third size: the awkward ones are among them.
    for size in sizes.iter().step_by(3) {
        for (seed, round, special) in Verifier::rounds(&plan) {
            let check = verifier.check(size, seed, round, special).map_err(words)?;
            if !check.verdict.is_right() {
                let words = check.verdict.words();
                return Err(format!(
                    "{}, {size:?}: {words}\n{}",
                    specification.id(),
                    specification.warp()
                )
                .into());
            }
        }
    }
    Ok(())
}

fn cuda(python: &str, families: u64) -> Result<(), Failed> {
    let folder = TempDir::new()?;
    let mut lines = String::new();
    for specification in (0..families).filter_map(Specification::at) {
        let id = specification.id();
        write(&folder.path().join(&id), &specification)?;
        for kernel in specification.cuda() {
            let (variant, grid, block) = (kernel.variant, &kernel.grid, &kernel.block);
            writeln!(
                lines,
                "{{\"id\": \"{id}/{variant}\", \"file\": \"{id}/{variant}.cu\", \"case\": \"{id}/case.toml\", \
                 \"launch\": {{\"grid\": {grid:?}, \"block\": {block:?}}}}}"
            )?;
        }
    }
    let candidates = folder.path().join("candidates.jsonl");
    std::fs::write(&candidates, &lines)?;
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/host/prove.py");
    let output = Command::new(python).arg(script).arg(&candidates).output()?;
    let seen = String::from_utf8_lossy(&output.stdout);
    let wrong: Vec<&str> = seen
        .lines()
        .filter(|line| !line.contains("\"right\": true"))
        .collect();
    match output.status.success() && seen.lines().count() == lines.lines().count() {
        true => Ok(()),
        false => Err(format!(
            "{}\n{}",
            wrong.join("\n"),
            String::from_utf8_lossy(&output.stderr)
        )
        .into()),
    }
}
