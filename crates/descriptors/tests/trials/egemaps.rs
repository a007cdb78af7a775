//! The 88 features beside openSMILE's, on a voice that is kept here and on read and spontaneous speech.
//!
//! Definitions were learned by comparing with openSMILE on the two CMU ARCTIC sentences. The page
//! `docs/benchmarks/egemaps.md` is about other recordings; WARPSMITH_BLESS=1 writes it.

use std::path::{Path, PathBuf};
use std::process::Command;

use libtest_mimic::{Failed, Trial};
use warpsmith_descriptors::egemaps::{NAMES, RATE, summarise};
use warpsmith_voice::{Audio, ChannelChoice};

use crate::npy;

/// Beginnings of names whose numbers repeat openSMILE's.
const REPEATED: &[&str] = &[
    "loudness_sma3_amean",
    "loudness_sma3_stddevNorm",
    "loudness_sma3_p",
    "spectralFlux_sma3_",
    "mfcc1_sma3_",
    "mfcc2_sma3_",
    "mfcc3_sma3_",
    "mfcc4_sma3_",
    "equivalentSoundLevel_dBp",
];

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

fn is_repeated(name: &str) -> bool {
    REPEATED.iter().any(|start| name.starts_with(start))
}

/// Difference over the larger magnitude.
fn error(ours: f64, theirs: f64) -> f64 {
    (ours - theirs).abs() / ours.abs().max(theirs.abs()).max(1e-9)
}

fn lines(path: &Path) -> Result<Vec<Vec<f64>>, Failed> {
    let text = std::fs::read_to_string(path)?;
    let line = |line: &str| line.split(',').map(str::parse).collect::<Result<_, _>>();
    Ok(text.lines().map(line).collect::<Result<_, _>>()?)
}

fn compare(ours: &[f64], theirs: &[f64]) -> Result<(), Failed> {
    assert_eq!(ours.len(), theirs.len());
    for (name, (a, b)) in NAMES.iter().zip(ours.iter().zip(theirs)) {
        // openSMILE computes in f32; a deviation over a mean near zero loses more.
        if is_repeated(name) && error(*a, *b) > 2e-3 {
            return Err(format!("{name}: {a}, openSMILE says {b}").into());
        }
    }
    Ok(())
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    let middle = values.len() / 2;
    f64::midpoint(values[(values.len() - 1) / 2], values[middle])
}

/// Why a feature differs.
fn reason(name: &str) -> &'static str {
    let starts = |start: &str| name.starts_with(start);
    if is_repeated(name) {
        "same definition; openSMILE computes in single precision"
    } else if starts("loudness") {
        "same contour; tops and bottoms are chosen in another way"
    } else if starts("F0") || starts("Voiced") || starts("Mean") || starts("Stddev") {
        "Praat's autocorrelation, not subharmonic summation"
    } else if starts("jitter") || starts("shimmer") {
        "periods between glottal pulses in 60 ms"
    } else if starts("HNR") {
        "same definition, at our pitch"
    } else if starts("logRel") {
        "same harmonics (H1 is the first above the pitch), at our pitch"
    } else if starts("F") {
        "Burg's formants; levels at our harmonics"
    } else {
        "same contour; frames chosen by our voicing"
    }
}

/// Errors of every feature over all recordings.
fn page(ours: &[Vec<f64>], theirs: &[Vec<f64>]) -> String {
    let mut page = String::from(
        "# eGeMAPS-compatible features beside openSMILE\n\n\
         `warpsmith voice egemaps` and openSMILE 2.6.0 (eGeMAPSv02) on eight recordings at 16 kHz: four \
         LibriVox sentences and four AMI meeting excerpts of 30 s. None of them was used to make the \
         features; the two CMU ARCTIC sentences were. Written by `cargo xtask test --full` with \
         `WARPSMITH_BLESS=1`.\n\n\
         The error is |ours − theirs| over the larger magnitude. A deviation over a mean near zero, such as \
         `mfcc4V_sma3nz_stddevNorm`, has large errors by its nature.\n\n\
         | feature | median error | largest | why it differs |\n|---|---|---|---|\n",
    );
    for (n, name) in NAMES.iter().enumerate() {
        let errors: Vec<f64> = ours
            .iter()
            .zip(theirs)
            .map(|(a, b)| error(a[n], b[n]))
            .collect();
        let largest = errors.iter().copied().fold(0.0, f64::max);
        page.push_str(&format!(
            "| `{name}` | {:.1e} | {largest:.1e} | {} |\n",
            median(errors),
            reason(name)
        ));
    }
    page
}

pub(crate) fn trials() -> Vec<Trial> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let golden = here.join("tests/golden/voice");
    let mut trials = vec![Trial::test("egemaps::golden", move || {
        let samples = npy::read(&golden.join("signal.npy"))?;
        let signal: Vec<f32> = samples.iter().map(|x| x / 32_768.0).collect();
        let theirs = lines(&golden.join("egemaps.csv"))?;
        compare(&summarise(&signal, RATE)?, &theirs[0])
    })];
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
            compare(ours, theirs)?;
        }
        if std::env::var_os("WARPSMITH_BLESS").is_some() {
            let docs = here.join("../../docs/benchmarks/egemaps.md");
            std::fs::write(docs, page(&ours, &theirs))?;
        }
        Ok(())
    };
    trials.push(Trial::test("egemaps::speech", speech).with_ignored_flag(missing));
    trials
}
