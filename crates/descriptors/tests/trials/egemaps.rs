//! The 88 features beside openSMILE's, on a voice that is kept here, on voices that the test makes, and on read and
//! spontaneous speech.
//!
//! The last needs openSMILE and recordings, which `cargo xtask test --full` installs and fetches, and counts as ignored
//! without them. Of the made voices openSMILE's answers are kept; `tests/oracle/egemaps.py --made` writes them.
//!
//! `docs/benchmarks/egemaps.md` is about other recordings; `python/benches/egemaps.py` writes its rows.

use std::path::{Path, PathBuf};
use std::process::Command;

use libtest_mimic::{Failed, Trial};
use warpsmith_descriptors::egemaps::{NAMES, RATE, summarise};
use warpsmith_voice::{Audio, ChannelChoice};

use crate::made_voices::made_voices;
use crate::npy;

/// Features that may be farther from openSMILE's in a recording than [`CLOSE`]: it decides in single precision, and one
/// frame that it decides otherwise shows in a deviation and in slopes between tops.
const MOST_FAR: usize = 5;
/// Errors that are close.
const CLOSE: f64 = 0.01;

/// Recordings below `target/voice-data` on which nothing was made.
const RECORDINGS: &[&str] = &[
    "pocketsphinx-5.1.1/test/data/librivox/sense_and_sensibility_01_austen_64kb-0870.wav",
    "pocketsphinx-5.1.1/test/data/librivox/sense_and_sensibility_01_austen_64kb-0890.wav",
    "pocketsphinx-5.1.1/test/data/librivox/sense_and_sensibility_01_austen_64kb-0920.wav",
    "pocketsphinx-5.1.1/test/data/librivox/sense_and_sensibility_01_austen_64kb-0930.wav",
    "pyannote_audio-4.0.7/tests/data/dev00.wav",
    "pyannote_audio-4.0.7/tests/data/dev01.wav",
    "pyannote_audio-4.0.7/tests/data/tst00.wav",
    "pyannote_audio-4.0.7/tests/data/tst01.wav",
];

/// Difference over the larger magnitude.
fn error(ours: f64, theirs: f64) -> f64 {
    (ours - theirs).abs() / ours.abs().max(theirs.abs()).max(1e-9)
}

fn lines(path: &Path) -> Result<Vec<Vec<f64>>, Failed> {
    let text = std::fs::read_to_string(path)?;
    let line = |line: &str| line.split(',').map(str::parse).collect::<Result<_, _>>();
    Ok(text.lines().map(line).collect::<Result<_, _>>()?)
}

fn compare(ours: &[f64], theirs: &[f64], most_far: usize) -> Result<(), Failed> {
    assert_eq!(ours.len(), theirs.len());
    let all = NAMES.iter().zip(ours.iter().zip(theirs));
    let far: Vec<String> = all
        .filter(|(_, (a, b))| error(**a, **b) > CLOSE)
        .map(|(name, (a, b))| format!("{name}: {a}, openSMILE says {b}"))
        .collect();
    if far.len() > most_far {
        return Err(far.join("\n").into());
    }
    Ok(())
}

pub(crate) fn trials() -> Vec<Trial> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let golden = here.join("tests/golden/voice");
    let made = golden.join("egemaps_made.csv");
    let mut trials = vec![Trial::test("egemaps::golden", move || {
        let samples = npy::read(&golden.join("signal.npy"))?;
        let signal: Vec<f32> = samples.iter().map(|x| x / 32_768.0).collect();
        let theirs = lines(&golden.join("egemaps.csv"))?;
        compare(&summarise(&signal, RATE)?, &theirs[0], MOST_FAR)
    })];
    trials.push(Trial::test("egemaps::made", move || {
        let (voices, theirs) = (made_voices(), lines(&made)?);
        assert_eq!(voices.len(), theirs.len());
        for (voice, theirs) in voices.iter().zip(&theirs) {
            compare(&summarise(voice, RATE)?, theirs, MOST_FAR)?;
        }
        Ok(())
    }));
    let target = here.join("../../target");
    let python = target.join("oracle/opensmile/bin/python");
    let files: Vec<PathBuf> = RECORDINGS
        .iter()
        .map(|name| target.join("voice-data").join(name))
        .collect();
    let missing = !python.exists()
        || !files.iter().all(|file| file.exists())
        || std::env::var_os("WARPSMITH_FULL").is_none_or(|value| value != "1");
    let speech = move || {
        let folder = tempfile::tempdir()?;
        let table = folder.path().join("egemaps.csv");
        let run = Command::new(&python)
            .arg(here.join("tests/oracle/egemaps.py"))
            .arg(&table)
            .args(&files)
            .status()?;
        if !run.success() {
            return Err("openSMILE failed".into());
        }
        let theirs = lines(&table)?;
        let mut ours = Vec::new();
        for file in &files {
            let audio = Audio::read(file)?;
            let signal = audio.signal(ChannelChoice::Mix)?;
            ours.push(summarise(&signal, audio.sample_rate)?);
        }
        for (ours, theirs) in ours.iter().zip(&theirs) {
            compare(ours, theirs, MOST_FAR)?;
        }
        Ok(())
    };
    trials.push(Trial::test("egemaps::speech", speech).with_ignored_flag(missing));
    trials
}
